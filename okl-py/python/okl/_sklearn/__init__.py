"""The parts of :mod:`okl.sklearn`."""

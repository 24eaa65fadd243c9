"""The parts of :mod:`okl.plot`."""

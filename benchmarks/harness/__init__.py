"""Drives the peers' programs and writes what came of it. `python -m harness --help` says how."""

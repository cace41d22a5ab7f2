"""The command line: parse, call one function, present."""

from chyme.cli.main import main

__all__ = ["main"]

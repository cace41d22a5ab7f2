"""chyme: a digestion system for files."""

__version__ = "0.2.0"

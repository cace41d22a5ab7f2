"""python -m chyme is the same as chyme."""

from chyme.cli import main

main()

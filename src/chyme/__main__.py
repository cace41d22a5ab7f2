"""python -m chyme is the same as chyme."""

from chyme.doors.cli.main import main

main()

"""HTTP: the same functions as the command line, answered as JSON."""

from chyme.web.any_path import take_any_path

take_any_path()  # before any route is made

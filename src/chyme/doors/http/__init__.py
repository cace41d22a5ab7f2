"""HTTP: the same functions as the command line, answered as JSON."""

from chyme.doors.http.path_convertor import take_any_path

take_any_path()  # before any route is made

"""HTTP: the same functions as the command line, answered as JSON."""

from chyme.doors.http.path_convertor import register_any_path

register_any_path()  # before any route is created

"""HTTP: the same functions as the command line, answered as JSON."""

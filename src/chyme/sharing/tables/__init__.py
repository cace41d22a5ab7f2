"""Links and the files they show."""

"""Finding out what a file is about: title, summary, date, tags and name."""

"""Finding and choosing the date of a document."""

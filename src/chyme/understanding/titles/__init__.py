"""Finding and choosing the title of a document."""

"""The metadata of documents: title, author, dates."""

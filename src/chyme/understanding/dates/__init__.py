"""How the date of a document is found and chosen."""

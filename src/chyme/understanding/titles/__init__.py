"""How the title of a document is found and chosen."""

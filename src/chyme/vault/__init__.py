"""The vault's files: registry, renaming, trash, private files."""

"""Making digests again: one document, many files, outdated ones."""

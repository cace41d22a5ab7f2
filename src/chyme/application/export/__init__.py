"""Exports documents, digests and edits as plain files."""

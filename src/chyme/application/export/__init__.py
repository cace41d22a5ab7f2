"""Documents, digests and edits as plain files."""

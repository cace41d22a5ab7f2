"""Writes new files into the vault: uploads, links, notes."""

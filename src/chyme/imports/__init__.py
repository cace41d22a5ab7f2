"""Imports from other programs: their exports read, and what they hold put into the vault once."""

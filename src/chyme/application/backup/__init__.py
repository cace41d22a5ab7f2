"""Backups, restoring them, and rescuing a damaged database."""

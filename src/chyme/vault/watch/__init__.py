"""Watching the vault's folder: events, scans, moves."""

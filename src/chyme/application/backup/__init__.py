"""Makes and restores backups, and rescues a damaged database."""

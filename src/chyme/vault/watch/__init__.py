"""Watch the vault's folder: file system events, scans and hashing."""

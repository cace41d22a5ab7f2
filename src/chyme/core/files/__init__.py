"""Safe access to files: paths inside the vault, permissions, temporary folders."""

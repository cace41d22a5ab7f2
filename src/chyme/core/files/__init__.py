"""Safe access to files: paths inside the vault, modes, temporary folders."""

"""Finding passages by what they mean, in the vault's own database."""

"""The vault's database, a module for each group of tables."""

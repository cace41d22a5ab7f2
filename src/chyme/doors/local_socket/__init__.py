"""Answers questions of commands on the same machine, by a socket in the vault's state folder."""

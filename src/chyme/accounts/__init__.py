"""Accounts: users, passwords, sessions, tokens, rights."""

"""The server's own database: users, sessions, tokens."""

"""Users, sessions and tokens in the server's database."""

"""Search by word and by meaning."""

"""The index in SQLite: passages, vectors, names, dictionary, outbox."""

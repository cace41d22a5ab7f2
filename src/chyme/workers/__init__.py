"""Attempts made by worker processes elsewhere, through a NATS server."""

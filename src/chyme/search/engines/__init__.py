"""Meilisearch and Qdrant, for vaults that outgrow SQLite."""

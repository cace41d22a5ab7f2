"""Conversion of documents to Markdown, with page numbers."""

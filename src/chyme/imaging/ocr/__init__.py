"""Reads words in pictures (OCR)."""

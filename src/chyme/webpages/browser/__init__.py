"""Chromium, for pages that need scripts."""

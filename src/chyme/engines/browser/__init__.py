"""Chromium, in a process without network, for pages that need a browser and for pictures of pages."""

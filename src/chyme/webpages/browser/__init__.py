"""Opens pages that need scripts in Chromium."""

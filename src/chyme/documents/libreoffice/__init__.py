"""LibreOffice: finding it, running it, and isolating it."""

"""LibreOffice: found, run and kept apart."""

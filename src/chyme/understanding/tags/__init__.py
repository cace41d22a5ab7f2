"""Tags: proposed, reused, decided upon by persons."""

"""Speech recognised here or by a service."""

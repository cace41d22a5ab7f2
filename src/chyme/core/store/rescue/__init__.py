"""Reading what a damaged database still holds."""

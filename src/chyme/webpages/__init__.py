"""The pages behind links."""

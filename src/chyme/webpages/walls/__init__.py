"""Distinguishes a page from a login form, a bot check or a paywall."""

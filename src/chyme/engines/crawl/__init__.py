"""Fetching web pages through the guard, and what is made of them."""

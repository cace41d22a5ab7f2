"""Fetching pages: requests, redirects, robots.txt, limits."""

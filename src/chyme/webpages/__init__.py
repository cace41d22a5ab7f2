"""Crawling the web pages behind links."""

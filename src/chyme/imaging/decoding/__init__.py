"""Decoding pictures of every format, within limits."""

"""Recordings and videos: preview, transcript, summary, voices, people."""

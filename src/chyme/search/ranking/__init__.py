"""Ranking and combining results."""

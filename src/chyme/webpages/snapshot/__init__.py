"""A copy of a page that stays, without scripts."""

"""Calls of language and vision models: permitted, measured, translated."""

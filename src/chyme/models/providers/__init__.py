"""Calls of language and vision models: permission, metering and error translation."""

"""The outputs that classify a file."""

from __future__ import annotations

CLASSIFIERS = ("classify-document", "classify-image")

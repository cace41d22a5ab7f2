"""The one error of a model that the caller can work around, by doing the work without it."""

from __future__ import annotations

from chyme.errors import UnreadableFile


class InvalidAnswer(UnreadableFile):
    """The model's answer does not fit the schema, even when asked again. A third attempt would not help."""

"""The one fault of a model that whoever asked may mend: by doing the work without it."""

from __future__ import annotations

from chyme.errors import UnreadableFile


class InvalidAnswer(UnreadableFile):
    """What the model answers does not fit, also when asked again. Asking a third time would not help."""

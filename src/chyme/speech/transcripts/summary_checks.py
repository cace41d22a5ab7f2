"""Check that a summary fits what was said: in its language, and about the same things."""

from __future__ import annotations

from collections.abc import Sequence

from chyme.speech.transcripts.fillers import KNOWN
from chyme.speech.transcripts.summary import TAKEAWAY_LENGTH
from chyme.text.function_words import language_of
from chyme.text.topic_overlap import is_off_topic


def check_summary(takeaway: str, points: Sequence[str], said: str, language: str | None) -> str | None:
    """What is wrong with a summary, as an instruction to correct it; None when nothing is."""
    if not takeaway:
        return "the takeaway is empty"
    if len(takeaway) > TAKEAWAY_LENGTH:
        return "the takeaway is too long: one or two sentences are enough"
    written_in = language_of(takeaway) or language_of(" ".join((takeaway, *points)))
    if language in KNOWN and written_in is not None and written_in != language:
        return f"the summary is not in the language that was spoken, which is {language!r}"
    if is_off_topic(takeaway, said, language):
        return "the takeaway is about something that was not said: only summarise the recording"
    return None

"""Describes the place of a passage in a file."""

from __future__ import annotations

from chyme.core.bounding_boxes import describe_region
from chyme.files.part_labels import label_page
from chyme.model import Place
from chyme.speech.transcripts.json_format import format_speaker_label
from chyme.text.display import format_time, printable


def describe_place(place: Place | None, person: str | None = None, path: str = "") -> str:
    """Describe a place in the file at this path: page 3, 1:05 and the speaker, the heading."""
    if place is None:
        return ""
    parts = []
    if place.page is not None and (label := label_page(path, place.page)):
        parts.append(label)
    if place.seconds is not None:
        parts.append(format_time(place.seconds))
    if place.speaker is not None:
        parts.append(printable(person or format_speaker_label(place.speaker)))
    if place.box is not None:
        left, top, right, bottom = (round(edge * 100) for edge in place.box)
        parts.append(f"{describe_region(place.box)} ({left}–{right} % across, {top}–{bottom} % down)")
    if place.heading:
        parts.append(f"“{printable(place.heading)}”")
    return ", ".join(parts)

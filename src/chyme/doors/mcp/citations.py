"""Citations: places in files, so that an assistant can name them and a person can open them."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from pydantic import BaseModel, Field

from chyme.application.file_texts import format_time
from chyme.core.bounding_boxes import describe_region
from chyme.model import Box, Place
from chyme.speech.transcripts.json_format import format_speaker_label


class Citation(BaseModel):
    """A place in a file."""

    path: str = Field(description="The file, as the other tools take it.")
    where: str = Field(description="The place in words, such as `page 3`, `at 12:04, Ada speaking`; may be empty.")
    link: str = Field(description="Opens the file at that place in chyme's page.")
    page: int | None = None
    heading: str | None = None
    seconds: float | None = Field(default=None, description="Seconds into the recording or video.")
    until: float | None = None
    speaker: str | None = None
    box: tuple[float, float, float, float] | None = Field(
        default=None, description="Left, top, right and bottom in the picture, from 0 to 1."
    )


def cite(base: str, path: str, place: Place | None, speaker: str | None = None) -> Citation:
    """Return the citation of a place; `speaker` is the name of the person who speaks there."""
    if place is None:
        return Citation(path=path, where="", link=link(base, path))
    speaker_name = speaker or (format_speaker_label(place.speaker) if place.speaker else None)
    return Citation(
        path=path,
        where=describe_place(place.page, place.seconds, speaker_name, place.box, place.heading),
        link=link(base, path, place.page, place.seconds, place.box),
        page=place.page,
        heading=place.heading,
        seconds=place.seconds,
        until=place.until,
        speaker=speaker_name,
        box=place.box,
    )


def describe_place(
    page: int | None, seconds: float | None, speaker: str | None, box: Box | None = None, heading: str | None = None
) -> str:
    """Describe a place in words."""
    parts = [f"page {page}"] if page is not None else []
    if seconds is not None:
        parts.append(f"at {format_time(seconds)}")
    if speaker:
        parts.append(f"{speaker} speaking")
    if box is not None:
        parts.append(f"in the picture: {describe_region(box)}")
    if heading:
        parts.append(f"under “{heading}”")
    return ", ".join(parts)


def link(base: str, path: str, page: int | None = None, seconds: float | None = None, box: Box | None = None) -> str:
    """Return the address at which a browser shows the file at that place. `base` is empty without an HTTP server."""
    parameters: dict[str, object] = {}
    if page is not None:
        parameters["page"] = page
    if seconds is not None:
        parameters["t"] = round(seconds, 2)
    if box is not None:
        parameters["box"] = ",".join(f"{edge:.4f}" for edge in box)
    return f"{base}/file/{quote(path, errors='replace')}" + (f"?{urlencode(parameters)}" if parameters else "")

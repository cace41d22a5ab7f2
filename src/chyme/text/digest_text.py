"""The searchable text of a digest's content, with places: Markdown as it is, JSON by its descriptive fields."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from chyme.model import Form, Place, Upstream
from chyme.text.markdown_lines import strip_origin_line
from chyme.text.passages import markdown_headings

_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")
Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class ReadableText:
    """A text and where its spans are in the file. Places count characters of this text."""

    text: str
    places: tuple[Place, ...] = ()


def extract_text(output: Upstream) -> ReadableText:
    """What a person could read in this output; content without the expected structure is taken as plain text."""
    content = output.content or ""
    extract = _EXTRACTORS.get(output.form)
    fields = _parse_object(content) if extract else None
    if extract is None or fields is None:
        if output.form is Form.SUMMARY:
            content = strip_origin_line(content)
        places = output.places
        if not any(place.heading for place in places):
            places += markdown_headings(content)
        return ReadableText(replace_unwritable(content), places)
    return extract(fields)


def replace_unwritable(text: str) -> str:
    """Replace the characters that a database cannot store; all positions stay the same."""
    return _UNWRITABLE.sub("\ufffd", text)


def _parse_object(content: str) -> Json | None:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _transcript_text(fields: Json) -> ReadableText:
    """A transcript, line by line, with seconds and speaker."""
    lines = [
        (_as_text(segment.get("text")).strip(), _timed_place(segment))
        for segment in _as_objects(fields.get("segments"))
        if _as_text(segment.get("text")).strip()
    ]
    return _join_lines(lines) if lines else ReadableText(replace_unwritable(_as_text(fields.get("text"))))


def _objects_text(fields: Json) -> ReadableText:
    """Objects in a picture, one line each with its box."""
    lines: list[tuple[str, Place]] = []
    for thing in _as_objects(fields.get("objects")):
        parts = [_as_text(thing.get(field)) for field in ("name", "description", "category")]
        parts += [_as_text(tag) for tag in _as_list(thing.get("tags"))]
        words = ". ".join(dict.fromkeys(part.strip() for part in parts if part.strip()))
        if words:
            lines.append((words, Place(0, 0, box=_as_box(thing.get("box")))))
    return _join_lines(lines)


def _description_text(fields: Json) -> ReadableText:
    """Title, summary and tags, and the words seen in a picture."""
    parts = [_as_text(fields.get(field)) for field in ("title", "summary", "text", "visible_text")]
    parts.append(", ".join(_as_text(tag) for tag in _as_list(fields.get("tags"))))
    return ReadableText(replace_unwritable("\n\n".join(part for part in parts if part.strip())))


def _recording_text(fields: Json) -> ReadableText:
    """The metadata of a recording, one line each, then its chapters with their seconds."""
    tags = fields.get("tags")
    words = (
        dict.fromkeys(_as_text(tags.get(field)).strip() for field in _RECORDING_TAGS) if isinstance(tags, dict) else {}
    )
    lines = [(text, Place(0, 0)) for text in words if text]
    for chapter in _as_objects(fields.get("chapters")):
        title = _as_text(chapter.get("title")).strip()
        if title:
            lines.append((title, _timed_place(chapter)))
    return _join_lines(lines)


def _picture_text(fields: Json) -> ReadableText:
    """What a photographer wrote about a picture, and the camera."""
    camera = fields.get("camera")
    parts = [_as_text(fields.get(field)).strip() for field in ("title", "description")]
    parts.append(_join_keywords(fields))
    if isinstance(camera, dict):
        parts.append(" ".join(dict.fromkeys(_as_text(camera.get(field)).strip() for field in _CAMERA_FIELDS)).strip())
    return ReadableText(replace_unwritable("\n\n".join(dict.fromkeys(filter(None, parts)))))


def _page_text(fields: Json) -> ReadableText:
    """The metadata of a web page, one line each."""
    parts = [_as_text(fields.get(field)).strip() for field in ("title", "description", "author", "site_name", "domain")]
    parts.append(_join_keywords(fields))
    return ReadableText(replace_unwritable("\n\n".join(dict.fromkeys(filter(None, parts)))))


def _join_keywords(fields: Json) -> str:
    return ", ".join(filter(None, (_as_text(word).strip() for word in _as_list(fields.get("keywords")))))


_RECORDING_TAGS = (
    *("title", "artist", "album", "album_artist", "composer", "performer", "conductor", "show", "genre"),
    *("comment", "description", "synopsis", "keywords", "publisher"),
)
_CAMERA_FIELDS = ("make", "model", "lens")
_EXTRACTORS: dict[Form, Callable[[Json], ReadableText]] = {
    Form.TRANSCRIPT: _transcript_text,
    Form.PAGE_FACTS: _page_text,
    Form.CAPTION: _description_text,
    Form.PICTURE_FACTS: _picture_text,
    Form.MEDIA_FACTS: _recording_text,
    Form.OBJECTS: _objects_text,
    Form.CLASSIFICATION: _description_text,
    Form.TAGS: _description_text,
}


def _join_lines(lines: Iterable[tuple[str, Place]]) -> ReadableText:
    """One line each, with every place moved to the position of its line."""
    texts: list[str] = []
    places: list[Place] = []
    position = 0
    for line, place in lines:
        text = replace_unwritable(line)
        texts.append(text)
        places.append(replace(place, start=position, end=position + len(text)))
        position += len(text) + 1
    return ReadableText("\n".join(texts), tuple(places))


def _timed_place(segment: Json) -> Place:
    speaker = segment.get("speaker")
    return Place(
        0,
        0,
        seconds=_as_number(segment.get("start")),
        until=_as_number(segment.get("end")),
        speaker=speaker if isinstance(speaker, str) else None,
    )


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _as_number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _as_objects(value: object) -> list[Json]:
    return [item for item in _as_list(value) if isinstance(item, dict)]


def _as_box(value: object) -> tuple[float, float, float, float] | None:
    corners = [float(item) for item in _as_list(value) if isinstance(item, int | float)]
    return (corners[0], corners[1], corners[2], corners[3]) if len(corners) == 4 else None

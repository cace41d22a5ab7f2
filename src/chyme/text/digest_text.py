"""The words in a digest's content, with the places they stand at: markdown as it is, JSON by its telling fields."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from chyme.model import Place, Upstream
from chyme.speech.transcripts.summary import strip_origin_line
from chyme.text.passages import markdown_headings

_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")
Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class ReadableText:
    """A text and where its spans stand. Places count characters of this text."""

    text: str
    places: tuple[Place, ...] = ()


def extract_text(output: Upstream) -> ReadableText:
    """What a person could read in this output; content that is not in its promised shape is taken as plain text."""
    content = output.content or ""
    read = _BY_OUTPUT.get(output.name)
    told = _object(content) if read else None
    if read is None or told is None:
        if output.name in _SUMMARIES:
            content = strip_origin_line(content)
        places = output.places
        if not any(place.heading for place in places):
            places += markdown_headings(content)
        return ReadableText(replace_unwritable(content), places)
    return read(told)


def replace_unwritable(text: str) -> str:
    """Without the characters a database cannot keep; every position stays what it was."""
    return _UNWRITABLE.sub("\ufffd", text)


def _object(content: str) -> Json | None:
    try:
        told = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def _segments(told: Json) -> ReadableText:
    """A transcript, line by line, with seconds and speaker."""
    lines = [
        (_text(segment.get("text")).strip(), _timed(segment))
        for segment in _objects(told.get("segments"))
        if _text(segment.get("text")).strip()
    ]
    return _joined(lines) if lines else ReadableText(replace_unwritable(_text(told.get("text"))))


def _things(told: Json) -> ReadableText:
    """Objects in a picture, each a paragraph of its own with its box."""
    lines: list[tuple[str, Place]] = []
    for thing in _objects(told.get("objects")):
        parts = [_text(thing.get(field)) for field in ("name", "description", "category")]
        parts += [_text(tag) for tag in _list(thing.get("tags"))]
        words = ". ".join(dict.fromkeys(part.strip() for part in parts if part.strip()))
        if words:
            lines.append((words, Place(0, 0, box=_box(thing.get("box")))))
    return _joined(lines)


def _described(told: Json) -> ReadableText:
    """Title, summary and tags, and the words seen in a picture."""
    parts = [_text(told.get(field)) for field in ("title", "summary", "text", "visible_text")]
    parts.append(", ".join(_text(tag) for tag in _list(told.get("tags"))))
    return ReadableText(replace_unwritable("\n\n".join(part for part in parts if part.strip())))


def _recording(told: Json) -> ReadableText:
    """What a recording says about itself, one line each, then its chapters with their seconds."""
    tags = told.get("tags")
    words = dict.fromkeys(_text(tags.get(field)).strip() for field in _TAGS) if isinstance(tags, dict) else {}
    lines = [(text, Place(0, 0)) for text in words if text]
    for chapter in _objects(told.get("chapters")):
        title = _text(chapter.get("title")).strip()
        if title:
            lines.append((title, _timed(chapter)))
    return _joined(lines)


def _picture(told: Json) -> ReadableText:
    """What a photographer wrote about a picture, and with what it was taken."""
    camera = told.get("camera")
    parts = [_text(told.get(field)).strip() for field in ("title", "description")]
    parts.append(", ".join(_text(word).strip() for word in _list(told.get("keywords")) if _text(word).strip()))
    if isinstance(camera, dict):
        parts.append(" ".join(dict.fromkeys(_text(camera.get(field)).strip() for field in _CAMERA)).strip())
    return ReadableText(replace_unwritable("\n\n".join(dict.fromkeys(part for part in parts if part))))


def _page(told: Json) -> ReadableText:
    """What a web page says about itself, one line each."""
    words = [_text(told.get(field)).strip() for field in ("title", "description", "author", "site_name", "domain")]
    words.append(", ".join(_text(word).strip() for word in _list(told.get("keywords")) if _text(word).strip()))
    return ReadableText(replace_unwritable("\n\n".join(dict.fromkeys(word for word in words if word))))


_SUMMARIES = ("speech-recognition-summary", "url-crawl-summary")
_TAGS = (
    *("title", "artist", "album", "album_artist", "composer", "performer", "conductor", "show", "genre"),
    *("comment", "description", "synopsis", "keywords", "publisher"),
)
_CAMERA = ("make", "model", "lens")
_BY_OUTPUT: dict[str, Callable[[Json], ReadableText]] = {
    "speech-recognition": _segments,
    "speech-recognition-cleanup": _segments,
    "url-metadata": _page,
    "image-captioning": _described,
    "image-preview": _picture,
    "media-preview": _recording,
    "image-objects": _things,
    "classify-document": _described,
    "classify-image": _described,
    "tags": _described,
}


def _joined(lines: Iterable[tuple[str, Place]]) -> ReadableText:
    """One line each, every place moved to where its line came to stand."""
    texts: list[str] = []
    places: list[Place] = []
    at = 0
    for line, where in lines:
        text = replace_unwritable(line)
        texts.append(text)
        places.append(
            Place(
                at,
                at + len(text),
                seconds=where.seconds,
                until=where.until,
                speaker=where.speaker,
                box=where.box,
            )
        )
        at += len(text) + 1
    return ReadableText("\n".join(texts), tuple(places))


def _timed(segment: Json) -> Place:
    speaker = segment.get("speaker")
    return Place(
        0,
        0,
        seconds=_number(segment.get("start")),
        until=_number(segment.get("end")),
        speaker=speaker if isinstance(speaker, str) else None,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _objects(value: object) -> list[Json]:
    return [one for one in _list(value) if isinstance(one, dict)]


def _box(value: object) -> tuple[float, float, float, float] | None:
    corners = [float(one) for one in _list(value) if isinstance(one, int | float)]
    return (corners[0], corners[1], corners[2], corners[3]) if len(corners) == 4 else None

"""What is shown of a file itself: its pages, picture, sound, film or text."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from chyme.application.app import App
from chyme.core.store import files
from chyme.doors.page.place_parameters import PlaceParameters
from chyme.doors.page.text_view import MARKDOWN, TABLES, text_part
from chyme.files.link_files import LINK_BYTES, link_note_in, remove_credentials
from chyme.files.link_notes import LinkNote
from chyme.model import File, Kind
from chyme.speech.transcripts.json_format import format_speaker_label
from chyme.speech.transcripts.word_timestamps import timed_words
from chyme.text.decoding import decode
from chyme.text.digest_text import replace_unwritable
from chyme.vault.intake.text_links import links_of

MOST_BOXES = 600
_PLAYED = ("speech-recognition", "speech-recognition-cleanup", "speaker-embedding")
_SHOWN_BY = {
    "pages": ("doc-to-screenshot",),
    "document": ("doc-to-screenshot", "doc-to-markdown"),
    "image": ("image-preview", "image-ocr", "image-objects"),
    "media": ("media-preview",),
    "url": ("url-crawl-content", "url-crawl-screenshot", "url-crawl-html", "url-metadata"),
}
FileRecord = Mapping[str, Any]


def choose_viewer(told: FileRecord) -> str:
    """Which of the ways to show a file is right for this one."""
    kind = told["file"]["kind"]
    if kind in (Kind.AUDIO, Kind.VIDEO):
        return "media"
    if kind == Kind.DOCUMENT:
        return "pages" if told["file"]["mime"] == "application/pdf" else "document"
    return str(kind) if kind in (Kind.IMAGE, Kind.URL, Kind.TEXT) else "other"


def versions(told: FileRecord) -> dict[str, str]:
    """What the stage and the transcript were made of: equal as long as they need not be shown anew."""
    rows = {row["digester"]: row for row in told["digests"]}

    def version(names: Sequence[str]) -> str:
        return ";".join(f"{rows[name]['status']}:{rows[name]['content_hash']}" for name in names if name in rows)

    heard = version(_PLAYED) + str(sorted((who["name"] or "") for who in told["people"].values()))
    return {
        "stage": f"{told['file']['hash'][:16]};{version(_SHOWN_BY.get(choose_viewer(told), ()))}",
        "transcript": heard,
    }


def viewer_context(app: App, told: FileRecord, place: PlaceParameters) -> dict[str, Any]:
    """What the template of this viewer needs."""
    how = choose_viewer(told)
    rows = {row["digester"]: row for row in told["digests"] if _is_served(row)}
    return {"viewer": how, "place": place, **_MADE[how](app, told, rows, place)}


def _is_served(row: FileRecord) -> bool:
    """Whether a digest has something to show: its content, or the content before while another is being made."""
    return row["status"] == "completed" or (not row["settled"] and row["content"] is not None)


def transcript(app: App, told: FileRecord) -> list[dict[str, Any]]:
    """What is said, by whom and when, word by word."""
    found = app.documents.transcript(told["file"]["path"])
    if found is None:
        return []
    heard, _ = found
    people = told["people"]
    several = len({segment.speaker for segment in heard.segments}) > 1 or any(one["name"] for one in people.values())
    lines, before = [], None
    for segment in heard.segments:
        who = people.get(segment.speaker) if segment.speaker else None
        name = _called(segment.speaker, who) if segment.speaker and several else None
        words = [[one.first, one.last, round(one.start, 2), round(one.end, 2)] for one in timed_words(segment)]
        lines.append(
            {
                "start": round(segment.start, 2),
                "end": round(segment.end, 2),
                "text": segment.text,
                "who": name if segment.speaker != before else None,
                "person": who["person_id"] if who else None,
                "words": json.dumps(words, separators=(",", ":")),
            }
        )
        before = segment.speaker
    return lines


def _called(label: str, who: Mapping[str, Any] | None) -> str:
    if who and who["name"]:
        return str(who["name"])
    return f"Person {who['person_id']}" if who else format_speaker_label(label)


def _file_text(app: App, path: str) -> str:
    """The text of the file itself, as search has read it; empty when it cannot be read now."""
    file = files.by_path(app.database.read(), path)
    if file is None:
        return ""
    return replace_unwritable(decode(_read(app, file, app.settings.index_text_mb * 1_000_000)).text)


def _read(app: App, file: File, limit: int) -> bytes:
    try:
        with os.fdopen(app.vault.open(file), "rb") as stream:
            return stream.read(limit + 1)
    except OSError:
        return b""


def _json(rows: Mapping[str, FileRecord], name: str) -> dict[str, Any]:
    """What a digest holds, when it is an object."""
    try:
        told = json.loads(rows[name]["content"] or "{}") if name in rows else {}
    except (ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _artifact(rows: Mapping[str, FileRecord], name: str, filename: str) -> str | None:
    row = rows.get(name)
    if row is None or filename not in row["artifacts"] or not row["sqlar_name"]:
        return None
    return f"{row['sqlar_name'].rpartition('/')[0]}/{filename}"


def _size(told: Mapping[str, Any], width: int = 1000, height: int = 1414) -> tuple[int, int]:
    found = told.get("width"), told.get("height")
    wide, high = found
    return (wide, high) if type(wide) is int and type(high) is int and wide > 0 and high > 0 else (width, height)


def _pages(_app: App, told: FileRecord, rows: Mapping[str, FileRecord], place: PlaceParameters) -> dict[str, Any]:
    drawn = _json(rows, "doc-to-screenshot")
    pages = told["document"]["pages"] if told["document"] else None
    return {
        "pages": pages,
        "page": min(place.page, pages) if pages else place.page,
        "size": _size(drawn),
        "first": _artifact(rows, "doc-to-screenshot", "page.jpg"),
    }


def _document(_app: App, told: FileRecord, rows: Mapping[str, FileRecord], place: PlaceParameters) -> dict[str, Any]:
    row = rows.get("doc-to-markdown")
    content = row["content"] if row else None
    return {
        "first": _artifact(rows, "doc-to-screenshot", "page.jpg"),
        "size": _size(_json(rows, "doc-to-screenshot")),
        "text": text_part(content, "markdown", place, place.source == "doc-to-markdown") if content else None,
        "waits": row is None and told["document"] and told["document"]["state"] == "processing",
    }


def _image(_app: App, _told: FileRecord, rows: Mapping[str, FileRecord], _place: PlaceParameters) -> dict[str, Any]:
    seen = _json(rows, "image-objects").get("objects")
    objects = [one for one in seen if isinstance(one, dict)] if isinstance(seen, list) else []
    read = rows.get("image-ocr")
    content = (read["content"] or "") if read else ""
    lines = [
        {"label": content[one["start"] : one["end"]], "box": one["box"]}
        for one in (read["places"] if read else ())
        if one.get("box") and one.get("page") in (None, 1)
    ]
    things = [
        {
            "label": str(one.get("description") or one.get("name") or ""),
            "name": str(one.get("name") or ""),
            "confidence": one["confidence"] if isinstance(one.get("confidence"), float) else None,
            "box": one["box"],
        }
        for one in objects
        if _is_box(one.get("box"))
    ]
    return {
        "picture": _artifact(rows, "image-preview", "preview.jpg"),
        "size": _size(_json(rows, "image-preview"), 1600, 1200),
        "lines": lines[:MOST_BOXES],
        "objects": things[:MOST_BOXES],
    }


def _is_box(box: object) -> bool:
    return isinstance(box, list) and len(box) == 4 and all(isinstance(edge, int | float) for edge in box)


def _media(_app: App, told: FileRecord, rows: Mapping[str, FileRecord], _place: PlaceParameters) -> dict[str, Any]:
    preview = _json(rows, "media-preview")
    peaks = preview.get("peaks")
    video = preview.get("video")
    return {
        "film": told["file"]["kind"] == Kind.VIDEO,
        "poster": _artifact(rows, "media-preview", "poster.jpg"),
        "cover": _artifact(rows, "media-preview", "cover.jpg"),
        "duration": preview.get("duration"),
        "wave": _wave(peaks) if isinstance(peaks, list) else None,
        "size": _size(video if isinstance(video, dict) else {}, 1280, 720),
        "subtitles": any(name in rows and rows[name]["content"] for name in _PLAYED[:2]),
    }


def _wave(peaks: Sequence[object]) -> dict[str, object] | None:
    """The waveform as one path: a bar for every value, mirrored, 100 high."""
    heights = [min(max(float(peak), 1.5), 100.0) for peak in peaks if isinstance(peak, int | float)]
    if not heights:
        return None
    bars = (f"M{at * 3 + 1} {50 - height / 2:.1f}v{height:.1f}" for at, height in enumerate(heights))
    return {"path": "".join(bars), "width": len(heights) * 3}


def _url(app: App, told: FileRecord, rows: Mapping[str, FileRecord], place: PlaceParameters) -> dict[str, Any]:
    row = rows.get("url-crawl-content")
    content = row["content"] if row else None
    facts = _json(rows, "url-metadata")
    told_url = facts.get("url")
    note = _link_note(app, told["file"]["path"])
    url = told_url if isinstance(told_url, str) else note and note.url
    copy = _json(rows, "url-crawl-html").get("artifact")
    return {
        "picture": _artifact(rows, "url-crawl-screenshot", "screenshot.jpg"),
        "size": _size(_json(rows, "url-crawl-screenshot"), 1280, 800),
        "text": text_part(content, "markdown", place, place.source == "url-crawl-content") if content else None,
        "url": url if url and url.lower().startswith(("http://", "https://")) else None,
        "note": note,
        "facts": [
            (label, str(facts[name]))
            for name, label in _ABOUT_PAGES
            if isinstance(facts.get(name), str | int) and facts[name]
        ],
        "copy": _artifact(rows, "url-crawl-html", copy) if isinstance(copy, str) else None,
    }


_ABOUT_PAGES = (
    ("site_name", "Site"),
    ("author", "Author"),
    ("published_date", "Published"),
    ("reading_minutes", "Minutes to read"),
    ("description", "It says of itself"),
)


def _link_note(app: App, path: str) -> LinkNote | None:
    """The address in a link file, with what somebody wrote beside it."""
    file = files.by_path(app.database.read(), path)
    note = link_note_in(file.name, _read(app, file, LINK_BYTES)) if file else None
    return replace(note, url=remove_credentials(note.url)) if note else None


def _text(app: App, told: FileRecord, _rows: Mapping[str, FileRecord], place: PlaceParameters) -> dict[str, Any]:
    name = told["file"]["name"].lower()
    suffix = name[name.rfind(".") :] if "." in name else ""
    form = "markdown" if suffix in MARKDOWN else TABLES.get(suffix, "plain")
    text = _file_text(app, told["file"]["path"])
    new = sum(link.path is None for link in links_of(app.open_vault, told["file"]["path"])) if "://" in text else 0
    return {"text": text_part(text, form, place, place.source == "file") if text else None, "new_links": new}


def _other(_app: App, _told: FileRecord, _rows: Mapping[str, FileRecord], _place: PlaceParameters) -> dict[str, Any]:
    return {}


_MADE = {
    "pages": _pages,
    "document": _document,
    "image": _image,
    "media": _media,
    "url": _url,
    "text": _text,
    "other": _other,
}

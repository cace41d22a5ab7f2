"""The viewer of a file: its pages, picture, sound, film or text."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from chyme.application.app import App
from chyme.digester import Makes
from chyme.doors.page.text_view import MARKDOWN, TABLES, text_part
from chyme.doors.page.view_parameters import PlaceParameters
from chyme.files.link_files import LINK_BYTES, LinkNote, link_note_in, remove_credentials
from chyme.model import File, Form, Kind
from chyme.speech.transcripts.json_format import format_speaker_label
from chyme.speech.transcripts.word_timestamps import timed_words
from chyme.text.decoding import decode
from chyme.text.digest_text import replace_unwritable
from chyme.vault.intake.text_links import links_of

MOST_BOXES = 600
_TRANSCRIPT_FORMS = (Form.TRANSCRIPT, Form.SPEAKERS)
_STAGE_FORMS = {
    "pages": (Form.PAGES,),
    "document": (Form.PAGES, Form.TEXT),
    "image": (Form.PICTURE_FACTS, Form.TEXT, Form.OBJECTS),
    "media": (Form.MEDIA_FACTS,),
    "url": (Form.TEXT, Form.SCREENSHOT, Form.PAGE_COPY, Form.PAGE_FACTS),
}
FileRecord = Mapping[str, Any]
Rows = Mapping[Form, FileRecord]  # of each form the first digest that has content


def choose_viewer(record: FileRecord) -> str:
    """Return the name of the viewer for a file."""
    kind = record["file"]["kind"]
    if kind in (Kind.AUDIO, Kind.VIDEO):
        return "media"
    if kind == Kind.DOCUMENT:
        return "pages" if record["file"]["mime"] == "application/pdf" else "document"
    return str(kind) if kind in (Kind.IMAGE, Kind.URL, Kind.TEXT) else "other"


def versions(app: App, record: FileRecord) -> dict[str, str]:
    """Return versions of the stage and the transcript: unchanged while these need not be rendered again."""
    rows = {row["digester"]: row for row in record["digests"]}

    def version(forms: Sequence[Form]) -> str:
        names = app.rules.of_form(*forms)
        return ";".join(f"{rows[name]['status']}:{rows[name]['content_hash']}" for name in names if name in rows)

    transcript_version = version(_TRANSCRIPT_FORMS) + str(
        sorted((person["name"] or "") for person in record["people"].values())
    )
    return {
        "stage": f"{record['file']['hash'][:16]};{version(_STAGE_FORMS.get(choose_viewer(record), ()))}",
        "transcript": transcript_version,
    }


def viewer_context(app: App, record: FileRecord, place: PlaceParameters) -> dict[str, Any]:
    """Return the template variables of the file's viewer."""
    viewer = choose_viewer(record)
    rows: dict[Form, FileRecord] = {}
    for row in record["digests"]:
        if _has_content(row):
            makes = app.rules.traits.get(row["digester"], Makes())
            rows.setdefault(makes.form, {**row, "picture": makes.picture})
    return {"viewer": viewer, "place": place, **_CONTEXTS[viewer](app, record, rows, place)}


def _has_content(row: FileRecord) -> bool:
    """Whether a digest has content to show: its own, or the previous one while another is being made."""
    return row["status"] == "completed" or (not row["settled"] and row["content"] is not None)


def transcript(app: App, record: FileRecord) -> list[dict[str, Any]]:
    """Return the lines of the transcript, with speaker, times and words."""
    stored = app.documents.transcript(record["file"]["path"])
    if stored is None:
        return []
    speech, _ = stored
    people = record["people"]
    show_speakers = len({segment.speaker for segment in speech.segments}) > 1 or any(
        person["name"] for person in people.values()
    )
    lines, previous_speaker = [], None
    for segment in speech.segments:
        person = people.get(segment.speaker) if segment.speaker else None
        name = _speaker_name(segment.speaker, person) if segment.speaker and show_speakers else None
        words = [[word.first, word.last, round(word.start, 2), round(word.end, 2)] for word in timed_words(segment)]
        lines.append(
            {
                "start": round(segment.start, 2),
                "end": round(segment.end, 2),
                "text": segment.text,
                "who": name if segment.speaker != previous_speaker else None,
                "person": person["person_id"] if person else None,
                "words": json.dumps(words, separators=(",", ":")),
            }
        )
        previous_speaker = segment.speaker
    return lines


def _speaker_name(label: str, person: Mapping[str, Any] | None) -> str:
    if person and person["name"]:
        return str(person["name"])
    return f"Person {person['person_id']}" if person else format_speaker_label(label)


def _file_text(app: App, path: str) -> str:
    """Return the text of the file itself, as search has read it; empty when it cannot be read now."""
    file = app.documents.file_at(path)
    if file is None:
        return ""
    return replace_unwritable(decode(_read(app, file, app.settings.index_text_mb * 1_000_000)).text)


def _read(app: App, file: File, limit: int) -> bytes:
    try:
        with os.fdopen(app.vault.open(file), "rb") as stream:
            return stream.read(limit + 1)
    except OSError:
        return b""


def _load_json(rows: Rows, form: Form) -> dict[str, Any]:
    """Return the content of a digest if it is a JSON object."""
    try:
        content = json.loads(rows[form]["content"] or "{}") if form in rows else {}
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _picture(rows: Rows, form: Form) -> str | None:
    """Return the name in the archive of the picture that shows the file."""
    return _artifact_name(rows, form, rows[form]["picture"]) if form in rows and rows[form]["picture"] else None


def _artifact_name(rows: Rows, form: Form, filename: str) -> str | None:
    row = rows.get(form)
    if row is None or filename not in row["artifacts"] or not row["sqlar_name"]:
        return None
    return f"{row['sqlar_name'].rpartition('/')[0]}/{filename}"


def _picture_size(details: Mapping[str, Any], width: int = 1000, height: int = 1414) -> tuple[int, int]:
    found = details.get("width"), details.get("height")
    w, h = found
    return (w, h) if type(w) is int and type(h) is int and w > 0 and h > 0 else (width, height)


def _pages_context(_app: App, record: FileRecord, rows: Rows, place: PlaceParameters) -> dict[str, Any]:
    screenshot = _load_json(rows, Form.PAGES)
    pages = record["document"]["pages"] if record["document"] else None
    return {
        "pages": pages,
        "page": min(place.page, pages) if pages else place.page,
        "size": _picture_size(screenshot),
        "first": _picture(rows, Form.PAGES),
    }


def _document_context(_app: App, record: FileRecord, rows: Rows, place: PlaceParameters) -> dict[str, Any]:
    row = rows.get(Form.TEXT)
    content = row["content"] if row else None
    return {
        "first": _picture(rows, Form.PAGES),
        "size": _picture_size(_load_json(rows, Form.PAGES)),
        "text": text_part(content, "markdown", place, place.source == row["digester"]) if row and content else None,
        "is_processing": row is None and record["document"] and record["document"]["state"] == "processing",
    }


def _image_context(_app: App, _record: FileRecord, rows: Rows, _place: PlaceParameters) -> dict[str, Any]:
    found = _load_json(rows, Form.OBJECTS).get("objects")
    objects = [thing for thing in found if isinstance(thing, dict)] if isinstance(found, list) else []
    ocr = rows.get(Form.TEXT)
    content = (ocr["content"] or "") if ocr else ""
    lines = [
        {"label": content[line["start"] : line["end"]], "box": line["box"]}
        for line in (ocr["places"] if ocr else ())
        if line.get("box") and line.get("page") in (None, 1)
    ]
    object_boxes = [
        {
            "label": str(thing.get("description") or thing.get("name") or ""),
            "name": str(thing.get("name") or ""),
            "confidence": thing["confidence"] if isinstance(thing.get("confidence"), float) else None,
            "box": thing["box"],
        }
        for thing in objects
        if _is_box(thing.get("box"))
    ]
    return {
        "picture": _picture(rows, Form.PICTURE_FACTS),
        "size": _picture_size(_load_json(rows, Form.PICTURE_FACTS), 1600, 1200),
        "lines": lines[:MOST_BOXES],
        "objects": object_boxes[:MOST_BOXES],
    }


def _is_box(box: object) -> bool:
    return isinstance(box, list) and len(box) == 4 and all(isinstance(edge, int | float) for edge in box)


def _media_context(_app: App, record: FileRecord, rows: Rows, _place: PlaceParameters) -> dict[str, Any]:
    preview = _load_json(rows, Form.MEDIA_FACTS)
    peaks = preview.get("peaks")
    video = preview.get("video")
    return {
        "is_video": record["file"]["kind"] == Kind.VIDEO,
        "poster": _artifact_name(rows, Form.MEDIA_FACTS, "poster.jpg"),
        "cover": _artifact_name(rows, Form.MEDIA_FACTS, "cover.jpg"),
        "duration": preview.get("duration"),
        "wave": _waveform(peaks) if isinstance(peaks, list) else None,
        "size": _picture_size(video if isinstance(video, dict) else {}, 1280, 720),
        "subtitles": Form.TRANSCRIPT in rows and bool(rows[Form.TRANSCRIPT]["content"]),
    }


def _waveform(peaks: Sequence[object]) -> dict[str, object] | None:
    """Return the waveform as one SVG path: a mirrored bar for every value, 100 high."""
    heights = [min(max(float(peak), 1.5), 100.0) for peak in peaks if isinstance(peak, int | float)]
    if not heights:
        return None
    bars = (f"M{number * 3 + 1} {50 - height / 2:.1f}v{height:.1f}" for number, height in enumerate(heights))
    return {"path": "".join(bars), "width": len(heights) * 3}


def _url_context(app: App, record: FileRecord, rows: Rows, place: PlaceParameters) -> dict[str, Any]:
    row = rows.get(Form.TEXT)
    content = row["content"] if row else None
    facts = _load_json(rows, Form.PAGE_FACTS)
    page_url = facts.get("url")
    note = _link_note(app, record["file"]["path"])
    url = page_url if isinstance(page_url, str) else note and note.url
    copy = _load_json(rows, Form.PAGE_COPY).get("artifact")
    return {
        "picture": _picture(rows, Form.SCREENSHOT),
        "size": _picture_size(_load_json(rows, Form.SCREENSHOT), 1280, 800),
        "text": text_part(content, "markdown", place, place.source == row["digester"]) if row and content else None,
        "url": url if url and url.lower().startswith(("http://", "https://")) else None,
        "note": note,
        "facts": [
            (label, str(facts[name]))
            for name, label in _PAGE_FACTS
            if isinstance(facts.get(name), str | int) and facts[name]
        ],
        "copy": _artifact_name(rows, Form.PAGE_COPY, copy) if isinstance(copy, str) else None,
    }


_PAGE_FACTS = (
    ("site_name", "Site"),
    ("author", "Author"),
    ("published_date", "Published"),
    ("reading_minutes", "Minutes to read"),
    ("description", "It says of itself"),
)


def _link_note(app: App, path: str) -> LinkNote | None:
    """Return the address in a link file, with what a person wrote beside it."""
    file = app.documents.file_at(path)
    note = link_note_in(file.name, _read(app, file, LINK_BYTES)) if file else None
    return replace(note, url=remove_credentials(note.url)) if note else None


def _text_context(app: App, record: FileRecord, _rows: Rows, place: PlaceParameters) -> dict[str, Any]:
    name = record["file"]["name"].lower()
    suffix = name[name.rfind(".") :] if "." in name else ""
    form = "markdown" if suffix in MARKDOWN else TABLES.get(suffix, "plain")
    text = _file_text(app, record["file"]["path"])
    new = sum(link.path is None for link in links_of(app.open_vault, record["file"]["path"])) if "://" in text else 0
    return {"text": text_part(text, form, place, place.source == "file") if text else None, "new_links": new}


def _other_context(_app: App, _record: FileRecord, _rows: Rows, _place: PlaceParameters) -> dict[str, Any]:
    return {}


_CONTEXTS = {
    "pages": _pages_context,
    "document": _document_context,
    "image": _image_context,
    "media": _media_context,
    "url": _url_context,
    "text": _text_context,
    "other": _other_context,
}

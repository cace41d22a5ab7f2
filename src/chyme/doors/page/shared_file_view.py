"""What a link shows of a file: its title, preview, text and transcript, and nothing about the rest of the vault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chyme.application.app import App
from chyme.doors.page.file_viewer import choose_viewer, transcript, viewer_context
from chyme.doors.page.text_view import TextView, text_part
from chyme.doors.page.view_parameters import PlaceParameters
from chyme.model import File, Form
from chyme.speech.transcripts.subtitles import vtt

_PREVIEWS = ("first", "picture", "poster", "cover")  # in the context of a viewer: names of artifacts


@dataclass(frozen=True, slots=True)
class SharedFile:
    """One file as a link shows it."""

    name: str
    title: str
    kind: str
    viewer: str
    size: int
    date: str | None
    language: str | None
    preview: str | None  # the name of an artifact
    preview_size: tuple[int, int]
    is_video: bool
    has_subtitles: bool
    text: TextView | None
    transcript: tuple[Mapping[str, Any], ...]
    url: str | None
    is_processing: bool


def shared_file(app: App, file: File) -> SharedFile:
    """Return what a link shows of a file. Speakers have their names, but no number that tells of other recordings."""
    record = app.documents.show(file.path)
    named = {label: person for label, person in record["people"].items() if person["name"]}
    record = {**record, "people": named}
    context = viewer_context(app, record, PlaceParameters())
    document: Mapping[str, Any] = record["document"] or {}
    return SharedFile(
        name=file.name,
        title=document.get("title") or file.name,
        kind=str(file.kind),
        viewer=context["viewer"],
        size=record["file"]["size"],
        date=document.get("date"),
        language=document.get("language"),
        preview=_preview_in(context),
        preview_size=context.get("size") or (1000, 1414),
        is_video=bool(context.get("is_video")),
        has_subtitles=bool(context.get("subtitles")),
        text=context.get("text") or _text_of(app, record, context["viewer"]),
        transcript=tuple(transcript(app, record)) if context["viewer"] == "media" else (),
        url=context.get("url"),
        is_processing=document.get("state", "processing") == "processing",
    )


def preview_of(app: App, file: File) -> str | None:
    """Return the name of the picture that shows the file, without reading its text."""
    record = app.documents.show(file.path)
    if choose_viewer(record) == "text":
        return None
    texts = app.rules.of_form(Form.TEXT)
    digests = [{**row, "content": ""} if row["digester"] in texts else row for row in record["digests"]]
    return _preview_in(viewer_context(app, {**record, "digests": digests}, PlaceParameters()))


def _preview_in(context: Mapping[str, Any]) -> str | None:
    return next((context[name] for name in _PREVIEWS if context.get(name)), None)


def subtitles(app: App, file: File) -> str | None:
    """What is said in a recording, as WebVTT; None without a transcript."""
    found = app.documents.transcript(file.path)
    return vtt(found[0].segments, found[1]) if found is not None and found[0].segments else None


def _text_of(app: App, record: Mapping[str, Any], viewer: str) -> TextView | None:
    """Return the text of a page or picture, which the file's own page shows in another way."""
    if viewer not in ("pages", "image"):
        return None
    names = app.rules.of_form(Form.TEXT)
    for row in record["digests"]:
        if row["digester"] in names and row["content"] and row["status"] == "completed":
            return text_part(row["content"], "markdown" if viewer == "pages" else "plain", PlaceParameters(), False)
    return None

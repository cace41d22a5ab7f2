"""The digests of a file as cards: what each is for, its status, and its content."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from chyme.application.app import App
from chyme.core.pipeline.document_state import is_not_applicable
from chyme.core.pipeline.failure_causes import REMEDIES, cause_of
from chyme.doors.page.labels import labels_of
from chyme.doors.page.markdown_html import render_markdown
from chyme.errors import Category
from chyme.model import Form
from chyme.speech.transcripts.json_format import format_speaker_label, from_json
from chyme.text.display import format_time

SHOWN = 20_000  # at most so many characters of a digest are shown; all of it can be downloaded
MARKDOWN = (Form.TEXT, Form.SUMMARY)
BADGES = {
    "todo": ("grey", "waits"),
    "in-progress": ("accent", "at work"),
    "completed": ("green", "completed"),
    "skipped": ("grey", "skipped"),
    "failed": ("red", "failed"),
}
CATEGORY_TEXTS: dict[str, str] = {
    Category.AI_CONTENT_BLOCKED: "The model refused it",
    Category.AI_QUOTA: "The provider's quota is used up",
    Category.RATE_LIMIT: "Asked too often",
    Category.TIMEOUT: "It took too long",
    Category.NETWORK: "The network failed",
    Category.VALIDATION: "It cannot be read",
    Category.UNSUPPORTED_FILE_TYPE: "Nobody here reads this",
    Category.DEPENDENCY: "It waits for another digest",
    Category.CRASH: "The reader crashed",
    Category.UNAVAILABLE: "Something is missing",
    Category.BUDGET: "The budget is spent",
}


@dataclass(frozen=True, slots=True)
class DigestCard:
    """One digest as the page shows it."""

    name: str
    label: str
    description: str
    status: str
    colour: str
    status_text: str
    duration: str | None
    updated_at: str
    attempts: int
    outdated: bool
    problem: str | None  # the category in words
    error: str | None
    way_out: str | None
    retry_at: str | None
    has_content: bool
    artifacts: tuple[tuple[str, str], ...]  # filename, name in the archive
    version: str  # unchanged while the card is
    worker: str | None  # the machine that made it; None: this one


def cards(app: App, record: Mapping[str, Any]) -> tuple[list[DigestCard], list[str]]:
    """Return the cards in order, and the digests that do not apply to this kind of file."""
    labels = labels_of(app)
    digester_of = {name: digester for digester in app.rules.registry for name in digester.outputs}
    recipes = dict(app.rules.recipes())
    found, not_applicable = [], []
    for row in record["digests"]:
        digester = digester_of.get(row["digester"])
        label = labels.get(row["digester"], row["digester"])
        if is_not_applicable(row["status"], row["error"]):
            not_applicable.append(label)
            continue
        description = digester.description if digester else "Made by a digester that is not here any more."
        found.append(_create_card(row, record["file"]["path"], label, description, recipes.get(row["digester"])))
    return found, not_applicable


def _create_card(row: Mapping[str, Any], path: str, label: str, description: str, recipe: str | None) -> DigestCard:
    colour, status_text = BADGES[row["status"]]
    if row["status"] == "failed" and not row["settled"]:
        colour, status_text = "amber", "is tried again"
    category = row["error_category"] or ""
    cause = cause_of(row["error"], path, category) if row["error"] else None
    failed = row["status"] == "failed"
    outdated = row["status"] == "completed" and recipe is not None and row["recipe"] not in (None, recipe)
    folder = (row["sqlar_name"] or "").rpartition("/")[0]
    return DigestCard(
        row["digester"],
        label,
        description,
        row["status"],
        colour,
        status_text,
        format_duration(row["duration_ms"]) if row["status"] in ("completed", "failed") else None,
        row["updated_at"],
        row["attempts"],
        outdated,
        CATEGORY_TEXTS.get(category) if failed else None,
        cause.message if cause else None,
        (cause.way_out if cause and failed else None) or (REMEDIES.get(category) if failed else None),
        row["retry_at"] if failed and not row["settled"] else None,
        bool(row["content"]),
        tuple((name, f"{folder}/{name}") for name in row["artifacts"]) if folder else (),
        f"{row['status']} {row['updated_at']} {row['attempts']} {outdated}",
        row["worker"] if row["status"] == "completed" else None,
    )


def format_duration(milliseconds: int | None) -> str | None:
    """Format how long a digest took."""
    if milliseconds is None:
        return None
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if seconds < 60 else f"{format_time(seconds)} min"


@dataclass(frozen=True, slots=True)
class DigestContent:
    """The content of a digest, in the form that suits it."""

    form: str  # markdown, text, json, tags, objects, facts, transcript
    html: Markup | None = None
    text: str = ""
    items: tuple[tuple[str, str], ...] = ()
    cut: bool = False


def digest_content(form: Form, content: str, names: Mapping[str, str]) -> DigestContent:
    """Return the content of one digest. Content that does not have the expected format is shown as plain text."""
    if form in MARKDOWN:
        return DigestContent("markdown", html=Markup(render_markdown(content[:SHOWN])), cut=len(content) > SHOWN)
    try:
        content_json = json.loads(content)
        if form is Form.TRANSCRIPT:
            return _transcript_content(content, names)
        if isinstance(content_json, dict):
            return _json_content(form, content_json)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    return DigestContent("text", text=content[:SHOWN], cut=len(content) > SHOWN)


def _transcript_content(content: str, names: Mapping[str, str]) -> DigestContent:
    lines = []
    remaining = SHOWN
    for segment in from_json(content).segments:
        speaker = names.get(segment.speaker) or format_speaker_label(segment.speaker) if segment.speaker else ""
        lines.append((f"{format_time(segment.start)} {speaker}".strip(), segment.text))
        remaining -= len(segment.text)
        if remaining < 0:
            break
    return DigestContent("transcript", items=tuple(lines), cut=remaining < 0)


def _json_content(form: Form, content: dict[str, Any]) -> DigestContent:
    if form is Form.TAGS:
        return DigestContent("tags", items=tuple((str(tag), "") for tag in content["tags"]))
    if form is Form.OBJECTS:
        return DigestContent("objects", items=tuple(_describe_thing(thing) for thing in content["objects"]))
    if form is Form.CAPTION:
        return DigestContent("text", text=str(content["text"]))
    if form is Form.MEDIA_FACTS:
        content = {key: value for key, value in content.items() if key != "peaks"}  # the player shows the peaks
    text = json.dumps(content, ensure_ascii=False, indent=2)
    return DigestContent("json", text=text[:SHOWN], cut=len(text) > SHOWN)


def _describe_thing(thing: Mapping[str, Any]) -> tuple[str, str]:
    score = thing.get("confidence")
    return str(thing.get("description") or thing["name"]), f"{score:.0%}" if isinstance(score, int | float) else ""

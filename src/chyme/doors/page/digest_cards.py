"""The digests of a file as cards: what each is for, how it went, and what it holds."""

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
from chyme.doors.page.rendering import format_time
from chyme.errors import Category
from chyme.speech.transcripts.json_format import format_speaker_label, from_json

SHOWN = 20_000  # characters of what a digest holds; all of it can be downloaded
MARKDOWN = ("doc-to-markdown", "url-crawl-content", "url-crawl-summary", "speech-recognition-summary")
TRANSCRIPTS = ("speech-recognition", "speech-recognition-cleanup")
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
    """One digest, in words."""

    name: str
    label: str
    description: str
    status: str
    colour: str
    word: str
    took: str | None
    at: str
    attempts: int
    outdated: bool
    problem: str | None  # the category in words
    error: str | None
    way_out: str | None
    retry_at: str | None
    holds: bool
    artifacts: tuple[tuple[str, str], ...]  # filename, name in the archive
    version: str  # equal as long as the card is


def cards(app: App, told: Mapping[str, Any]) -> tuple[list[DigestCard], list[str]]:
    """The cards in order, and what this kind of file never has."""
    labels = labels_of(app)
    about = {name: digester for digester in app.rules.registry for name in digester.outputs}
    recipes = dict(app.rules.recipes())
    found, apart = [], []
    for row in told["digests"]:
        digester = about.get(row["digester"])
        label = labels.get(row["digester"], row["digester"])
        if is_not_applicable(row["status"], row["error"]):
            apart.append(label)
            continue
        description = digester.description if digester else "Made by a digester that is not here any more."
        found.append(_card(row, told["file"]["path"], label, description, recipes.get(row["digester"])))
    return found, apart


def _card(row: Mapping[str, Any], path: str, label: str, description: str, recipe: str | None) -> DigestCard:
    colour, word = BADGES[row["status"]]
    if row["status"] == "failed" and not row["settled"]:
        colour, word = "amber", "is tried again"
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
        word,
        format_duration(row["duration_ms"]) if row["status"] in ("completed", "failed") else None,
        row["updated_at"],
        row["attempts"],
        outdated,
        CATEGORY_TEXTS.get(category) if failed else None,
        cause.told if cause else None,
        (cause.way_out if cause and failed else None) or (REMEDIES.get(category) if failed else None),
        row["retry_at"] if failed and not row["settled"] else None,
        bool(row["content"]),
        tuple((name, f"{folder}/{name}") for name in row["artifacts"]) if folder else (),
        f"{row['status']} {row['updated_at']} {row['attempts']} {outdated}",
    )


def format_duration(milliseconds: int | None) -> str | None:
    """How long something took."""
    if milliseconds is None:
        return None
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    seconds = milliseconds / 1000
    return f"{seconds:.1f} s" if seconds < 60 else f"{format_time(seconds)} min"


@dataclass(frozen=True, slots=True)
class DigestContent:
    """What a digest holds, in the form that suits it."""

    form: str  # markdown, text, json, tags, objects, facts, transcript
    html: Markup | None = None
    text: str = ""
    items: tuple[tuple[str, str], ...] = ()
    cut: bool = False


def digest_content(name: str, content: str, names: Mapping[str, str]) -> DigestContent:
    """The content of one digest. What is not in its promised shape is shown as it is."""
    if name in MARKDOWN:
        return DigestContent("markdown", html=Markup(render_markdown(content[:SHOWN])), cut=len(content) > SHOWN)
    try:
        told = json.loads(content)
        if name in TRANSCRIPTS:
            return _transcript(content, names)
        if isinstance(told, dict):
            return _object(name, told)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    return DigestContent("text", text=content[:SHOWN], cut=len(content) > SHOWN)


def _transcript(content: str, names: Mapping[str, str]) -> DigestContent:
    lines = []
    room = SHOWN
    for segment in from_json(content).segments:
        who = names.get(segment.speaker) or format_speaker_label(segment.speaker) if segment.speaker else ""
        lines.append((f"{format_time(segment.start)} {who}".strip(), segment.text))
        room -= len(segment.text)
        if room < 0:
            break
    return DigestContent("transcript", items=tuple(lines), cut=room < 0)


def _object(name: str, told: dict[str, Any]) -> DigestContent:
    if name == "tags":
        return DigestContent("tags", items=tuple((str(tag), "") for tag in told["tags"]))
    if name == "image-objects":
        return DigestContent("objects", items=tuple(_thing(one) for one in told["objects"]))
    if name == "image-captioning":
        return DigestContent("text", text=str(told["text"]))
    if name == "media-preview":
        told = {key: value for key, value in told.items() if key != "peaks"}  # the player shows them
    text = json.dumps(told, ensure_ascii=False, indent=2)
    return DigestContent("json", text=text[:SHOWN], cut=len(text) > SHOWN)


def _thing(one: Mapping[str, Any]) -> tuple[str, str]:
    sure = one.get("confidence")
    return str(one.get("description") or one["name"]), f"{sure:.0%}" if isinstance(sure, int | float) else ""

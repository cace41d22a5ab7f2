"""A summary as markdown: the takeaway first, then topics, actions and questions with their times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chyme.model import Place
from chyme.speech.transcripts.json_format import format_speaker_label

POINTS = 8  # in one section
LENGTH = 300  # characters of one point
TAKEAWAY_LENGTH = 1000
_HEADINGS = {
    "en": ("Topics", "Actions", "Questions"),
    "de": ("Themen", "Aufgaben", "Fragen"),
    "fr": ("Thèmes", "Actions", "Questions"),
    "es": ("Temas", "Tareas", "Preguntas"),
    "it": ("Temi", "Azioni", "Domande"),
    "nl": ("Onderwerpen", "Acties", "Vragen"),
    "pt": ("Temas", "Tarefas", "Perguntas"),
    "zh": ("主题", "行动事项", "问题"),
    "ja": ("トピック", "アクション", "質問"),
}
_MARKUP = re.compile(r"([\\`*_\[\]<>|~&$])")
_LEADING = re.compile(r"^(#{1,6}(?=\s|$)|[-+=](?=\s|$|[-+=])|\d{1,9}(?=[.)](?:\s|$)))")
_MARK = re.compile(r"\n\n\*(?:\\.|[^*\\\n])+\*\n?\Z")


@dataclass(frozen=True, slots=True)
class Point:
    """One line of a section."""

    text: str
    seconds: float | None = None
    speaker: str | None = None  # a label: speaker-1


@dataclass(frozen=True, slots=True)
class Summary:
    """What was said, in short."""

    takeaway: str
    topics: tuple[Point, ...] = ()
    actions: tuple[Point, ...] = ()
    questions: tuple[Point, ...] = ()


def as_markdown(summary: Summary, language: str | None, made: str) -> tuple[str, tuple[Place, ...]]:
    """The text, and where its points stand in the recording. `made` is its last line: how it came to be."""
    text = escape_markdown(shorten_text(summary.takeaway, TAKEAWAY_LENGTH))
    places: list[Place] = []
    for heading, points in zip(headings(language), (summary.topics, summary.actions, summary.questions), strict=True):
        if not points:
            continue
        text += f"\n\n## {heading}\n"
        for point in points[:POINTS]:
            text += "\n"
            line = _line(point)
            if point.seconds is not None:
                places.append(Place(len(text), len(text) + len(line), seconds=point.seconds, speaker=point.speaker))
            text += line
    return f"{text}\n\n*{escape_markdown(made)}*\n", tuple(places)


def strip_origin_line(markdown: str) -> str:
    """The text without its last line, which tells how it was made and not what was said."""
    return _MARK.sub("\n", markdown)


def headings(language: str | None) -> Sequence[str]:
    """Topics, actions, questions in the language spoken; in English where nobody knows it."""
    return _HEADINGS.get(language or "", _HEADINGS["en"])


def escape_markdown(text: str) -> str:
    """The text so that markdown shows it letter by letter: one line, no markup, no heading, no list."""
    line = _MARKUP.sub(r"\\\1", " ".join(text.split()))
    leading = _LEADING.match(line)
    if leading is None:
        return line
    end = leading.end()
    return f"{line[:end]}\\{line[end:]}" if line[0].isdigit() else f"\\{line}"


def shorten_text(text: str, length: int) -> str:
    """The text, shortened at a blank where it is too long."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    kept = text[: length - 1]
    at = kept.rfind(" ")
    return (kept[:at] if at > length // 2 else kept).rstrip(" ,;:") + "…"


def format_clock(seconds: float) -> str:
    """12:34, or 1:02:34 in a long recording."""
    whole = int(seconds)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def parse_clock(told: str, duration: float) -> float | None:
    """What a clock time means; None when it is none, or after the end."""
    parts = told.strip().strip("[]()").split(":")
    if not 2 <= len(parts) <= 3 or not all(part.isdecimal() and len(part) <= 3 for part in parts):
        return None
    seconds = 0
    for part in parts:
        seconds = seconds * 60 + int(part)
    return float(seconds) if seconds <= duration else None


def _line(point: Point) -> str:
    who = f"{escape_markdown(format_speaker_label(point.speaker))}: " if point.speaker else ""
    when = f" ({format_clock(point.seconds)})" if point.seconds is not None else ""
    return f"- {who}{escape_markdown(shorten_text(point.text, LENGTH))}{when}"

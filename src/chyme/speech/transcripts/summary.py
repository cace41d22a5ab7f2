"""A summary as markdown: the takeaway first, then topics, actions and questions with their times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chyme.model import Place
from chyme.speech.transcripts.json_format import format_speaker_label

POINTS = 8  # points per section
LENGTH = 300  # maximum characters of one point
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
_ORIGIN_LINE = re.compile(r"\n\n\*(?:\\.|[^*\\\n])+\*\n?\Z")


@dataclass(frozen=True, slots=True)
class Point:
    """One line of a section."""

    text: str
    seconds: float | None = None
    speaker: str | None = None  # a label such as speaker-1


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of what was said."""

    takeaway: str
    topics: tuple[Point, ...] = ()
    actions: tuple[Point, ...] = ()
    questions: tuple[Point, ...] = ()


def as_markdown(summary: Summary, language: str | None, made: str) -> tuple[str, tuple[Place, ...]]:
    """The text, and the places of its points in the recording. `made` is the last line, which says how it was made."""
    text = escape_markdown(shorten_text(summary.takeaway, TAKEAWAY_LENGTH))
    places: list[Place] = []
    for heading, points in zip(headings(language), (summary.topics, summary.actions, summary.questions), strict=True):
        if not points:
            continue
        text += f"\n\n## {heading}\n"
        for point in points[:POINTS]:
            text += "\n"
            line = _format_point(point)
            if point.seconds is not None:
                places.append(Place(len(text), len(text) + len(line), seconds=point.seconds, speaker=point.speaker))
            text += line
    return f"{text}\n\n*{escape_markdown(made)}*\n", tuple(places)


def strip_origin_line(markdown: str) -> str:
    """The text without its last line, which says how it was made, not what was said."""
    return _ORIGIN_LINE.sub("\n", markdown)


def headings(language: str | None) -> Sequence[str]:
    """Topics, actions, questions in the language spoken; in English if it is unknown."""
    return _HEADINGS.get(language or "", _HEADINGS["en"])


def escape_markdown(text: str) -> str:
    """Escape the text so that markdown shows it literally: one line, no markup, no heading, no list."""
    line = _MARKUP.sub(r"\\\1", " ".join(text.split()))
    leading = _LEADING.match(line)
    if leading is None:
        return line
    end = leading.end()
    return f"{line[:end]}\\{line[end:]}" if line[0].isdigit() else f"\\{line}"


def shorten_text(text: str, length: int) -> str:
    """Shorten the text at a space if it is too long."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > length // 2 else cut).rstrip(" ,;:") + "…"


def format_clock(seconds: float) -> str:
    """12:34, or 1:02:34 in a long recording."""
    total = int(seconds)
    hours, minutes = divmod(total // 60, 60)
    return f"{hours}:{minutes:02d}:{total % 60:02d}" if hours else f"{minutes}:{total % 60:02d}"


def parse_clock(text: str, duration: float) -> float | None:
    """The seconds of a clock time; None when it is not one, or is after the end."""
    parts = text.strip().strip("[]()").split(":")
    if not 2 <= len(parts) <= 3 or not all(part.isdecimal() and len(part) <= 3 for part in parts):
        return None
    seconds = 0
    for part in parts:
        seconds = seconds * 60 + int(part)
    return float(seconds) if seconds <= duration else None


def _format_point(point: Point) -> str:
    speaker = f"{escape_markdown(format_speaker_label(point.speaker))}: " if point.speaker else ""
    clock = f" ({format_clock(point.seconds)})" if point.seconds is not None else ""
    return f"- {speaker}{escape_markdown(shorten_text(point.text, LENGTH))}{clock}"

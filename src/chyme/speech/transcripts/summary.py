"""A summary as markdown: the takeaway first, then topics, actions and questions with their times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chyme.model import Place
from chyme.speech.transcripts.json_format import format_speaker_label
from chyme.text.markdown_lines import LENGTH, escape_markdown, shorten_text

POINTS = 8  # points per section
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


def headings(language: str | None) -> Sequence[str]:
    """Topics, actions, questions in the language spoken; in English if it is unknown."""
    return _HEADINGS.get(language or "", _HEADINGS["en"])


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

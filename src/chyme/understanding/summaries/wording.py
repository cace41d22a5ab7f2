"""The parts of composed sentences: kinds with their article, names in quotation marks, dates, lists."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chyme.text.markdown_lines import shorten_text
from chyme.understanding.summaries.facts import DocumentFacts
from chyme.understanding.titles.cleanup import is_junk, same_words

_MAX_NAMED, _NAME_LENGTH, _TITLE_LENGTH = 5, 60, 120  # parts that are named, characters of a part and of a title
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_FIELD = re.compile(r"[^\s:]+: ")  # "Passenger: Ada Winter"
_PHRASES = {"cv": "A CV", "faq": "An FAQ"}
_NO_SUBJECT = frozenset({"invoice", "receipt", "cv"})  # their titles are names and numbers
_ABOUT = frozenset({"letter", "presentation", "paper", "article", "press release", "newsletter", "e-mail", "notes"})
_TEXTS = {"text/": "A text", "image": "A picture", "audio": "A recording", "video": "A recording"}


def with_article(kind: str) -> str:
    """`An invoice`, `A court decision`, `Minutes`."""
    if kind in _PHRASES:
        return _PHRASES[kind]
    if kind.endswith("s") and not kind.endswith(("ss", "is", "us")):
        return kind.capitalize()
    return f"{'An' if kind[:1] in 'aeiou' else 'A'} {kind}"


def format_day(day: str) -> str:
    """3 April 2026, April 2026 or 2026."""
    year, *rest = day[:10].split("-")
    parts = [str(int(rest[1]))] if len(rest) > 1 else []
    return " ".join([*parts, *([_MONTHS[int(rest[0]) - 1]] if rest else []), year])


def end_sentence(text: str) -> str:
    """The text with a full stop, unless it ends with another mark."""
    return text if text.endswith(("?", "!")) else f"{text}."


def name_sender(sender: str) -> str:
    """` from Blue Harbour Ltd`"""
    return f" from {sender}" if sender else ""


def name_author(author: str) -> str:
    """` by Ada Winter`"""
    return f" by {author}" if author else ""


def name_day(day: str) -> str:
    """` of 3 April 2026`"""
    return f" of {format_day(day)}" if day else ""


def name_subject(facts: DocumentFacts, kind: str) -> str:
    """` about “Window repair”`, unless there is no title or it says nothing more than the kind."""
    title = facts.title or ""
    if not title or not facts.is_named or kind in _NO_SUBJECT or same_words(title, kind) or is_junk(title):
        return ""
    return f" {'about' if kind in _ABOUT and kind not in title.lower() else 'called'} {quote_name(title)}"


def name_title(facts: DocumentFacts) -> str:
    """` called “Account statement”`, if the document has a title of its own that is no field."""
    is_title = facts.title and facts.is_named and not _FIELD.match(facts.title)
    return f" called {quote_name(facts.title)}" if facts.title and is_title else ""


def quote_name(text: str) -> str:
    """The text in quotation marks, shortened."""
    return f"“{shorten_text(text, _TITLE_LENGTH).rstrip('.')}”"


def join_names(names: Sequence[str], joint: str = ", ") -> str:
    """The first names, and `and more` if there are more."""
    shown = [shorten_text(name, _NAME_LENGTH) for name in names[:_MAX_NAMED]]
    return joint.join(shown) + (" and more" if len(names) > _MAX_NAMED else "")


def is_slides(mime: str) -> bool:
    return "presentation" in mime or "powerpoint" in mime


def name_kind(facts: DocumentFacts) -> str:
    """What the document is: its kind, otherwise what files of its type are."""
    if facts.kind:
        return with_article(facts.kind)
    if facts.form:
        return facts.form
    mime = facts.mime
    if is_slides(mime):
        return "A presentation"
    if "sheet" in mime or "excel" in mime:
        return "A spreadsheet"
    return {
        "message/rfc822": "An e-mail",
        "application/vnd.ms-outlook": "An e-mail",
        "application/epub+zip": "A book",
        "text/html": "A page",
    }.get(mime, _TEXTS.get(mime[:5], "A document"))

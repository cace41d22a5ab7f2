"""A possible title of a document, and how lines of it are put together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chyme.text.markdown_lines import join_texts
from chyme.text.sentences import word_count
from chyme.understanding.titles.cleanup import to_normal_case
from chyme.understanding.titles.line_roles import (
    is_date_line,
    is_issuing_body,
    is_no_title,
    is_only_kind,
    is_year_or_period,
)

_HYPHENATED = re.compile(r"[^\W\d_]{2,}-$")
_HANGUL = re.compile("[\uac00-\ud7a3]")  # written with spaces between words
_FORM = re.compile(r"^(?:form|formular|formulaire|formulario|modulo)\s(?=[\w.-]{0,12}\d)[\w.-]{1,15}$", re.IGNORECASE)
_GOES_ON = re.compile(  # in lower case: `Niederschrift` über die Sitzung
    r"(?:about|concerning|for|of|on|regarding|to the|über|zur|zum|für|betreffend|sur|relatif|sobre|sulla?|over)\s"
)
_NUMBER = re.compile(r"^(?:no|nr|n[°º]|number|nummer|#)\.?\s?[:#.]?\s?[\w./-]*\d[\w./-]*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Title:
    """One possible title of a document."""

    text: str
    confidence: float
    where: str  # the output, `properties` or `name`
    evidence: str  # the original text there


def join_title_lines(lines: Sequence[str]) -> str:
    """The lines of a title as one; a word that was divided at the end of a line is joined."""
    whole = ""
    for line in lines:
        if _HYPHENATED.search(whole) and line[:1].islower():
            whole = whole[:-1] + line
        else:
            joint = " " if _HANGUL.search(whole[-1:]) else ""
            whole = f"{whole}{joint}{line}" if joint else join_texts([whole, line])
    return whole


def complete_kind(title: str, before: Sequence[str], after: Sequence[str]) -> str:
    """A title such as `Minutes` with the body above it and the number, year or date below it; others as they are."""
    if _FORM.match(title):
        named = next(
            (line for line in after[:3] if word_count(line) > 2 and line[:1] != "(" and not is_no_title(line)), ""
        )
        return f"{title}: {_calm(named.lstrip('☐☒☑□■ '))}" if named else title
    if not is_only_kind(title):
        return title
    title = _calm(title)
    for line in after[:3]:
        if (is_year_or_period(line) and line not in title) or _NUMBER.match(line):
            title = f"{title} {line}"
        elif is_date_line(line):
            title = f"{title}, {line}"
        elif _GOES_ON.match(line):
            title = f"{title} {line}"
        elif is_issuing_body(line) and not any(map(is_issuing_body, before[-1:])):
            return f"{title} – {_calm(line)}"
        else:
            break
    above = before[-1] if before and is_issuing_body(before[-1]) else ""
    return f"{_calm(above)} – {title}" if above else title


def _calm(line: str) -> str:
    """A line in capitals in normal case."""
    if not line.isupper():
        return line
    return to_normal_case(line, line.lower()) if " " in line else line.capitalize()

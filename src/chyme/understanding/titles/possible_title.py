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
    names_meeting,
)

_HYPHENATED = re.compile(r"[^\W\d_]{2,}-$")
_HANGUL = re.compile("[\uac00-\ud7a3]")  # written with spaces between words
_FORM = re.compile(r"^(?:form|formular|formulaire|formulario|modulo)\s(?=[\w.-]{0,12}\d)[\w.-]{1,15}$", re.IGNORECASE)
_GOES_ON = re.compile(  # in lower case: `Niederschrift` über die Sitzung
    r"(?:about|concerning|for|of|on|regarding|to the|über|zur|zum|für|betreffend|sur|relatif|sobre|sulla?|over)\s"
)
_STANDARD = re.compile(  # DIN EN ISO 9001
    r"^(?:DIN|ISO|IEC|EN|BS|ANSI|ASTM|IEEE|ETSI|ITU-T|NIST|NF|UNI|UNE|NEN|VDI|VDE|ÖNORM|SN|JIS|GB/T|RFC|FIPS)"
    r"(?:[ /-](?:EN|ISO|IEC|SP|TS|TR|PAS|NF))*[ /-]?[A-Z]{0,3} ?\d[\w.:/-]{0,20}$"
)
_ISSUE = re.compile(  # of a newsletter
    r"^((?:vol(?:ume|\.)?\s?\d{1,3}\W{1,3})?(?:issue|no\.|nr\.|number|ausgabe|heft|numéro|número|numero|nummer|n[°º])"
    r"\s?#?\d{1,4}(?:/\d{2,4})?)(?=$|\s?[|,•·(]|\s[–—-]|\s[^\W\d_]{3,10}\.?\s\d{4}$)",
    re.IGNORECASE,
)
_NAME_WORDS = 12  # words of a name that a number or a day completes
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
    """A title such as `Minutes` with the body above it and the number, year or date below it; others as they are.

    A standard and a form get their number from the line above, a newsletter that of its issue from below, and
    minutes their day.
    """
    if _FORM.match(title):
        named = next(
            (line for line in after[:3] if word_count(line) > 2 and line[:1] != "(" and not is_no_title(line)), ""
        )
        return f"{title}: {_calm(named.lstrip('☐☒☑□■ '))}" if named else title
    if not is_only_kind(title):
        return _complete_name(title, before, after)
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


def _complete_name(title: str, before: Sequence[str], after: Sequence[str]) -> str:
    if before and _STANDARD.match(before[-1]) and before[-1] not in title:
        return f"{before[-1]}: {title}"
    form = next((line for line in before[-2:] if _FORM.match(line)), "")
    if form and form not in title and word_count(title) > 2:
        return f"{form}: {_calm(title)}"
    if any(map(str.isdigit, title)) or word_count(title) > _NAME_WORDS or " v. " in title:
        return title
    issue = next((match[1] for line in after[:2] if (match := _ISSUE.match(line))), "")
    if issue and not is_issuing_body(title):
        return f"{title}, {issue}"
    day = next((line for line in after[:2] if is_date_line(line)), "")
    return f"{_calm(title)}, {day}" if day and names_meeting(title) else title


def _calm(line: str) -> str:
    """A line in capitals in normal case."""
    if not line.isupper():
        return line
    return to_normal_case(line, line.lower()) if " " in line else line.capitalize()

"""Dates that a page shows beside its headline, for pages that declare none: `Posted on 3 March 2020`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from chyme.text.word_lists import WordList

if TYPE_CHECKING:
    from lxml.html import HtmlElement  # type: ignore[import-untyped]

MAX_ELEMENTS = 20_000  # elements that are examined
MAX_LINE = 160  # characters of a line with a date
_MAX_ANCESTORS = 40
_NEAR = 60  # elements between the headline and the line
_MAX_LINES = 12  # lines with dates on a page that has an article and not a list of them
_LABELS = WordList(__package__, "publication_labels")
_MAX_LABEL_WORDS, _LABELLED_LINE = 3, 80  # words of a label, and characters of a line that is known by it alone
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d{2}(?!\d)")
_DATED = re.compile(
    r"(?:^|[\s_-])(?:date|dates?line|pubdate|publish(?:ed)?|posted|timestamp|(?:post|entry|article|news|blog|story)[_-]?"
    r"(?:date|time|meta|info|details)|datum|fecha|byline|by-line|meta|submitted|datetime|created)(?:$|[\s_-])",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"comment|sidebar|related|recent|popular|trending|archive|(?:site|page)-?footer|(?:^|[\s_-])(?:nav|menu|promo|ads?|teaser|event)"
    r"|^footer$",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:^|\s)(?:hentry|h-entry)(?:$|\s)", re.IGNORECASE)
_MARKED = "published", "dt-published"  # classes of microformats
_OUTSIDE = frozenset({"nav", "footer", "aside", "form", "script", "style", "noscript", "template"})


def marked_dates(root: HtmlElement) -> Iterator[str]:
    """The dates of publication that microformats and microdata mark in the text, in the form meant for programs."""
    marks = " or ".join(f"contains(concat(' ', @class, ' '), ' {name} ')" for name in _MARKED)
    found = root.xpath(f"//*[@itemprop='datePublished' or {marks}][@title or @content or @datetime]")[:50]
    values = {
        value[:60]
        for element in found
        if not _is_elsewhere(element)
        and (value := element.get("datetime") or element.get("content") or element.get("title"))
    }
    if len({value[:10] for value in values}) == 1:  # of several, none is of the page
        yield min(values)


def date_line(root: HtmlElement) -> str:
    """The line with a date that is nearest to the headline; empty if there is none, or if the page is a list."""
    headline: int | None = None
    lines: list[tuple[int, str]] = []
    for position, element in enumerate(islice(root.iter(), MAX_ELEMENTS)):
        if not isinstance(element.tag, str):
            continue
        if element.tag == "h1" and headline is None and element.text_content().strip():
            headline = position
        elif (line := _line_of(element)) and not _is_elsewhere(element):
            if lines and line in lines[-1][1]:
                continue  # a part of the line before
            lines.append((position, line))
    if headline is None and len({line for _, line in lines}) == 1:
        return lines[0][1]
    near = [(abs(at - headline), line) for at, line in lines if headline is not None and abs(at - headline) <= _NEAR]
    return min(near)[1] if near and len(lines) <= _MAX_LINES else ""


def _is_dated(element: HtmlElement) -> bool:
    return element.tag == "time" or any(_DATED.search(element.get(name) or "") for name in ("class", "id", "itemprop"))


def _begins_with_label(text: str) -> bool:
    """Whether a text says when something was published: `Publiziert am 3. März 2020`."""
    words = text[:MAX_LINE].split()[:_MAX_LABEL_WORDS]
    labels = _LABELS.phrases()
    return any(" ".join(words[:count]).rstrip(":").casefold() in labels for count in range(1, len(words) + 1))


def _line_of(element: HtmlElement) -> str:
    """The line of an element that contains a date, by its name or its first word; empty if it is another one."""
    if _is_dated(element):
        longest = MAX_LINE
    elif element.text and _begins_with_label(element.text):
        longest = _LABELLED_LINE
    else:
        return ""
    line = " ".join(element.text_content()[: 4 * MAX_LINE].split())
    return line if len(line) <= longest and _YEAR.search(line) else ""


def _is_elsewhere(element: HtmlElement) -> bool:
    """Whether an element is in a part of the page that is about other pages, or by readers."""
    for parent in islice((element, *element.iterancestors()), _MAX_ANCESTORS):
        names = [parent.get(name) or "" for name in ("class", "id")]
        if parent.tag in _OUTSIDE or any(map(_ELSEWHERE.search, names)):
            return True
        if parent.tag in ("body", "html") or any(map(_ARTICLE.search, names)):
            return False
    return False

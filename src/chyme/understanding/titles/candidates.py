"""Find the title of a document: in its properties, above its text, or at least in its file name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from chyme.files.machine_names import is_machine_made, without_extension
from chyme.files.name_words import name_to_words
from chyme.text.sentences import word_count
from chyme.text.unspaced_scripts import IDEOGRAPH
from chyme.understanding.classification.source_text import SourceText
from chyme.understanding.titles.cleanup import (
    clean_title,
    comparison_key,
    is_cut_off,
    is_file_name,
    is_junk,
    same_words,
    strip_program_name,
)
from chyme.understanding.titles.file_names import NAME, title_from_name
from chyme.understanding.titles.first_lines import BEGINNING, first_line
from chyme.understanding.titles.letter_titles import REPLIES, find_company
from chyme.understanding.titles.line_roles import is_issuing_body, is_no_title
from chyme.understanding.titles.opening_titles import title_from_opening
from chyme.understanding.titles.possible_title import Title
from chyme.understanding.titles.text_titles import title_from_generic_heading, titles_from_table, titles_from_text

__all__ = ["MIN_CONFIDENCE", "Title", "find_company", "find_titles", "first_line", "text_comparison_key"]

MIN_CONFIDENCE = 0.3  # a title with less is not worth showing
_MAIL = ("message/rfc822", "application/vnd.ms-outlook")
_GOOD = 0.7  # a heading or the largest lines
_SUBTITLE, _SUBTITLE_WORDS = re.compile(r"\s?[:–—-]\s"), 20
_EXPLICIT = 0.95  # written where a title belongs: used even if it is "test"
_DASH = re.compile(r"\s[-–—·:]\s(?=[^-–—·:]{2,40}$)")  # before the last part
_CUT_OFF = 0.3  # maximum for what ends in the middle of a sentence
_UNNAMED = re.compile(r"^[\s(\[]*(?:no subject|kein betreff|none|empty)?[\s)\]]*$", re.IGNORECASE)
_SITE = re.compile(r"(?<=\w{3})\W?(?:\s[|»]\s[^|»]{2,40}){1,3}$")


def find_titles(
    source: SourceText, name: str, mime: str, generator: str = "", topics: Sequence[str] = ()
) -> list[Title]:
    """All possible titles, the likeliest first. `topics` serve as the title of a recording that has none better."""
    stem = without_extension(name)
    candidates = [
        *_from_properties(source, mime, stem),
        *titles_from_text(source, mime),
        *titles_from_table(source, mime),
    ]
    if source.spoken and topics:
        spoken_about = ", ".join(topics[:3])
        candidates.append(Title(spoken_about, 0.4, source.where, spoken_about))
    candidates += [title_from_name(name, mime), *title_from_opening(source, mime)]
    cleaned = [_clean(title, source) for title in candidates]
    usable = [
        title
        for title in cleaned
        if title.confidence > 0
        and title.text
        and (title.confidence >= _EXPLICIT or title.where == NAME or not is_junk(title.text, generator))
    ]
    usable += title_from_generic_heading(source, mime, name)
    usable = [_complete_by_heading(title, usable) for title in usable]
    keys = [comparison_key(title.text) for title in usable]
    agreed = [_with_agreement(title, key, usable, keys) for title, key in zip(usable, keys, strict=True)]
    return sorted(agreed, key=lambda title: -title.confidence)


def _clean(title: Title, source: SourceText) -> Title:
    """The title cleaned up; unlikely if it ends in the middle of a sentence."""
    confidence = min(title.confidence, _CUT_OFF) if title.where != NAME and is_cut_off(title.text) else title.confidence
    return replace(title, text=clean_title(title.text, source.text, source.metadata.site), confidence=confidence)


def _from_properties(source: SourceText, mime: str, stem: str) -> Iterator[Title]:
    metadata = source.metadata
    title = strip_program_name(metadata.title.strip())
    if not title:
        return
    if mime in _MAIL:
        yield Title(REPLIES.sub("", title), 0.95 if not _UNNAMED.match(title) else 0.0, metadata.where, metadata.title)
        return
    confidence = {"url-metadata": 0.95, "media-preview": 0.8}.get(metadata.where, 0.92 if mime == "text/html" else 0.85)
    if title != metadata.title.strip():
        confidence -= 0.35  # the name of the file it was printed from
    if is_file_name(title) or same_words(title, stem):
        confidence = 0.38 if not is_machine_made(title) else 0.0
        title = name_to_words(without_extension(title))
    elif title[0].islower():
        confidence -= 0.3
    elif metadata.where == "properties" and source.text and not _occurs_in(title, source.text):
        confidence -= 0.25 if mime not in ("text/html", "application/epub+zip") else 0.1
    if mime == "text/html" or metadata.where == "url-metadata":
        title = _without_site(_SITE.sub("", title), source.text)
    if word_count(title) == 1 and mime != "application/epub+zip" and not IDEOGRAPH.search(title):
        confidence -= 0.2
    if metadata.where == "properties" and (is_issuing_body(title) or is_no_title(title)):
        confidence -= 0.3
    yield Title(title, confidence, metadata.where, metadata.title)


def _without_site(title: str, text: str) -> str:
    """The title without the name of the site after a dash, if the rest of it is in the text and the whole is not."""
    headline = _DASH.split(title)[0]
    is_shorter = headline != title and word_count(headline) > 1
    return headline if is_shorter and _occurs_in(headline, text) and not _occurs_in(title, text) else title


def _occurs_in(title: str, text: str) -> bool:
    return comparison_key(title) in text_comparison_key(text[:BEGINNING])


def text_comparison_key(text: str) -> str:
    """The form of a longer text in which titles are searched."""
    return "".join(filter(str.isalnum, text.casefold()))


def _complete_by_heading(title: Title, others: Sequence[Title]) -> Title:
    """A title of the properties with the subtitle that the text gives it: `Inverted honour: a reading of …`."""
    if title.where != "properties":
        return title
    start = title.text.casefold()
    for other in others:
        rest = other.text[len(start) :]
        if (
            other.where not in ("properties", NAME)
            and other.confidence >= _GOOD
            and other.text.casefold().startswith(start)
            and _SUBTITLE.match(rest)
            and word_count(rest) <= _SUBTITLE_WORDS
        ):
            return replace(title, text=other.text)
    return title


def _with_agreement(title: Title, key: str, others: Sequence[Title], keys: Sequence[str]) -> Title:
    """The title, with a higher confidence if another place gives the same one."""
    for other, other_key in zip(others, keys, strict=True):
        if title.where == NAME and key == other_key:
            continue  # the text spells it better
        if other.where != title.where and min(len(key), len(other_key)) > 7 and (key in other_key or other_key in key):
            return replace(title, confidence=min(0.98, title.confidence + 0.1))
    return title

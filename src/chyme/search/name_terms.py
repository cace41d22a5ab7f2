"""The fields by which a file is found besides its text, as the index reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from chyme.search.query.spelling import words_of
from chyme.text.unspaced_scripts import segment

_WORD_BOUNDARIES = re.compile(r"(?<=[a-zà-ÿ])(?=[A-ZÀ-Þ])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")


@dataclass(frozen=True, slots=True)
class NameTerms:
    """Name, title, tags and summary ready for the index, and their words."""

    name: str
    title: str
    tags: str
    summary: str
    words: tuple[str, ...]


def name_terms(name: str, title: str | None, tags: Iterable[str], summary: str | None) -> NameTerms:
    """Prepare these fields. HolidayPhotos2024.jpg is also found as holiday, photos and 2024."""
    split_name = _WORD_BOUNDARIES.sub(" ", name)
    full_name = name if split_name == name else f"{name} {split_name}"
    texts = [full_name, title or "", " ".join(tags), summary or ""]
    name_, title_, tags_, summary_ = (segment(text) or text for text in texts)
    return NameTerms(name_, title_, tags_, summary_, tuple(sorted(words_of([split_name, *texts[1:]]))))

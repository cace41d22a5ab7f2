"""What a file can be found by besides its text, in the form the index reads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from chyme.search.query.spelling import words_of
from chyme.text.unspaced_scripts import segment

_JOINTS = re.compile(r"(?<=[a-zà-ÿ])(?=[A-ZÀ-Þ])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")


@dataclass(frozen=True, slots=True)
class NameTerms:
    """Name, title, tags and summary ready for the index, and their words."""

    name: str
    title: str
    tags: str
    summary: str
    words: tuple[str, ...]


def name_terms(name: str, title: str | None, tags: Iterable[str], summary: str | None) -> NameTerms:
    """HolidayPhotos2024.jpg is also found as holiday, photos and 2024."""
    taken_apart = _JOINTS.sub(" ", name)
    full_name = name if taken_apart == name else f"{name} {taken_apart}"
    texts = [full_name, title or "", " ".join(tags), summary or ""]
    name_, title_, tags_, summary_ = (segment(text) or text for text in texts)
    return NameTerms(name_, title_, tags_, summary_, tuple(sorted(words_of([taken_apart, *texts[1:]]))))

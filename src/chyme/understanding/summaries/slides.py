"""Describe slides by their topic and the titles of the slides, or by what the first ones say."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chyme.text.markdown_blocks import BlockType
from chyme.understanding.classification.source_text import SourceText
from chyme.understanding.summaries.facts import Composed, DocumentFacts
from chyme.understanding.summaries.refusals import has_refused_phrase, is_filler
from chyme.understanding.summaries.wording import (
    end_sentence,
    is_slides,
    join_names,
    name_day,
    name_kind,
    name_subject,
)
from chyme.understanding.titles.cleanup import same_words

_MIN_TITLES = 2  # slide titles that tell what slides are about
_MAX_BLOCKS = 100
_POINT_LENGTH = 90  # characters of a line that may be listed as a point
_LETTER = re.compile(r"[^\W\d_]")


def describe_slides(source: SourceText, facts: DocumentFacts, titles: Sequence[str]) -> Composed | None:
    """`A presentation about “Heat pumps”: Why now?; What it costs.` `titles` are those of the other slides."""
    if not is_slides(facts.mime):
        return None
    parts = list(titles) if len(titles) >= _MIN_TITLES else _points(source, facts)
    subject = name_subject(facts, "presentation")
    if not (subject or parts):
        return None
    listing = f": {join_names(parts, '; ')}" if parts else ""
    return Composed(end_sentence(f"{name_kind(facts)}{name_day(facts.day)}{subject}{listing}"), 0.5)


def _points(source: SourceText, facts: DocumentFacts) -> list[str]:
    """The first lines of the slides, titles included."""
    found = [
        block.text.rstrip(" .;:,")
        for block in source.blocks[:_MAX_BLOCKS]
        if block.sort not in (BlockType.ASIDE, BlockType.MENU)
        and len(block.text) <= _POINT_LENGTH
        and len(_LETTER.findall(block.text)) > max(2, len(block.text) // 2)
        and not same_words(block.text, facts.title or "")
        and not has_refused_phrase(block.text)
        and not is_filler(block.text)
    ]
    return list(dict.fromkeys(found))

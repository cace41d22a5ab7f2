"""Which tags to propose for a file: those of its classification, or else what its texts are about."""

from __future__ import annotations

from collections.abc import Mapping

from chyme.model import Upstream
from chyme.text.digest_text import extract_text
from chyme.text.function_words import language_of
from chyme.text.markdown_blocks import blocks_of
from chyme.understanding.classification.result import MOST_TAGS, Classification
from chyme.understanding.classification.source_text import read_json, running_text
from chyme.understanding.tags.digest import TagDigest
from chyme.understanding.tags.names import split_tags
from chyme.understanding.tags.topics import find_topics

RULES_VERSION = 2  # raise it when the same texts give other tags
CLASSIFICATION, GENERATED = "classification", "generated"
OBJECTS_OUTPUT = "image-objects"
SURE = 0.5  # from which on something seen in a picture is worth a tag
MOST_THINGS = 5  # in a picture: who sees twenty cups has not said twenty things about it
_LONG = ("file", "url-crawl-content", "doc-to-markdown", "image-ocr", "speech-recognition")
_SAMPLE = 5000  # characters by which a language is told


def propose_tags(classified: Classification | None, texts: Mapping[str, str]) -> TagDigest | None:
    """Up to ten tags, normalised; None when there are none. `texts`: outputs as they stand, and the file's own."""
    things = _things(texts.get(OBJECTS_OUTPUT))
    if classified is not None and (told := split_tags(tag for tag in classified.tags if isinstance(tag, str))):
        tags = split_tags([*told, *things])
        return TagDigest(tuple(tags), CLASSIFICATION, tuple(tags))
    title, language = (classified.title, classified.language) if classified else (None, None)
    scored: list[tuple[float, str]] = []
    for name, content in texts.items():
        if name == OBJECTS_OUTPUT or not content.strip():
            continue
        text = running_text(name, content) if name in _LONG else extract_text(Upstream(name, content)).text
        found = find_topics(blocks_of(text), title, language or language_of(text[:_SAMPLE]), MOST_TAGS)
        scored += [(topic.score, topic.tag) for topic in found]
    scored.sort(key=lambda one: -one[0])
    tags = split_tags([*things, *(tag for _, tag in scored)])
    return TagDigest(tuple(tags), GENERATED, tuple(tags)) if tags else None


def _things(content: str | None) -> list[str]:
    """What is surely seen in a picture, and what it was said to be about."""
    rows = read_json(content).get("objects")
    names: list[str] = []
    more: list[str] = []
    for thing in rows if isinstance(rows, list) else ():
        if not isinstance(thing, dict):
            continue
        confidence = thing.get("confidence")
        if isinstance(confidence, int | float) and confidence < SURE:
            continue
        name, tags = thing.get("name"), thing.get("tags")
        names += [name] if isinstance(name, str) else []
        more += [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    return split_tags([*names, *more], MOST_THINGS)

"""Choose the tags to propose for a file: those of its classification, or else the topics of its texts."""

from __future__ import annotations

from collections.abc import Mapping

from chyme.text.function_words import language_of
from chyme.text.markdown_blocks import blocks_of
from chyme.understanding.classification.result import Classification
from chyme.understanding.classification.source_text import read_json, readable_text, running_text
from chyme.understanding.tags.digest import TagDigest
from chyme.understanding.tags.names import split_tags
from chyme.understanding.tags.topics import find_topics

RULES_VERSION = 5  # raise it when the same texts give other tags
CLASSIFICATION, GENERATED = "classification", "generated"
OBJECTS_OUTPUT = "image-objects"
SURE = 0.5  # confidence that an object in a picture needs to become a tag
MAX_OBJECTS = 5  # objects in a picture that become tags: twenty of them would not be twenty topics
MAX_GENERATED = 4  # topics of a text whose classification found none
_LONG_TEXTS = ("file", "url-crawl-content", "doc-to-markdown", "image-ocr", "speech-recognition")
_SAMPLE = 5000  # characters by which the language is detected


def propose_tags(classified: Classification | None, texts: Mapping[str, str]) -> TagDigest | None:
    """Up to ten normalised tags; None if there are none. `texts` are the raw outputs and the file's own text."""
    objects = _object_tags(texts.get(OBJECTS_OUTPUT))
    if classified is not None and (given := split_tags(tag for tag in classified.tags if isinstance(tag, str))):
        tags = split_tags([*given, *objects])
        return TagDigest(tuple(tags), CLASSIFICATION, tuple(tags))
    title, language = (classified.title, classified.language) if classified else (None, None)
    scored: list[tuple[float, str]] = []
    for name, content in texts.items():
        if name == OBJECTS_OUTPUT or not content.strip():
            continue
        text = running_text(name, content) if name in _LONG_TEXTS else readable_text(name, content)
        found = find_topics(blocks_of(text), title, language or language_of(text[:_SAMPLE]), MAX_GENERATED)
        scored += [(topic.score, topic.tag) for topic in found]
    scored.sort(key=lambda entry: -entry[0])
    tags = split_tags([*objects, *(tag for _, tag in scored)])
    return TagDigest(tuple(tags), GENERATED, tuple(tags)) if tags else None


def _object_tags(content: str | None) -> list[str]:
    """The objects surely seen in a picture, and the tags given to them."""
    rows = read_json(content).get("objects")
    names: list[str] = []
    extra: list[str] = []
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict):
            continue
        confidence = row.get("confidence")
        if isinstance(confidence, int | float) and confidence < SURE:
            continue
        name, tags = row.get("name"), row.get("tags")
        names += [name] if isinstance(name, str) else []
        extra += [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    return split_tags([*names, *extra], MAX_OBJECTS)

"""Put the kind and the title of a document before a sentence that does not say what the document is about."""

from __future__ import annotations

from chyme.text.function_words import empty_words
from chyme.text.markdown_blocks import BlockType
from chyme.text.sentences import terms_of, word_count
from chyme.understanding.classification.source_text import SourceText
from chyme.understanding.summaries.facts import DocumentFacts
from chyme.understanding.summaries.refusals import is_complete
from chyme.understanding.summaries.wording import name_author, name_day, name_kind, name_subject
from chyme.understanding.titles.cleanup import same_words

_FIRST_BLOCKS, _SENTENCE_WORDS = 60, 8
MAX_INTRODUCED = 360  # characters of both together
_KNOWN_SHARE = 0.3  # of the title's words that a sentence has if it speaks of the title's subject
_MAIN_SHARE = 0.6  # the same of what stands before the colon of a title


def is_section_heading(source: SourceText, title: str) -> bool:
    """Whether a title is rather the heading of a later section: an earlier section has sentences before it."""
    if not title or same_words(source.metadata.title, title):
        return False
    is_headed = has_prose = False
    for block in source.blocks[:_FIRST_BLOCKS]:
        if same_words(block.text, title):
            return has_prose and block.sort is BlockType.HEADING
        if block.sort is BlockType.HEADING:
            is_headed = True
        elif block.sort is BlockType.PARAGRAPH and is_headed:
            has_prose = has_prose or (word_count(block.text) >= _SENTENCE_WORDS and is_complete(block.text))
    return False


def introduce(sentence: str, facts: DocumentFacts) -> str:
    """`A page called “Water on a distant moon”: The find was made with a telescope on Hawaii.`

    A sentence that speaks of the title's subject stays as it is.
    """
    head = "" if facts.kind != "letter" and speaks_of_title(sentence, facts) else _name_document(facts)
    introduced = f"{head}: {sentence}"
    return introduced if head and len(introduced) <= MAX_INTRODUCED else sentence


def _name_document(facts: DocumentFacts) -> str:
    """What the document is, with its title, its sender or its author; empty if that would say nothing."""
    title = facts.title if facts.title and facts.is_named else ""
    if facts.kind == "cv":
        return f"A CV of {title}" if title else ""
    if facts.kind == "letter" and facts.sender:
        return f"A letter from {facts.sender}{name_day(facts.day)}"
    if not title or facts.kind == "letter":
        return ""
    subject = name_subject(facts, facts.kind)
    author = name_author(facts.author) if facts.kind == "book" else ""
    return f"{name_kind(facts)}{author}{subject}" if subject else ""


def speaks_of_title(sentence: str, facts: DocumentFacts) -> bool:
    """Whether a sentence has enough of the title's words to be understood without the title."""
    empty = empty_words(facts.language)
    said, title = frozenset(terms_of(sentence, empty)), facts.title or ""
    named, main = (frozenset(terms_of(text, empty)) for text in (title, title.partition(": ")[0]))
    return len(named & said) >= _KNOWN_SHARE * len(named) or (
        main < named and len(main & said) >= _MAIN_SHARE * len(main)
    )

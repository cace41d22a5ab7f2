"""Tell the kind of a document from its format and its shape: a list, a table, a form, slides, verse, an article."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from chyme.files.extensions import ARCHIVES
from chyme.text.function_words import function_words, language_of, words_in
from chyme.text.markdown_blocks import Block, BlockType
from chyme.understanding.classification.code_texts import is_code_text
from chyme.understanding.classification.data_descriptions import parse_markdown_table
from chyme.understanding.classification.literary_forms import is_fiction, is_verse
from chyme.understanding.classification.sample_texts import is_named_test, is_placeholder_text, is_test_text
from chyme.understanding.classification.source_text import SourceText

if TYPE_CHECKING:
    from chyme.documents.properties.reader import Properties

PLACEHOLDER, TEST, TEST_MESSAGE, BOUNCE = "placeholder text", "test document", "test message", "delivery failure"
_POEM, _FICTION, _MULTILINGUAL, _CODE, _STAMP = "poem", "fiction", "multilingual", "source code", "stamp"
WITHOUT_TOPICS = frozenset(  # what recurs is no subject
    {PLACEHOLDER, TEST, TEST_MESSAGE, BOUNCE, _POEM, _FICTION, _CODE, _STAMP}
)
_FORMATS = frozenset({"e-mail", "book", "presentation", "spreadsheet", "table"})  # kinds that the format alone tells
_BY_MIME = {
    "application/json": "structured data",
    "application/jsonl": "structured data",
    "application/xml": "structured data",
    "application/geo+json": "map data",
    "application/vnd.google-earth.kml+xml": "map data",
    "application/gpx+xml": "gps track",
    "application/rss+xml": "news feed",
    "application/atom+xml": "news feed",
    "application/yaml": "configuration",
    "application/toml": "configuration",
    "text/x-bibtex": "bibliography",
    "text/x-diff": "patch",
    **dict.fromkeys(ARCHIVES, "archive"),
}
_BLOCKS, _HEAD = 200, 6_000  # blocks that are looked at, and characters in which signs are counted
_MIN_BOXES, _MIN_BLANKS, _MIN_FIELDS = 4, 4, 3  # to tick, to write on, to fill in, of a form
_BOX = re.compile(r"[☐☑☒□]|\[[ xX]\](?!\()")
_BLANK = re.compile(r"(?:\\?_){4,}|\.{10,}|…{4,}")
_CONTENTS_LINE = re.compile(r"[.…]{4,}\s?\d{1,3}\b")  # a line of a table of contents
_PICTURE = re.compile(r"!\[[^\[\]]{0,300}\]\([^()]{0,2000}\)")
_MIN_ITEMS, _LIST_SHARE, _TABLE_SHARE = 3, 0.5, 0.4
_LIST_PROSE, _ITEM_WORDS = 0.25, 16  # share of the words of a list that are in sentences of so many words
_ONLY_STAMP = re.compile(  # the stamps that programs for PDFs offer
    r"\s*> (?:[^:\n]{1,60}: )?(?:(?:not )?approved|draft|final|confidential|experimental|expired|sold|departmental"
    r"|as is|top secret|for comment|(?:not )?for public release|completed|void|rejected|accepted|received|reviewed"
    r"|revised)[.!]?\s*",
    re.IGNORECASE,
)
_CHART_DATA = re.compile(r"\| Series 1 \|(?:[^\n]{0,300}\n){1,3}\| Category 1 \|")  # default data of an Office chart
_CHART_WORDS = 60  # words of a page that shows little else than a chart
_LIST_WORDS = 1_500  # a longer text that consists of items is a book of rules or the like
_MIN_PROSE, _PROSE_WORDS, _PROSE_SHARE, _LONG_PARAGRAPH = 3, 120, 0.6, 20
_SLIDE_PROGRAMS = ("impress", "powerpoint", "keynote", "beamer")
_MIN_SLIDES, _SLIDE_WORDS = 3, 90  # wide pages, and words on each, of a presentation
_ENCYCLOPEDIAS = ("From Wikipedia, the free encyclopedia", "Aus Wikipedia, der freien Enzyklopädie", "Wikipedia®")
_MAIL_HEAD = 2_000  # characters in which an e-mail names its sender and its subject
_FIELD = r"^\*\*{}(?::\*\*|\*\*:) .{{0,120}}?"
_BOUNCED = re.compile(
    rf"{_FIELD.format('From')}(?:mailer-daemon|postmaster|mail delivery)|{_FIELD.format('Subject')}(?:undeliver"
    r"|delivery (?:status notification|failure|report)|returned mail|failure notice|mail delivery failed)",
    re.IGNORECASE | re.MULTILINE,
)
_NOTIFIED = re.compile(
    rf"{_FIELD.format('From')}(?:no-?_?reply|do-?not-?reply|notifications?@|alerts?@|notify@)",
    re.IGNORECASE | re.MULTILINE,
)
_MIN_LANGUAGE_WORDS, _LANGUAGE_SHARE = 25, 0.1  # words, and their share of a text, that are in a language
_FEW_WORDS, _LANGUAGE_SAMPLE = 6, 1_000  # words of a block, too few to tell its language, and characters enough for it
_FUNCTION_WORDS = 0.3  # share of them in a sentence; lists of names have fewer


def shape_tags(
    source: SourceText,
    title: str | None,
    name: str,
    mime: str,
    known: Sequence[str],
    properties: Properties | None = None,
) -> Iterator[tuple[str, float]]:
    """Tags for the kind of a document that its words do not name, with confidences.

    `title` is the one in the document, `name` the file's, `known` are the kinds found by other means.
    """
    if kind := _BY_MIME.get(mime):
        yield kind, 0.9
        return
    blocks = [block for block in source.blocks[:_BLOCKS] if block.sort is not BlockType.MENU]
    if is_placeholder_text(blocks, title):
        yield PLACEHOLDER, 0.9
        return
    if _ONLY_STAMP.fullmatch(source.text):
        yield _STAMP, 0.8
        return
    if mime == "text/plain" and not known and is_code_text(source.text):
        yield _CODE, 0.8
        return
    is_mail = "e-mail" in known
    if is_mail:
        yield from _mail_kinds(source.whole[:_MAIL_HEAD])
    elif not known and (kind := _layout_kind(source, title, properties)):
        yield kind, 0.7
        known = [kind]
    if is_test_text(source.blocks, title) or (_FORMATS.issuperset(known) and is_named_test(source.blocks, name)):
        yield (TEST_MESSAGE if is_mail else TEST), 0.7
    elif kind := _writing_kind(source, title, name, mime, known):
        yield kind, 0.7
        known = known if kind == "web page" else [*known, kind]
    if not known and (kind := _main_part(blocks, source.text)):
        yield kind, 0.7
    if len(_languages_of(blocks)) > 1:
        yield _MULTILINGUAL, 0.7


def _mail_kinds(head: str) -> Iterator[tuple[str, float]]:
    """What programs send."""
    if _BOUNCED.search(head):
        yield BOUNCE, 0.8
    elif _NOTIFIED.search(head):
        yield "notification", 0.8


def _layout_kind(source: SourceText, title: str | None, properties: Properties | None) -> str:
    """A form to fill in, slides, which are wide and have few words, or a letter."""
    if properties and properties.fields >= _MIN_FIELDS:
        return "form"
    if properties and properties.wide_pages:
        is_sparse = source.whole.count(" ") < _SLIDE_WORDS * properties.wide_pages
        is_made_so = any(program in properties.generator.lower() for program in _SLIDE_PROGRAMS)
        if is_made_so or (properties.wide_pages >= _MIN_SLIDES and is_sparse):
            return "presentation"
    head = source.text[:_HEAD]
    if len(_BOX.findall(head)) >= _MIN_BOXES:
        return "checklist"
    if len(_BLANK.findall(_CONTENTS_LINE.sub("", head))) >= _MIN_BLANKS:
        return "form"
    return "letter" if title and title.startswith("Letter from ") else ""  # what letters without a subject are called


def _writing_kind(source: SourceText, title: str | None, name: str, mime: str, known: Sequence[str]) -> str:
    """How it is written: as an article, a poem, a novel."""
    if not known and name.lower().startswith("readme"):
        return "readme"
    if not known and _is_encyclopedia(title or "", source.text):
        return "encyclopedia article"
    if not known and (mime in ("text/html", "application/xhtml+xml") or source.where == "url-crawl-content"):
        return "article" if title and _is_article(source.blocks[:_BLOCKS]) else "web page"
    if not known and is_verse(source.text):
        return _POEM
    return _FICTION if all(kind == "book" for kind in known) and is_fiction(source.blocks) else ""


def _is_encyclopedia(title: str, text: str) -> bool:
    ends = text[:3_000], text[-4_000:]
    return title.endswith("Wikipedia") or any(sign in end for sign in _ENCYCLOPEDIAS for end in ends)


def _is_article(blocks: Sequence[Block]) -> bool:
    """Whether most of a page is paragraphs of several sentences."""
    counts = [len(block.text.split()) for block in blocks if block.sort is BlockType.PARAGRAPH]
    prose = [count for count in counts if count >= _LONG_PARAGRAPH]
    others = sum(len(block.text.split()) for block in blocks if block.sort is not BlockType.MENU) - sum(prose)
    return len(prose) >= _MIN_PROSE and sum(prose) >= _PROSE_WORDS and sum(prose) >= _PROSE_SHARE * others


def _main_part(blocks: Sequence[Block], text: str) -> str:
    """What most of the text consists of, if it is no prose."""
    lengths = {sort: sum(len(block.text) for block in blocks if block.sort is sort) for sort in BlockType}
    items = sum(block.sort is BlockType.ITEM for block in blocks)
    whole = sum(lengths.values())
    if not whole:
        return "picture" if _PICTURE.search(text) else ""
    words = {sort: sum(len(block.text.split()) for block in blocks if block.sort is sort) for sort in BlockType}
    if _CHART_DATA.search(text[:_HEAD]) and words[BlockType.PARAGRAPH] < _CHART_WORDS:
        return "chart"
    if lengths[BlockType.ASIDE] > _TABLE_SHARE * whole and parse_markdown_table(text):
        return "table"
    is_short = sum(words.values()) < _LIST_WORDS
    if items >= _MIN_ITEMS and is_short and lengths[BlockType.ITEM] >= _LIST_SHARE * whole:
        return "" if _has_prose(blocks) else "list"
    return ""


def _has_prose(blocks: Sequence[Block]) -> bool:
    """Whether many words are in long paragraphs or items of whole sentences: an essay with bullet points is no list."""
    texts = [block.text.rstrip() for block in blocks if block.sort in (BlockType.PARAGRAPH, BlockType.ITEM)]
    prose = [len(text.split()) for text in texts if text.endswith((".", "!", "?"))]
    return sum(count for count in prose if count >= _ITEM_WORDS) > _LIST_PROSE * sum(
        len(text.split()) for text in texts
    )


def _languages_of(blocks: Sequence[Block]) -> frozenset[str]:
    """The languages in which a considerable share of the text is written, as far as their function words tell."""
    counts: dict[str, int] = {}
    total = 0
    for block in blocks[:40]:
        words = words_in(block.text[:_LANGUAGE_SAMPLE])
        total += len(words)
        language = language_of(" ".join(words)) if len(words) > _FEW_WORDS else None
        if language and sum(map(function_words(language).__contains__, words)) > _FUNCTION_WORDS * len(words):
            counts[language] = counts.get(language, 0) + len(words)
    least = max(_MIN_LANGUAGE_WORDS, _LANGUAGE_SHARE * total)
    return frozenset(code for code, count in counts.items() if count >= least)

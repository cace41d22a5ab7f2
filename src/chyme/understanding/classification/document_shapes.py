"""Tell the kind of a document from its shape: a list, a table, a form, verse, an article, placeholder or test text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from chyme.files.extensions import ARCHIVES
from chyme.text.function_words import function_words, language_of, words_in
from chyme.text.markdown_blocks import Block, BlockType
from chyme.text.word_lists import WordList
from chyme.understanding.classification.data_descriptions import parse_markdown_table
from chyme.understanding.classification.source_text import SourceText
from chyme.understanding.summaries.refusals import is_filler

if TYPE_CHECKING:
    from chyme.documents.properties.reader import Properties

PLACEHOLDER, TEST, TEST_MESSAGE = "placeholder text", "test document", "test message"
MULTILINGUAL, POEM, FICTION = "multilingual", "poem", "fiction"
WITHOUT_TOPICS = frozenset({PLACEHOLDER, TEST, TEST_MESSAGE, POEM, FICTION})  # what recurs in them is no subject
_WORDS = WordList(__package__, "shape_words")
_BLOCKS = 200  # blocks that are looked at
_HEAD = 6_000  # characters in which signs are counted
_TEST_WORDS = 250  # words of a text above which it is more than a test of a program
_SPARSE_WORDS = 120  # the same where only the file's name says that it is one
_FILLER_SAMPLE = 2_000
_MIN_BOXES, _MIN_BLANKS = 4, 4  # boxes to tick, and lines to write on, of a form
_MIN_ITEMS, _LIST_SHARE, _TABLE_SHARE = 3, 0.6, 0.4
_LIST_WORDS = 1_500  # a longer text that consists of items is a book of rules or the like
_MIN_PROSE, _PROSE_WORDS, _PROSE_SHARE, _LONG_PARAGRAPH = 4, 200, 0.6, 20
_MIN_VERSES, _VERSE_LENGTH, _MIN_VERSE, _VERSE_SHARE, _RHYME_SHARE = 8, 62, 8, 0.75, 0.35
_MIN_LANGUAGE_WORDS, _LANGUAGE_SHARE = 25, 0.1  # words, and their share of a text, that are in a language
_FEW_WORDS, _LANGUAGE_SAMPLE = 6, 1_000  # words of a block, too few to tell its language, and characters enough for it
_FUNCTION_WORDS = 0.3  # share of them in a sentence; lists of names have fewer
_BOX = re.compile(r"[☐☑☒□]|\[[ xX]\](?!\()")
_BLANK = re.compile(r"(?:\\?_){4,}|\.{10,}|…{4,}")
_CONTENTS_LINE = re.compile(r"[.…]{4,}\s?\d{1,3}\b")  # a line of a table of contents
_PICTURE = re.compile(r"!\[[^\[\]]{0,300}\]\([^()]{0,2000}\)")
_LINE_MARKUP = re.compile(r"^\s*(?:[|#>`*+•]|-\s|\d{1,3}[.)]\s|https?:|\[)")
_LAST_LETTERS = re.compile(r"([^\W\d_]{2})[^\w]*$")
_NAME_PARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\W_\d]+")
_SLIDE_PROGRAMS = ("impress", "powerpoint", "keynote", "beamer")
_MIN_SLIDES, _SLIDE_WORDS = 3, 90  # wide pages, and words on each, of a presentation
_MIN_SPEECHES, _SPEECH_SHARE = 4, 0.12  # paragraphs that begin with speech, and their share
_SPEECH_VERB = re.compile(
    r"\b(?:said|asked|replied|cried|answered|whispered|exclaimed|sagte|fragte|rief|antwortete|flüsterte|dit|demanda"
    r"|répondit|s['’]écria|dijo|preguntó|respondió|disse|chiese|rispose|zei|vroeg|antwoordde)\b"
)
_MAIL_HEAD = 2_000
_MAIL_KINDS = (
    (
        "delivery failure",
        re.compile(
            r"^\*\*From:?\*\*:? .{0,80}(?:mailer-daemon|postmaster|mail delivery)|^\*\*Subject:?\*\*:? (?:undeliver|"
            r"delivery (?:status notification|failure|report)|returned mail|failure notice|mail delivery failed)",
            re.IGNORECASE | re.MULTILINE,
        ),
    ),
    (
        "notification",
        re.compile(
            r"^\*\*From:?\*\*:? .{0,120}(?:no-?_?reply|do-?not-?reply|notifications?@|alerts?@|notify@)",
            re.IGNORECASE | re.MULTILINE,
        ),
    ),
)
_MIN_FIELDS = 3  # to fill in, of a form
_BY_MIME = {
    "application/json": "data",
    "application/jsonl": "data",
    "application/xml": "data",
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
    if properties and not known and (kind := _printed_kind(properties, source.whole)):
        yield kind, 0.7
        known = [kind]
    if not known and (kind := _fill_in_kind(source.text[:_HEAD])):
        yield kind, 0.7
        known = [kind]
    if not known and (title or "").startswith("Letter from "):  # what letters without a subject are called
        yield "letter", 0.6
        known = ["letter"]
    is_mail = "e-mail" in known
    if is_mail:
        yield from ((kind, 0.8) for kind, sign in _MAIL_KINDS if sign.search(source.whole[:_MAIL_HEAD]))
    if is_test_text(source, title, name):
        yield (TEST_MESSAGE if is_mail else TEST), 0.7
    elif is_web_page(source, mime) and not known:
        yield _page_kind(blocks, source.text), 0.8
    elif not known and name.lower().startswith("readme"):
        yield "readme", 0.9
    elif not known and is_verse(source.text):
        yield POEM, 0.6
    elif is_fiction(blocks, known):
        yield FICTION, 0.6
    if not (is_mail or known) and (kind := _main_part(blocks, source.text)):
        yield kind, 0.7
    if len(_languages_of(blocks)) > 1:
        yield MULTILINGUAL, 0.7


def is_web_page(source: SourceText, mime: str) -> bool:
    return mime in ("text/html", "application/xhtml+xml") or source.where == "url-crawl-content"


def is_placeholder_text(blocks: Sequence[Block], title: str | None = None) -> bool:
    """Whether a text only fills the page: lorem ipsum, or sentences that say so."""
    sample = " ".join(block.text[:400] for block in blocks[:20])
    if is_filler((sample + (title or ""))[:_FILLER_SAMPLE]):
        return True
    return sum(phrase in sample.lower() for phrase in _WORDS.sections["placeholder phrases"]) > 1


def is_test_text(source: SourceText, title: str | None, name: str) -> bool:
    """Whether a short text says that it is a test, a sample or an example, or its name and a sparse text do."""
    words = sum(len(block.text.split()) for block in source.blocks[:_BLOCKS])
    if not 0 < words <= _TEST_WORDS:
        return False
    first = " ".join(block.text[:200] for block in source.blocks[:4])
    if _test_title().search(title or "") or _test_sentence().search(first):
        return True
    parts = [part.lower() for part in _NAME_PARTS.split(name.rpartition(".")[0]) if part]
    formats = _WORDS.words("formats")
    tests = _WORDS.words("test words")
    return words <= _SPARSE_WORDS and any(
        part in tests and (at in (0, len(parts) - 1) or parts[at + 1] in formats) for at, part in enumerate(parts)
    )


def is_verse(text: str) -> bool:
    """Whether a text is written in short lines that rhyme."""
    lines = [line.strip() for line in text[:_HEAD].split("\n") if line.strip() and not _LINE_MARKUP.match(line)]
    short = [line for line in lines if _MIN_VERSE <= len(line) <= _VERSE_LENGTH]
    if len(short) < _MIN_VERSES or len(short) < _VERSE_SHARE * len(lines):
        return False
    capitals = sum(line.lstrip("\"'“„«—–- ")[:1].isupper() for line in short)
    digits = sum(any(map(str.isdecimal, line)) for line in short)
    ends = [match[1].lower() if (match := _LAST_LETTERS.search(line)) else "" for line in short]
    rhymes = sum(bool(end) and end in (ends[at + 1 : at + 3]) for at, end in enumerate(ends))
    distinct = len(set(short)) > 0.7 * len(short)
    return distinct and capitals >= _VERSE_SHARE * len(short) and not digits and rhymes >= _RHYME_SHARE * len(short)


def is_fiction(blocks: Sequence[Block], known: Sequence[str]) -> bool:
    """Whether people speak in it as in a novel: paragraphs begin with a quotation mark, and verbs of speech follow."""
    if any(kind != "book" for kind in known):
        return False
    paragraphs = [block.text for block in blocks if block.sort is BlockType.PARAGRAPH]
    spoken = [text for text in paragraphs if text[:1] in '"“„«»‘' and len(text) > 1]
    if len(spoken) < max(_MIN_SPEECHES, _SPEECH_SHARE * len(paragraphs)):
        return False
    return len(_SPEECH_VERB.findall(" ".join(paragraphs))) >= _MIN_SPEECHES - 1


def _printed_kind(properties: Properties, text: str) -> str:
    """What a PDF was made from or for: a form to fill in, or slides, which are wide and have few words."""
    if properties.fields >= _MIN_FIELDS:
        return "form"
    program = properties.generator.lower()
    if any(name in program for name in _SLIDE_PROGRAMS):
        return "presentation"
    is_sparse = text.count(" ") < _SLIDE_WORDS * properties.wide_pages
    return "presentation" if properties.wide_pages >= _MIN_SLIDES and is_sparse else ""


def _fill_in_kind(head: str) -> str:
    """Whether there is much to tick or to write on."""
    if len(_BOX.findall(head)) >= _MIN_BOXES:
        return "checklist"
    return "form" if len(_BLANK.findall(_CONTENTS_LINE.sub("", head))) >= _MIN_BLANKS else ""


def _page_kind(blocks: Sequence[Block], text: str) -> str:
    if any(sign in text[:3_000] or sign in text[-4_000:] for sign in _WORDS.sections["encyclopedias"]):
        return "encyclopedia article"
    counts = [len(block.text.split()) for block in blocks if block.sort is BlockType.PARAGRAPH]
    prose = [count for count in counts if count >= _LONG_PARAGRAPH]
    others = sum(len(block.text.split()) for block in blocks) - sum(prose)
    is_article = len(prose) >= _MIN_PROSE and sum(prose) >= _PROSE_WORDS and sum(prose) >= _PROSE_SHARE * others
    return "article" if is_article else "web page"


def _main_part(blocks: Sequence[Block], text: str) -> str:
    """What most of the text consists of, if it is no prose."""
    lengths = {sort: sum(len(block.text) for block in blocks if block.sort is sort) for sort in BlockType}
    items = sum(block.sort is BlockType.ITEM for block in blocks)
    whole = sum(lengths.values())
    if not whole:
        return "picture" if _PICTURE.search(text) else ""
    if lengths[BlockType.ASIDE] > _TABLE_SHARE * whole and parse_markdown_table(text):
        return "table"
    words = sum(len(block.text.split()) for block in blocks)
    if items >= _MIN_ITEMS and words < _LIST_WORDS and lengths[BlockType.ITEM] >= _LIST_SHARE * whole:
        return "list"
    return ""


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


@cache
def _test_title() -> re.Pattern[str]:
    tests, things = (_alternatives(section) for section in ("test words", "things"))
    return re.compile(
        rf"^(?:\w+ )?(?:{tests})\b(?! (?:results?|scores?|drive|reports?|plan)\b)"
        rf"|\b(?:{tests})(?: [\w-]+)?(?: (?:{things}))?\W*$",
        re.IGNORECASE,
    )


@cache
def _test_sentence() -> re.Pattern[str]:
    tests, things = (_alternatives(section) for section in ("test words", "things"))
    phrases = "|".join(map(re.escape, _WORDS.sections["test phrases"]))
    return re.compile(rf"\b(?:{tests}) (?:\w+ )?(?:{things})\b|{phrases}", re.IGNORECASE)


def _alternatives(section: str) -> str:
    return "|".join(sorted(_WORDS.words(section), key=lambda word: (-len(word), word)))

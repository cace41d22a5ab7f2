"""Recognise texts that say nothing: placeholder text, and documents made to test a program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from chyme.text.markdown_blocks import Block
from chyme.text.word_lists import WordList
from chyme.understanding.summaries.refusals import is_filler

_WORDS = WordList(__package__, "sample_texts")
_BLOCKS = 200  # blocks whose words are counted
_MAX_WORDS = 250  # words above which a text is more than a test of a program
_SPARSE = 120  # the same where only the file's name says that it is one
_SAMPLE = 2_000  # characters by which placeholder text is recognised
_LETTERS = 12  # characters that are about a word in a script without spaces
_NAME_PARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\W_\d]+")


def is_placeholder_text(blocks: Sequence[Block], title: str | None = None) -> bool:
    """Whether a text only fills the page: lorem ipsum, or sentences that say so."""
    sample = " ".join(block.text[:400] for block in blocks[:20])
    if is_filler((sample + (title or ""))[:_SAMPLE]):
        return True
    lower = sample.lower()
    return sum(phrase in lower for phrase in _WORDS.sections["placeholder phrases"]) > 1


def is_test_text(blocks: Sequence[Block], title: str | None) -> bool:
    """Whether its title says that it is a test document, or a short text says that it is a test or a sample."""
    if title and _test_thing().search(title):
        return True
    if not 0 < _count_words(blocks) <= _MAX_WORDS:
        return False
    if sum(_tested().match(block.text) is not None for block in blocks[:_BLOCKS]) > 1:
        return True
    first = " ".join(block.text[:200] for block in blocks[:4])
    return bool(_test_title().search(title or "") or _test_sentence().search(first))


def is_named_test(blocks: Sequence[Block], name: str) -> bool:
    """Whether a file with hardly any text is called a test: `test.docx`, `testPDF_links.pdf`."""
    parts = [part.lower() for part in _NAME_PARTS.split(name.rpartition(".")[0]) if part]
    tests, formats, real = (_WORDS.words(section) for section in ("test words", "formats", "real tests"))
    return 0 < _count_words(blocks) <= _SPARSE and any(
        part in tests
        and (at in (0, len(parts) - 1) or parts[at + 1] in formats)
        and real.isdisjoint(parts[max(at - 1, 0) : at])
        for at, part in enumerate(parts)
    )


def _count_words(blocks: Sequence[Block]) -> int:
    return sum(max(len(block.text.split()), len(block.text) // _LETTERS) for block in blocks[:_BLOCKS])


@cache
def _test_thing() -> re.Pattern[str]:
    """`Test document`, `sample page`: what a title calls nothing else."""
    thing = rf"(?:{_words('test words')}) (?:{_words('things')})"
    return re.compile(rf"\b{thing}\W*$|^(?:\d+\w* )?{thing}\b", re.IGNORECASE)


@cache
def _test_title() -> re.Pattern[str]:
    tests = _words("test words")
    return re.compile(
        rf"^(?:(?:{_words('before tests')}|\d+\w*) )?(?:{tests})\b(?! (?:{_words('after tests')})\b)"
        rf"|(?<!\w)(?!(?:{_words('real tests')}) )[\w-]+ (?:{tests})(?: (?:{_words('things')}))?\W*$",
        re.IGNORECASE,
    )


@cache
def _tested() -> re.Pattern[str]:
    """`Testing links:`, `Test of links`: a part that says what is tested."""
    return re.compile(r"(?:testing [\w-]+(?: [\w-]+)?:|test of )", re.IGNORECASE)


@cache
def _test_sentence() -> re.Pattern[str]:
    phrases = "|".join(map(re.escape, _WORDS.sections["test phrases"]))
    return re.compile(
        rf"\b(?:{_words('test words')}) (?:\w+ )?(?:{_words('things')})\b|\b(?:{phrases})\b", re.IGNORECASE
    )


def _words(section: str) -> str:
    return "|".join(sorted(_WORDS.words(section), key=lambda word: (-len(word), word)))

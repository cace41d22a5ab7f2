"""Titles by the size of print: the largest lines of the first page that name the work."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from chyme.text.sentences import word_count
from chyme.text.sized_lines import SizedLine
from chyme.understanding.titles.cleanup import is_address_or_list_line, is_company, is_junk
from chyme.understanding.titles.line_roles import (
    are_fields,
    ends_with_kind,
    has_letters,
    is_issuing_body,
    is_no_title,
    is_only_kind,
    is_salutation,
    is_torn,
    is_year_or_period,
    names_kind,
)
from chyme.understanding.titles.possible_title import Title, complete_kind, join_title_lines

_LARGE, _VERY_LARGE = 1.15, 1.5  # of the size of the running text
_LARGE_SCANNED = 1.35
_SAME, _SAME_SCANNED = 0.9, 0.72  # smallest share of the larger of two sizes that are the same
_ALIKE, _ALIKE_SCANNED = 0.97, 0.75  # share of the largest size from which on the first of two titles counts
_GAP, _GAP_SCANNED = 2.6, 3.2  # from one line of a title to the next, in sizes
_PARAGRAPH_GAP = 1.9  # from one line to the next, in sizes, where a paragraph ends
_NUMBERED = re.compile(r"\d{1,2}(?:\.\d{1,2})*\.?\s+\D")  # the heading of a section
_MAX_WORDS = 30
_TWO_SENTENCES = re.compile(r"[^\W\d_]{4,}[.!?]\s+[A-ZÄÖÜ]\w+(?:\s\S+){3}")
_MODEL = re.compile(r"^(?=[^\W\d_]+.*\d)[A-Z][\w/-]{1,14}$")
_SHORT_TITLE, _SUBTITLE_WORDS = 3, 4  # words of a title that a subtitle completes, and of that subtitle
_SUBTITLE = 0.6  # of the size of the title
_MAX_LINES = 6  # lines of a title
_LOW = 0.72  # of the page; titles stand above
_SHARE = 0.45  # confidence that goes with the size: a title half as large as the largest loses half of it


def titles_by_size(lines: Sequence[SizedLine], where: str) -> Iterator[Title]:
    """Blocks of large lines. None if all lines are about as large."""
    readable = [line for line in lines if has_letters(line.text) or is_year_or_period(line.text)]
    if not readable:
        return
    running = _running_size(readable)
    exact = readable[0].exact
    blocks = [block for block in _blocks(readable) if block[0].size >= running * (_LARGE if exact else _LARGE_SCANNED)]
    named = [(block, run) for block in blocks for run in _runs(block)]
    sizes = [block[0].size for block, run in named if not _is_sender(run)]
    largest = max(sizes, default=0.0)
    for block, run in named:
        texts = [line.text for line in run]
        text = join_title_lines(texts)
        words = word_count(text)
        if not 1 <= words <= _MAX_WORDS or is_junk(text) or are_fields(texts):
            continue
        first, last = readable.index(run[0]), readable.index(run[-1])
        before = [line.text for line in readable[max(0, first - 2) : first]]
        after = [line.text for line in readable[last + 1 : last + 4]]
        confidence = 0.9 if block[0].size >= _VERY_LARGE * running else 0.84
        share = min(1.0, block[0].size / largest) if largest else 1.0
        confidence -= _SHARE * (1 - share) if share < (_ALIKE if exact else _ALIKE_SCANNED) else 0.0
        confidence -= 0.04 * (not exact)
        confidence -= 0.4 * _is_sender(run)
        confidence -= (0.25 if exact else 0.4) * (
            len(text) < 6 or (words == 1 and not names_kind(text) and len(text) < 12)
        )
        confidence -= 0.2 * (len(text) < 4)
        confidence -= 0.4 * (bool(before) and is_company(before[-1]) and not ends_with_kind(text))  # its motto
        confidence -= 0.25 * is_torn(text) + 0.2 * (run[0].top > _LOW) + 0.15 * text.endswith((".", ","))
        confidence -= 0.05 * is_only_kind(text) + 0.5 * (_TWO_SENTENCES.search(text) is not None)
        whole = complete_kind(text, before, after)
        if whole == text and not _is_sender(run):
            whole = _with_model_and_subtitle(text, readable, first, last, running)
        yield Title(whole, confidence, where, " ".join(texts))


def _with_model_and_subtitle(text: str, lines: Sequence[SizedLine], first: int, last: int, running: float) -> str:
    """A title with the number of a model above it, and a short one with the large lines below it."""
    above = lines[first - 1] if first else None
    if above and _MODEL.match(above.text) and above.size >= lines[first].size:
        return f"{above.text} {text}"
    words = word_count(text)
    if words > _SHORT_TITLE:
        return text
    below = list(itertools.takewhile(lambda line: line.size >= _LARGE * running, lines[last + 1 : last + 4]))
    block = next(_blocks(below), [])
    if not block or block[0].size < _SUBTITLE * lines[last].size or _is_sender(block):
        return text
    subtitle = join_title_lines([line.text for line in block])
    is_work = word_count(subtitle) >= _SUBTITLE_WORDS or names_kind(subtitle) or words == 1
    if not is_work or is_no_title(subtitle) or is_junk(subtitle) or is_torn(subtitle):
        return text
    return f"{text}: {subtitle}"


def paragraphs_of(lines: Sequence[SizedLine]) -> list[str]:
    """The lines as text, with an empty line where there is a gap between them."""
    texts: list[str] = []
    previous: SizedLine | None = None
    for line in lines:
        if previous is not None and not 0 < line.top - previous.top <= _PARAGRAPH_GAP * max(line.size, previous.size):
            texts.append("")
        texts.append(line.text)
        previous = line
    return texts


def _is_sender(lines: Sequence[SizedLine]) -> bool:
    if all(is_issuing_body(line.text) or is_company(line.text) for line in lines):
        return True
    return len(lines) > 1 and is_issuing_body(join_title_lines([line.text for line in lines]))


def _running_size(lines: Sequence[SizedLine]) -> float:
    """The size that half of the letters do not exceed."""
    by_size = sorted((line.size, len(line.text)) for line in lines)
    half, count = sum(length for _, length in by_size) / 2, 0.0
    for size, length in by_size:
        count += length
        if count >= half:
            return size
    return by_size[-1][0]


def _blocks(lines: Sequence[SizedLine]) -> Iterator[list[SizedLine]]:
    """Lines of the same size below one another."""
    block: list[SizedLine] = []
    for line in lines:
        if block and not _belongs(line, block):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _belongs(line: SizedLine, block: Sequence[SizedLine]) -> bool:
    previous = block[-1]
    exact = line.exact
    smaller, larger = sorted((line.size, block[0].size))
    near = (
        line.top - previous.top <= (_GAP if exact else _GAP_SCANNED) * larger and line.top >= previous.top - larger / 2
    )
    if _NUMBERED.match(line.text):
        return False
    return near and smaller >= (_SAME if exact else _SAME_SCANNED) * larger


def _runs(block: Sequence[SizedLine]) -> Iterator[list[SizedLine]]:
    """The parts of a block between lines that are no title; the name of a body is a part of its own."""
    run: list[SizedLine] = []
    for line in block:
        if is_no_title(line.text) or is_salutation(line.text) or is_address_or_list_line(line.text):
            if run:
                yield run
            run = []
            continue
        if run and _is_sender([line]) != _is_sender(run[-1:]) and not _goes_on(run[-1].text):
            yield run
            run = []
        run.append(line)
        if len(run) >= _MAX_LINES:
            break
    if run:
        yield run


def _goes_on(text: str) -> bool:
    """Whether a line ends so that the next one belongs to it: `Report of the` Ministry of Health."""
    return text.rpartition(" ")[2].casefold() in {
        "of",
        "the",
        "for",
        "and",
        "to",
        "by",
        "in",
        "on",
        "der",
        "des",
        "du",
        "de",
    }

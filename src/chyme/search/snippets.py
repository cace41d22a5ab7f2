"""Cut the telling bit out of a text and say which words in it were asked for."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from chyme.search.query.parser import Term
from chyme.search.query.spelling import tokens_of
from chyme.text.stemmer import fold, stem
from chyme.text.stop_words import STOP_WORDS
from chyme.text.unspaced_scripts import RUNS, normalize_run

LENGTH = 240
Span = tuple[int, int]
_SPACE = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]]{0,3}\s+|[。！？]+|\n+")
_SHORT = 4  # words; a heading of two tells less than a sentence with the same words
_LONGEST = 20_000  # characters of a passage in which the telling bit is looked for
_WORD_LIMIT = 20  # how far a cut may move to spare a word


@dataclass(frozen=True, slots=True)
class Snippet:
    """A bit of text with its marked spans. The text is as the file has it: whoever shows it must escape it."""

    text: str
    marks: tuple[Span, ...] = ()
    cut_before: bool = False
    cut_after: bool = False

    def parts(self) -> list[tuple[str, bool]]:
        """The text in order as (words, marked)."""
        found: list[tuple[str, bool]] = []
        at = 0
        for start, end in self.marks:
            found += [(self.text[at:start], False), (self.text[start:end], True)]
            at = end
        found.append((self.text[at:], False))
        return [part for part in found if part[0]]


def to_plain(snippet: Snippet, before: str = "", after: str = "") -> str:
    """For terminals: the marked words between `before` and `after`."""
    bits = [f"{before}{words}{after}" if marked else words for words, marked in snippet.parts()]
    return _with_dots(snippet, "".join(bits))


def _with_dots(snippet: Snippet, text: str) -> str:
    return f"{'… ' if snippet.cut_before else ''}{text}{' …' if snippet.cut_after else ''}"


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    term: int


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A term as a row of stems; the last may be a beginning only."""

    stems: tuple[str, ...]
    beginning: str | None = None


def find(text: str, terms: Sequence[Term]) -> list[Span]:
    """Where in the text the terms stand, as the index would have matched them; overlapping finds are joined."""
    return _joined([(found.start, found.end) for found in _find(text, terms)])


def cut_snippet(text: str, terms: Sequence[Term], length: int = LENGTH) -> Snippet:
    """The stretch of about `length` characters with the most different terms in it, whitespace made single."""
    found = _find(text, terms)
    start, end = _stretch(text, _best_cluster(found, length), length)
    marks = _joined(
        [(max(one.start, start), min(one.end, end)) for one in found if one.start < end and one.end > start]
    )
    return _tidy(text, start, end, marks)


def find_key_sentence(text: str) -> Span:
    """The sentence of a passage that says most of what the passage speaks of."""
    text = text[:_LONGEST]
    sentences = _sentences(text)
    words = [[stem(fold(token[0])) for token in tokens_of(text[start:end])] for start, end in sentences]
    spoken_of = Counter(word for some in words for word in some if len(word) > 2 and word not in STOP_WORDS)

    def worth(at: int) -> tuple[float, int]:
        shared = sum(spoken_of[word] - 1 for word in {*words[at]} if word in spoken_of)
        return shared / math.sqrt(len(words[at]) + _SHORT), -at

    return sentences[max(range(len(sentences)), key=worth)] if sentences else (0, len(text))


def cut_key_snippet(text: str, terms: Sequence[Term], length: int = LENGTH) -> Snippet:
    """For a passage found by its meaning: the stretch with most of the terms, else from its telling sentence on."""
    text = text[:_LONGEST]
    if find(text, terms):
        return cut_snippet(text, terms, length)
    start, _ = find_key_sentence(text)
    return _tidy(text, start, _to_word_end(text, min(len(text), start + length), (start, start)), ())


def _sentences(text: str) -> list[Span]:
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    bounds = [0, *ends, len(text)]
    return [(start, end) for start, end in pairwise(bounds) if text[start:end].strip()]


def _find(text: str, terms: Sequence[Term]) -> list[_Found]:
    wanted = [_wanted(term) for term in terms]
    found: list[_Found] = []
    if any(words for words in wanted):
        found += _find_words(text, wanted)
    for number, term in enumerate(terms):
        for run in RUNS.findall(term.text):
            found += [_Found(start, end, number) for start, end in _find_run(text, run)]
    return sorted(found, key=lambda one: (one.start, one.end))


def _wanted(term: Term) -> _Wanted | None:
    words = [fold(token[0]) for token in tokens_of(RUNS.sub(" ", term.text))]
    if not words or (RUNS.search(term.text) and not term.phrase and len(words) > 1):
        return None
    return _Wanted(tuple(stem(word) for word in words), words[-1] if term.prefix else None)


def _find_words(text: str, wanted: Sequence[_Wanted | None]) -> list[_Found]:
    ending_in: dict[str, list[int]] = {}
    unfinished: list[tuple[str, int]] = []
    for number, words in enumerate(wanted):
        if words is not None:
            ending_in.setdefault(words.stems[-1], []).append(number)
            if words.beginning is not None:
                unfinished.append((words.beginning, number))
    found: list[_Found] = []
    stems: list[str] = []
    starts: list[int] = []
    for at, token in enumerate(tokens_of(text)):
        word = fold(token[0])
        stems.append(stem(word))
        starts.append(token.start())
        here = ending_in.get(stems[at], [])
        for number in {*here, *(other for beginning, other in unfinished if word.startswith(beginning))}:
            words = wanted[number]
            first = at + 1 - len(words.stems) if words else -1
            if words and first >= 0 and tuple(stems[first:at]) == words.stems[:-1]:
                found.append(_Found(starts[first], token.end(), number))
    return found


def _find_run(text: str, run: str) -> list[Span]:
    """A run of unspaced script, also where the text spells its letters otherwise (half width, decomposed)."""
    spans = [match.span() for match in re.finditer(re.escape(run), text)]
    if spans or unicodedata.is_normalized("NFKC", text):
        return spans or _find_parts(text, run)
    asked = normalize_run(run)
    for stretch in RUNS.finditer(text):
        if asked in normalize_run(stretch[0]):
            spans.append(_narrow(stretch, asked))
    return spans


def _find_parts(text: str, run: str) -> list[Span]:
    """A long run that does not stand there as a whole was matched by its pairs."""
    if len(run) <= 2:
        return []
    pairs = {run[at : at + 2] for at in range(len(run) - 1)}
    return [match.span() for pair in pairs for match in re.finditer(re.escape(pair), text)]


def _narrow(stretch: re.Match[str], asked: str) -> Span:
    """The shortest part of the stretch that still spells what was asked for; halved, since it may be a whole page."""
    text = stretch[0]
    too_short, end = 0, len(text)
    while end - too_short > 1:
        middle = (too_short + end) // 2
        if asked in normalize_run(text[:middle]):
            end = middle
        else:
            too_short = middle
    start, too_late = 0, end
    while too_late - start > 1:
        middle = (start + too_late) // 2
        if asked in normalize_run(text[middle:end]):
            start = middle
        else:
            too_late = middle
    return stretch.start() + start, stretch.start() + end


def _best_cluster(found: Sequence[_Found], length: int) -> Span | None:
    """The stretch with the most different terms, then the most finds, then the earliest."""
    best: tuple[int, int] = (0, 0)
    chosen: Span | None = None
    first = 0
    inside: dict[int, int] = {}
    for last, one in enumerate(found):
        inside[one.term] = inside.get(one.term, 0) + 1
        while first < last and one.end - found[first].start > length:
            gone = found[first].term
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            first += 1
        worth = (len(inside), last - first + 1)
        if worth > best:
            best, chosen = worth, (found[first].start, one.end)
    return chosen


def _stretch(text: str, cluster: Span | None, length: int) -> Span:
    """The cluster with what stands around it, from word to word."""
    if cluster is None:
        start = end = 0
    else:
        start, end = cluster
    room = max(0, length - (end - start))
    start = max(0, start - room // 3)
    end = min(len(text), max(end, start + length))
    start = max(0, min(start, end - length))
    return _to_word_start(text, start, cluster), _to_word_end(text, end, cluster)


def _to_word_start(text: str, at: int, cluster: Span | None) -> int:
    limit = min(at + _WORD_LIMIT, cluster[0] if cluster else len(text))
    for step in range(at, limit):
        if step == 0 or text[step - 1].isspace():
            return step
    return at


def _to_word_end(text: str, at: int, cluster: Span | None) -> int:
    limit = max(at - _WORD_LIMIT, cluster[1] if cluster else 0)
    for step in range(at, limit, -1):
        if step == len(text) or text[step].isspace():
            return step
    return at


def _joined(spans: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _tidy(text: str, start: int, end: int, marks: Sequence[Span]) -> Snippet:
    """Runs of whitespace as one space, with the marks moved along."""
    bits: list[str] = []
    moved: list[Span] = []
    size = 0
    at = start
    for left, right in [*marks, (end, end)]:
        for piece, marked in ((text[at:left], False), (text[left:right], True)):
            plain = _SPACE.sub(" ", piece)
            if not size:
                plain = plain.lstrip()
            if marked and plain:
                moved.append((size, size + len(plain)))
            bits.append(plain)
            size += len(plain)
        at = right
    shown = "".join(bits).rstrip()
    kept = tuple((left, min(right, len(shown))) for left, right in moved if left < len(shown))
    return Snippet(shown, kept, bool(text[:start].strip()), bool(text[end:].strip()))

"""Cut the most relevant part out of a text and mark the words that were asked for."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from chyme.search.query.parser import Term
from chyme.search.query.spelling import tokens_beginning_with, tokens_of
from chyme.text.common_words import stop_words
from chyme.text.stemmer import fold, stem
from chyme.text.unspaced_scripts import RUNS, normalize_run

LENGTH = 240
Span = tuple[int, int]
_SPACE = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"[.!?…]+[\"'”’)\]]{0,3}\s+|[。！？]+|\n+")
_SHORT_SENTENCE = 4  # words; a heading of two says less than a sentence with the same words
_MAX_CHARACTERS = 20_000  # characters of a passage in which the key sentence is looked for
_WORD_LIMIT = 20  # how many characters a cut may move to keep a word whole


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of text with its marked spans. The text is as in the file: escape it before showing it."""

    text: str
    marks: tuple[Span, ...] = ()
    cut_before: bool = False
    cut_after: bool = False

    def parts(self) -> list[tuple[str, bool]]:
        """The text in order as (words, marked)."""
        found: list[tuple[str, bool]] = []
        position = 0
        for start, end in self.marks:
            found += [(self.text[position:start], False), (self.text[start:end], True)]
            position = end
        found.append((self.text[position:], False))
        return [part for part in found if part[0]]


def to_plain(snippet: Snippet) -> str:
    """The text with dots where it was cut."""
    return f"{'… ' if snippet.cut_before else ''}{snippet.text}{' …' if snippet.cut_after else ''}"


@dataclass(frozen=True, slots=True)
class _TermMatch:
    start: int
    end: int
    term: int


@dataclass(frozen=True, slots=True)
class _TermPattern:
    """A term as a sequence of stems; the last may be the beginning of a word."""

    stems: tuple[str, ...]
    beginning: str | None = None


def find(text: str, terms: Sequence[Term]) -> list[Span]:
    """Where in the text the terms are, matched as the index matches them; overlapping spans are joined."""
    return _join_spans([(found.start, found.end) for found in _find_terms(text, terms)])


def count_terms(text: str, terms: Sequence[Term]) -> int:
    """How many different terms the text has."""
    return len({found.term for found in _find_terms(text[:_MAX_CHARACTERS], terms)})


def cut_snippet(text: str, terms: Sequence[Term], length: int = LENGTH) -> Snippet:
    """The stretch of about `length` characters with the most different terms in it, whitespace collapsed."""
    matches = _find_terms(text, terms)
    start, end = _expand(text, _best_cluster(matches, length), length)
    marks = _join_spans(
        [(max(match.start, start), min(match.end, end)) for match in matches if match.start < end and match.end > start]
    )
    return _collapse_whitespace(text, start, end, marks)


def find_key_sentence(text: str) -> Span:
    """The sentence that has most of the words that are frequent in the passage."""
    text = text[:_MAX_CHARACTERS]
    sentences = _sentences(text)
    words = [[stem(fold(token[0])) for token in tokens_of(text[start:end])] for start, end in sentences]
    frequency = Counter(word for sentence in words for word in sentence if len(word) > 2 and word not in stop_words())

    def score(index: int) -> tuple[float, int]:
        shared = sum(frequency[word] - 1 for word in {*words[index]} if word in frequency)
        return shared / math.sqrt(len(words[index]) + _SHORT_SENTENCE), -index

    return sentences[max(range(len(sentences)), key=score)] if sentences else (0, len(text))


def cut_key_snippet(text: str, terms: Sequence[Term]) -> Snippet:
    """For a passage found by meaning: the stretch with most of the terms, or else from its key sentence on."""
    text = text[:_MAX_CHARACTERS]
    if find(text, terms):
        return cut_snippet(text, terms)
    start, _ = find_key_sentence(text)
    return _collapse_whitespace(text, start, _to_word_end(text, min(len(text), start + LENGTH), (start, start)), ())


def _sentences(text: str) -> list[Span]:
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    bounds = [0, *ends, len(text)]
    return [(start, end) for start, end in pairwise(bounds) if text[start:end].strip()]


def _find_terms(text: str, terms: Sequence[Term]) -> list[_TermMatch]:
    patterns = [_pattern_of(term) for term in terms]
    matches: list[_TermMatch] = []
    if any(patterns):
        matches += _find_words(text, patterns)
    for number, term in enumerate(terms):
        for run in RUNS.findall(term.text):
            matches += [_TermMatch(start, end, number) for start, end in _find_run(text, run)]
    return sorted(matches, key=lambda match: (match.start, match.end))


@lru_cache(maxsize=1024)
def _pattern_of(term: Term) -> _TermPattern | None:
    words = [fold(token[0]) for token in tokens_of(RUNS.sub(" ", term.text))]
    if not words or (RUNS.search(term.text) and not term.phrase and len(words) > 1):
        return None
    return _TermPattern(tuple(stem(word) for word in words), words[-1] if term.prefix else None)


def _find_words(text: str, patterns: Sequence[_TermPattern | None]) -> list[_TermMatch]:
    by_last_stem: dict[str, list[int]] = {}
    prefixes: list[tuple[str, int]] = []
    for number, pattern in enumerate(patterns):
        if pattern is not None:
            by_last_stem.setdefault(pattern.stems[-1], []).append(number)
            if pattern.beginning is not None:
                prefixes.append((pattern.beginning, number))
    matches: list[_TermMatch] = []
    if all(pattern is None or len(pattern.stems) == 1 for pattern in patterns):
        for token in tokens_beginning_with({pattern.stems[0][:1] for pattern in patterns if pattern}, text):
            word = fold(token[0])
            numbers: Collection[int] = by_last_stem.get(stem(word), ())
            if prefixes:
                numbers = {*numbers, *(number for beginning, number in prefixes if word.startswith(beginning))}
            for number in numbers:
                matches.append(_TermMatch(token.start(), token.end(), number))
        return matches
    stems: list[str] = []
    starts: list[int] = []
    for position, token in enumerate(tokens_of(text)):
        word = fold(token[0])
        stems.append(stem(word))
        starts.append(token.start())
        candidates = by_last_stem.get(stems[position], [])
        for number in {*candidates, *(other for beginning, other in prefixes if word.startswith(beginning))}:
            pattern = patterns[number]
            first = position + 1 - len(pattern.stems) if pattern else -1
            if pattern and first >= 0 and tuple(stems[first:position]) == pattern.stems[:-1]:
                matches.append(_TermMatch(starts[first], token.end(), number))
    return matches


def _find_run(text: str, run: str) -> list[Span]:
    """A run of unspaced script, also where the text encodes its letters differently (half width, decomposed)."""
    spans = [match.span() for match in re.finditer(re.escape(run), text)]
    if spans or unicodedata.is_normalized("NFKC", text):
        return spans or _find_parts(text, run)
    normalized = normalize_run(run)
    for stretch in RUNS.finditer(text):
        if normalized in normalize_run(stretch[0]):
            spans.append(_narrow(stretch, normalized))
    return spans


def _find_parts(text: str, run: str) -> list[Span]:
    """The pairs of a long run that is not in the text as a whole: the index matched it by these."""
    if len(run) <= 2:
        return []
    pairs = {run[i : i + 2] for i in range(len(run) - 1)}
    return [match.span() for pair in pairs for match in re.finditer(re.escape(pair), text)]


def _narrow(stretch: re.Match[str], normalized: str) -> Span:
    """The shortest part of the stretch that still contains the run; by bisection, since it may be a whole page."""
    text = stretch[0]
    too_short, end = 0, len(text)
    while end - too_short > 1:
        middle = (too_short + end) // 2
        if normalized in normalize_run(text[:middle]):
            end = middle
        else:
            too_short = middle
    start, too_late = 0, end
    while too_late - start > 1:
        middle = (start + too_late) // 2
        if normalized in normalize_run(text[middle:end]):
            start = middle
        else:
            too_late = middle
    return stretch.start() + start, stretch.start() + end


def _best_cluster(matches: Sequence[_TermMatch], length: int) -> Span | None:
    """The stretch with the most different terms, then the most matches, then the earliest."""
    best: tuple[int, int] = (0, 0)
    chosen: Span | None = None
    first = 0
    inside: Counter[int] = Counter()
    for last, match in enumerate(matches):
        inside[match.term] += 1
        while first < last and match.end - matches[first].start > length:
            inside -= Counter([matches[first].term])
            first += 1
        rank = (len(inside), last - first + 1)
        if rank > best:
            best, chosen = rank, (matches[first].start, match.end)
    return chosen


def _expand(text: str, cluster: Span | None, length: int) -> Span:
    """The cluster with the text around it, from word to word."""
    start, end = cluster or (0, 0)
    room = max(0, length - (end - start))
    start = max(0, start - room // 3)
    end = min(len(text), max(end, start + length))
    start = max(0, min(start, end - length))
    return _to_word_start(text, start, cluster), _to_word_end(text, end, cluster)


def _to_word_start(text: str, position: int, cluster: Span | None) -> int:
    limit = min(position + _WORD_LIMIT, cluster[0] if cluster else len(text))
    starts = (here for here in range(position, limit) if here == 0 or text[here - 1].isspace())
    return next(starts, position)


def _to_word_end(text: str, position: int, cluster: Span | None) -> int:
    limit = max(position - _WORD_LIMIT, cluster[1] if cluster else 0)
    ends = (here for here in range(position, limit, -1) if here == len(text) or text[here].isspace())
    return next(ends, position)


def _join_spans(spans: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _collapse_whitespace(text: str, start: int, end: int, marks: Sequence[Span]) -> Snippet:
    """Collapse each run of whitespace into one space and move the marks accordingly."""
    pieces: list[str] = []
    moved: list[Span] = []
    size = 0
    position = start
    for left, right in [*marks, (end, end)]:
        for piece, marked in ((text[position:left], False), (text[left:right], True)):
            plain = _SPACE.sub(" ", piece)
            if not size:
                plain = plain.lstrip()
            if marked and plain:
                moved.append((size, size + len(plain)))
            pieces.append(plain)
            size += len(plain)
        position = right
    shown = "".join(pieces).rstrip()
    shown_marks = tuple((left, min(right, len(shown))) for left, right in moved if left < len(shown))
    return Snippet(shown, shown_marks, bool(text[:start].strip()), bool(text[end:].strip()))

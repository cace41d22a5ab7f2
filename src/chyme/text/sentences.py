"""Splits a text into sentences, with time and speaker if it was spoken, and ranks them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from chyme.model import Segment
from chyme.text.stemmer import fold
from chyme.text.unspaced_scripts import RUNS, normalize_run, split_pairs

_END = re.compile(r"([.!?…؟]+)[\"'”»’)\]]{0,3}\s+(?=[\"'“„«¿¡(\[]{0,3}(\S))|[。！？।॥]+[」』”]{0,2}")
_WRITTEN_END = re.compile(rf"{_END.pattern}|\n+")
_ABBREVIATIONS = "dr mr mrs ms prof st sr jr nr hr fr sra srta dott mme mlle vs no z.b d.h u.a e.g i.e bzw ca"
_ABBREVIATED = frozenset(_ABBREVIATIONS.split())
_MAX_WORDS, _BREAKABLE_WORDS = 60, 25  # text without full stops is cut after so many, or at a pause after so many
_PAUSE = 1.0  # seconds
_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
_UNSPACED_LETTERS = 2  # letters of Chinese or Japanese that count as one word
_DAMPING = 0.85
_STEPS = 25  # no visible change after that


@dataclass(frozen=True, slots=True)
class Sentence:
    """One spoken sentence, and when it starts."""

    text: str
    seconds: float
    speaker: str | None

    @property
    def words(self) -> int:
        return word_count(self.text)


def word_count(text: str) -> int:
    """How many words a text has; in scripts without spaces, two letters count as one."""
    if text.isascii():
        return len(_WORD.findall(text))
    unspaced = sum(map(len, RUNS.findall(text)))
    return len(_WORD.findall(RUNS.sub(" ", text))) + (unspaced + 1) // _UNSPACED_LETTERS


def terms_of(text: str, empty: frozenset[str]) -> list[str]:
    """What a text is about, as comparable keys: the beginnings of significant words, or pairs of letters."""
    spaced = text if text.isascii() else RUNS.sub(" ", text)
    terms = [fold(word)[:7] for word in _WORD.findall(spaced) if len(word) > 2 and word.lower() not in empty]
    for run in RUNS.findall(text) if spaced is not text else ():
        terms += split_pairs(run)[:-1] if len(normalize_run(run)) > 1 else []
    return terms


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """First and last + 1 character of each sentence of a written text; none goes on after a line break."""
    spans: list[tuple[int, int]] = []
    start = 0

    def add(until: int) -> None:
        piece = text[start:until]
        bare = piece.strip()
        if bare:
            first = start + len(piece) - len(piece.lstrip())
            spans.append((first, first + len(bare)))

    for end in _WRITTEN_END.finditer(text):
        if end[0].isspace() or end[1] is None or _is_sentence_end(text, end):
            add(end.end())
            start = end.end()
    add(len(text))
    return spans


def sentences_of(segments: Sequence[Segment], texts: Sequence[str]) -> list[Sentence]:
    """The sentences of these segments in the wording of `texts`. No sentence continues with another speaker."""
    sentences: list[Sentence] = []
    pending: Sentence | None = None
    last: Segment | None = None
    for segment, text in zip(segments, texts, strict=True):
        if pending and last and _must_break(pending, last, segment):
            sentences.append(pending)
            pending = None
        last = segment
        for piece, position, ended in _split_segment(text):
            if pending is None:
                pending = Sentence(piece, _spoken_at(segment, text, position), segment.speaker)
            else:
                joint = "" if RUNS.search(piece[:1]) and RUNS.search(pending.text[-1:]) else " "
                pending = Sentence(f"{pending.text}{joint}{piece}", pending.seconds, pending.speaker)
            if ended:
                sentences.append(pending)
                pending = None
    return [*sentences, pending] if pending else sentences


def _must_break(pending: Sentence, last: Segment, segment: Segment) -> bool:
    if last.speaker != segment.speaker:
        return True
    words = pending.words
    return words >= _MAX_WORDS or (words >= _BREAKABLE_WORDS and segment.start - last.end >= _PAUSE)


def _split_segment(text: str) -> Iterator[tuple[str, int, bool]]:
    """Parts of a segment up to the ends of sentences: the part, where it begins, and whether a sentence ends there."""
    start = 0
    for end in _END.finditer(text):
        if end[1] is not None and not _is_sentence_end(text, end):
            continue
        piece = text[start : end.end()].strip()
        if piece:
            yield piece, start, True
        start = end.end()
    rest = text[start:].strip()
    if rest:
        yield rest, start, rest.rstrip("\"'”»’)]").endswith((".", "!", "?", "…"))


def _is_sentence_end(text: str, end: re.Match[str]) -> bool:
    following = end[2]
    if following.islower():
        return False
    if not end[1].startswith("."):
        return True
    word = text[max(0, end.start() - 24) : end.start()].rpartition(" ")[2].lower()
    if word.isdecimal():
        return len(word) > 2  # "5. May" in languages that write dates so
    return word not in _ABBREVIATED and not (len(word) == 1 and word.isalpha())


def _spoken_at(segment: Segment, text: str, position: int) -> float:
    """When the text at this position was spoken: by the words' times, otherwise in proportion."""
    if not segment.words:
        return segment.start + position / max(len(text), 1) * (segment.end - segment.start)
    word_index = (
        len(text[:position].split()) * len(segment.words) / max(len(text.split()), 1)
    )  # a correction may be shorter
    return segment.words[min(round(word_index), len(segment.words) - 1)].start


def ranks(texts: Sequence[Collection[str]]) -> list[float]:
    """How well each text represents the others: a random walk from texts to their terms and back.

    Its cost grows with the number of words, not with the pairs of texts; a term of a single text connects nothing.
    """
    bags = [frozenset(terms) for terms in texts]
    spread = Counter(term for bag in bags for term in bag)
    weight = {term: math.log(1 + len(bags) / count) for term, count in spread.items() if count > 1}
    linked = [[term for term in bag if term in weight] for bag in bags]
    totals = [sum(weight[term] for term in terms) for terms in linked]
    rank = [1.0 / max(len(bags), 1)] * len(bags)
    rest = (1 - _DAMPING) / max(len(bags), 1)
    for _ in range(_STEPS):
        term_rank = dict.fromkeys(weight, 0.0)
        for share, terms, total in zip(rank, linked, totals, strict=True):
            for term in terms:
                term_rank[term] += share * weight[term] / total
        rank = [rest + _DAMPING * sum(term_rank[term] / spread[term] for term in terms) for terms in linked]
    return [share / math.log(2 + len(bag)) for share, bag in zip(rank, bags, strict=True)]

"""The sentences of a transcript, each with when it was said and by whom."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chyme.model import Segment
from chyme.text.stemmer import fold
from chyme.text.unspaced_scripts import RUNS, normalize_run, split_pairs

_END = re.compile(r"([.!?…]+)[\"'”»’)\]]{0,3}\s+(?=[\"'“„«¿¡(\[]{0,3}(\S))|[。！？]+[」』”]{0,2}")
_NO_END = "dr mr mrs ms prof st sr jr nr hr fr sra srta dott mme mlle vs no z.b d.h u.a e.g i.e bzw ca"
_LONG, _BREAKABLE = 60, 25  # words after which a text without full stops is cut, and after which it may be at a pause
_PAUSE = 1.0  # seconds
_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
_UNSPACED = 2  # letters of Chinese or Japanese that count as one word


@dataclass(frozen=True, slots=True)
class Sentence:
    """What somebody said from this second on."""

    text: str
    seconds: float
    speaker: str | None

    @property
    def words(self) -> int:
        return word_count(self.text)


def word_count(text: str) -> int:
    """How many words a text has; where they are not spaced, two letters count as one."""
    unspaced = sum(map(len, RUNS.findall(text)))
    return len(_WORD.findall(RUNS.sub(" ", text))) + (unspaced + 1) // _UNSPACED


def terms_of(text: str, empty: frozenset[str]) -> list[str]:
    """What a text is about, as comparable keys: the beginnings of words that say something, or pairs of letters."""
    found = [
        fold(word)[:7] for word in _WORD.findall(RUNS.sub(" ", text)) if len(word) > 2 and word.lower() not in empty
    ]
    for run in RUNS.findall(text):
        found += split_pairs(run)[:-1] if len(normalize_run(run)) > 1 else []
    return found


def sentences_of(segments: Sequence[Segment], texts: Sequence[str]) -> list[Sentence]:
    """The sentences of these segments in the wording of `texts`. None crosses from one speaker to another."""
    found: list[Sentence] = []
    open_one: Sentence | None = None
    last: Segment | None = None
    for segment, text in zip(segments, texts, strict=True):
        if open_one and last and _breaks(open_one, last, segment):
            found.append(open_one)
            open_one = None
        last = segment
        for piece, at, ended in _pieces(text):
            if open_one is None:
                open_one = Sentence(piece, _moment(segment, text, at), segment.speaker)
            else:
                joint = "" if RUNS.search(piece[:1]) and RUNS.search(open_one.text[-1:]) else " "
                open_one = Sentence(f"{open_one.text}{joint}{piece}", open_one.seconds, open_one.speaker)
            if ended:
                found.append(open_one)
                open_one = None
    return [*found, open_one] if open_one else found


def _breaks(open_one: Sentence, last: Segment, segment: Segment) -> bool:
    if last.speaker != segment.speaker:
        return True
    words = open_one.words
    return words >= _LONG or (words >= _BREAKABLE and segment.start - last.end >= _PAUSE)


def _pieces(text: str) -> Iterator[tuple[str, int, bool]]:
    """Parts of a segment up to the ends of sentences: the part, where it begins, and whether a sentence ends there."""
    start = 0
    for end in _END.finditer(text):
        if end[1] is not None and not _is_end(text, end):
            continue
        piece = text[start : end.end()].strip()
        if piece:
            yield piece, start, True
        start = end.end()
    rest = text[start:].strip()
    if rest:
        yield rest, start, rest.rstrip("\"'”»’)]").endswith((".", "!", "?", "…"))


def _is_end(text: str, end: re.Match[str]) -> bool:
    following = end[2]
    if following.islower():
        return False
    if not end[1].startswith("."):
        return True
    word = text[max(0, end.start() - 24) : end.start()].rpartition(" ")[2].lower()
    if word.isdecimal():
        return len(word) > 2  # the 5. May of those who write so
    return word not in _NO_END.split() and not (len(word) == 1 and word.isalpha())


def _moment(segment: Segment, text: str, at: int) -> float:
    """When what stands at this place of the text was said: by the words' times, else in proportion."""
    if not segment.words:
        return segment.start + at / max(len(text), 1) * (segment.end - segment.start)
    passed = len(text[:at].split()) * len(segment.words) / max(len(text.split()), 1)  # a correction may be shorter
    return segment.words[min(round(passed), len(segment.words) - 1)].start

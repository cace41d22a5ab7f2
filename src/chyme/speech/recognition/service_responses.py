"""What services answer to a piece of sound, each in its own dialect, as segments with times of the recording."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

from chyme.model import Segment, Word
from chyme.speech.recognition.languages import CODES, WITHOUT_BLANKS
from chyme.speech.recognition.piece_index import Piece

NANOSECONDS = 1e6  # no piece has so many seconds: whoever tells such times counts in nanoseconds
PAUSE = 1.0  # seconds between two words that part them, when nobody tells segments
TOUCH, AROUND = 0.25, 0.5  # seconds of speech a segment must share to reach into it; and of silence it keeps
ASTRAY = 2.0  # seconds of speech by which a guess may be off, when there is a pause to correct it by
ROUNDING = 1e-6  # seconds
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
_ENDS = (".", "!", "?", "…", "。", "！", "？")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_CODE = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class TranscriptionResponse:
    """What was understood. Times are seconds into the piece, and may be anything."""

    text: str
    language: str | None
    segments: tuple[Segment, ...]  # empty when the service tells no times


def parse_response(body: bytes) -> TranscriptionResponse | None:
    """The answer in these bytes; None when that is no transcription."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    rows, text = _rows(told.get("segments")), told.get("text")
    if not isinstance(text, str) and not rows:
        return None
    language = _language(told.get("language"))
    joined = language not in WITHOUT_BLANKS
    words = _words(_rows(told.get("words")), joined)
    segments = [_segment(row, joined) for row in rows]
    segments = [segment for segment in segments if segment.text]
    if not any(math.isfinite(segment.start) for segment in segments):
        segments = _by_pauses(words, " " if joined else "")
    elif words and not any(segment.words for segment in segments):
        segments = _dealt(segments, words)
    if not isinstance(text, str):
        text = " ".join(segment.text for segment in segments)
    return TranscriptionResponse(_clean(text), language, tuple(_in_seconds(segments)))


def place_segments(answer: TranscriptionResponse, piece: Piece) -> list[Segment]:
    """The segments in order, with times of the recording; where none were told, sentences spread over the speech."""
    if not answer.segments:
        return _spread(answer.text, piece)
    return [_placed(segment, piece) for segment in _ordered(answer.segments, piece.length)]


def _ordered(told: Sequence[Segment], length: float) -> Iterator[Segment]:
    """One after the other, each within the piece and its words within it, whatever was told."""
    begun = []
    now = 0.0
    for segment in told:
        start = _within(segment.start, now, 0.0, length)
        now = _within(segment.end, start, start, length)
        begun.append(replace(segment, start=start, end=now))
    begun.sort(key=lambda segment: segment.start)
    nexts = [segment.start for segment in begun[1:]] + [length]
    for segment, following in zip(begun, nexts, strict=True):
        end = min(segment.end, following) if segment.end > segment.start else following
        yield replace(segment, end=end, words=tuple(_in_order(segment.words, segment.start, end)))


def _in_order(words: Sequence[Word], begin: float, end: float) -> Iterator[Word]:
    for word in words:
        begin = _within(word.start, begin, begin, end)
        until = _within(word.end, begin, begin, end)
        yield replace(word, start=begin, end=until)
        begin = until


def _placed(segment: Segment, piece: Piece) -> Segment:
    """Along the recording's clock. Services let a segment last until the next begins; silence is taken off again."""
    start, end = piece.start_in_recording(segment.start), piece.end_in_recording(segment.end)
    heard = [span for span in piece.spans if span.end > start + TOUCH and span.start < end - TOUCH]
    if heard:
        start, end = max(start, heard[0].start - AROUND), min(end, heard[-1].end + AROUND)
    end = max(start, end)
    words = [
        replace(word, start=piece.start_in_recording(word.start), end=piece.end_in_recording(word.end))
        for word in segment.words
    ]
    return replace(segment, start=start, end=end, words=tuple(_in_order(words, start, end)))


def _spread(text: str, piece: Piece) -> list[Segment]:
    """Sentences, each as much of the speech as it is of the text; a pause close to where two meet parts them."""
    sentences = [sentence for sentence in _SENTENCE.split(text) if sentence]
    ends = list(accumulate(map(len, sentences)))
    lengths = [span.end - span.start for span in piece.spans]
    speech = sum(lengths)
    guesses = [0.0, *(speech * end / ends[-1] for end in ends)]
    pauses = [
        over
        for over, (span, following) in zip(accumulate(lengths), pairwise(piece.spans), strict=False)
        if following.start - span.end > PAUSE
    ]
    bounds = list(guesses)
    for number in range(1, len(sentences)):
        before, here, after = guesses[number - 1 : number + 2]
        near = min(pauses, key=lambda pause: abs(pause - here), default=math.inf)
        if abs(near - here) < min(ASTRAY, (here - before) / 2, (after - here) / 2):
            bounds[number] = near
    segments = []
    for sentence, begin, end in zip(sentences, bounds, bounds[1:], strict=False):
        start = _spoken(piece, begin, starts=True)
        segments.append(Segment(start, max(start, _spoken(piece, end)), sentence))
    return segments


def _spoken(piece: Piece, seconds: float, starts: bool = False) -> float:
    """Where in the recording so much of the piece's speech is over; silence counts to what comes before."""
    for span in piece.spans:
        length = span.end - span.start
        if seconds < length - ROUNDING or (not starts and seconds < length + ROUNDING):
            return span.start + seconds
        seconds -= length
    return piece.spans[-1].end if piece.spans else piece.stretches[-1].end


def _segment(row: dict[str, Any], joined: bool) -> Segment:
    sure = math.exp(min(0.0, _number(row.get("avg_logprob"), 0.0)))
    words = tuple(_words(_rows(row.get("words")), joined, sure))
    return Segment(_number(row.get("start")), _number(row.get("end")), _clean(row.get("text")), words=words)


def _words(rows: list[dict[str, Any]], joined: bool, sure: float = 1.0) -> list[Word]:
    """Words, also where parts of words are told: there, only the first part of each begins with a blank."""
    tellings = [str(row.get("word", row.get("text", ""))) for row in rows]
    in_parts = joined and any(told.startswith(" ") for told in tellings)
    words: list[Word] = []
    for row, told in zip(rows, tellings, strict=True):
        text = _clean(told)
        if not text or text.startswith("[_"):  # marks of whisper.cpp
            continue
        start, end = _number(row.get("start")), _number(row.get("end"))
        probability = _number(row.get("probability", row.get("confidence")), sure)
        probability = min(1.0, max(0.0, probability))
        if words and in_parts and not told.startswith(" "):
            last = words[-1]
            words[-1] = Word(last.word + text, last.start, end, min(last.probability, probability))
        else:
            words.append(Word(text, start, end, probability))
    return words


def _dealt(segments: list[Segment], words: list[Word]) -> list[Segment]:
    """Each word to the segment in which its middle lies."""
    starts = [segment.start for segment in segments]
    if not all(map(math.isfinite, starts)) or starts != sorted(starts):
        return segments
    dealt: list[list[Word]] = [[] for _ in segments]
    for word in words:
        middle = (word.start + word.end) / 2
        if math.isfinite(middle):
            dealt[max(0, bisect_right(starts, middle) - 1)].append(word)
    return [replace(segment, words=tuple(mine)) for segment, mine in zip(segments, dealt, strict=True)]


def _by_pauses(words: list[Word], between: str) -> list[Segment]:
    """Segments out of words alone: they end with a sentence or a pause."""
    words = [word for word in words if math.isfinite(word.start) and math.isfinite(word.end)]
    if not words:
        return []
    groups = [[words[0]]]
    for last, word in pairwise(words):
        if last.word.endswith(_ENDS) or word.start - last.end > PAUSE:
            groups.append([])
        groups[-1].append(word)
    return [
        Segment(group[0].start, group[-1].end, between.join(word.word for word in group), words=tuple(group))
        for group in groups
    ]


def _in_seconds(segments: list[Segment]) -> Iterator[Segment]:
    times = [time for segment in segments for time in (segment.start, segment.end) if math.isfinite(time)]
    scale = 1e-9 if max(times, default=0.0) > NANOSECONDS else 1.0
    for segment in segments:
        words = tuple(replace(word, start=word.start * scale, end=word.end * scale) for word in segment.words)
        yield replace(segment, start=segment.start * scale, end=segment.end * scale, words=words)


def _rows(told: object) -> list[dict[str, Any]]:
    return [row for row in told if isinstance(row, dict)] if isinstance(told, list) else []


def _within(value: float, otherwise: float, least: float, most: float) -> float:
    return min(most, max(least, value if math.isfinite(value) else otherwise))


def _number(value: object, otherwise: float = math.nan) -> float:
    """Some services tell numbers as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return otherwise
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return otherwise
    return number if math.isfinite(number) else otherwise


def _clean(text: object) -> str:
    return " ".join(_CONTROL.sub(" ", text).split()) if isinstance(text, str) else ""


def _language(told: object) -> str | None:
    """As in `en`; services tell codes or English names."""
    if not isinstance(told, str):
        return None
    name = told.strip().lower()
    code = _CODE.fullmatch(name)
    return CODES.get(name) or (code[1] if code else None)

"""Convert the answers of different services for a piece of sound to segments with times of the recording."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

from chyme.model import Segment, Word
from chyme.speech.recognition.piece_index import Piece
from chyme.text.word_lists import WordList

MAX_SECONDS = 1e6  # no piece is this long in seconds: such times are nanoseconds
PAUSE = 1.0  # pause in seconds that separates segments when the service gives none
MIN_OVERLAP, MARGIN = 0.25, 0.5  # seconds of speech a segment must overlap; seconds of silence it keeps
MAX_CORRECTION = 2.0  # seconds by which an estimate may be moved to the nearest pause
TOLERANCE = 1e-6  # seconds
WITHOUT_BLANKS = frozenset({"zh", "yue", "ja", "th", "lo", "my", "km", "bo"})  # no spaces between words
_LANGUAGES = WordList(__package__, "languages")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
_SENTENCE_ENDS = (".", "!", "?", "…", "。", "！", "？")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_CODE = re.compile(r"([a-z]{2,3})(?:[-_][a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class TranscriptionResponse:
    """The transcription of one piece. Times are seconds into the piece, and unchecked."""

    text: str
    language: str | None
    segments: tuple[Segment, ...]  # empty when the service gives no times


def parse_response(body: bytes) -> TranscriptionResponse | None:
    """Parse an answer; None when it is not a transcription."""
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(payload, dict):
        return None
    rows, text = _dict_rows(payload.get("segments")), payload.get("text")
    if not isinstance(text, str) and not rows:
        return None
    language = _parse_language(payload.get("language"))
    spaced = language not in WITHOUT_BLANKS
    words = _parse_words(_dict_rows(payload.get("words")), spaced)
    segments = [_parse_segment(row, spaced) for row in rows]
    segments = [segment for segment in segments if segment.text]
    if not any(math.isfinite(segment.start) for segment in segments):
        segments = _segments_from_words(words, " " if spaced else "")
    elif words and not any(segment.words for segment in segments):
        segments = _assign_words(segments, words)
    if not isinstance(text, str):
        text = " ".join(segment.text for segment in segments)
    return TranscriptionResponse(clean_text(text), language, tuple(_scale_to_seconds(segments)))


def place_segments(answer: TranscriptionResponse, piece: Piece) -> list[Segment]:
    """Return the segments in order, with times of the recording; without times, spread sentences over the speech."""
    if not answer.segments:
        return _estimate_segments(answer.text, piece)
    return [_to_recording_time(segment, piece) for segment in _sort_and_limit(answer.segments, piece.length)]


def _sort_and_limit(segments: Sequence[Segment], length: float) -> Iterator[Segment]:
    """Yield segments in order, each within the piece and its words within it, whatever the service returned."""
    limited = []
    position = 0.0
    for segment in segments:
        start = _clamp(segment.start, position, 0.0, length)
        position = _clamp(segment.end, start, start, length)
        limited.append(replace(segment, start=start, end=position))
    limited.sort(key=lambda segment: segment.start)
    next_starts = [segment.start for segment in limited[1:]] + [length]
    for segment, following in zip(limited, next_starts, strict=True):
        end = min(segment.end, following) if segment.end > segment.start else following
        yield replace(segment, end=end, words=tuple(_limit_words(segment.words, segment.start, end)))


def _limit_words(words: Sequence[Word], position: float, end: float) -> Iterator[Word]:
    for word in words:
        position = _clamp(word.start, position, position, end)
        word_end = _clamp(word.end, position, position, end)
        yield replace(word, start=position, end=word_end)
        position = word_end


def _to_recording_time(segment: Segment, piece: Piece) -> Segment:
    """Convert to the recording's time. Services extend a segment until the next starts; trim this silence again."""
    start, end = piece.start_in_recording(segment.start), piece.end_in_recording(segment.end)
    overlapping = [span for span in piece.spans if span.end > start + MIN_OVERLAP and span.start < end - MIN_OVERLAP]
    if overlapping:
        start, end = max(start, overlapping[0].start - MARGIN), min(end, overlapping[-1].end + MARGIN)
    end = max(start, end)
    words = [
        replace(word, start=piece.start_in_recording(word.start), end=piece.end_in_recording(word.end))
        for word in segment.words
    ]
    return replace(segment, start=start, end=end, words=tuple(_limit_words(words, start, end)))


def _estimate_segments(text: str, piece: Piece) -> list[Segment]:
    """Give each sentence its proportional share of the speech; boundaries move to a pause close by."""
    sentences = [sentence for sentence in _SENTENCE.split(text) if sentence]
    ends = list(accumulate(map(len, sentences)))
    lengths = [span.end - span.start for span in piece.spans]
    speech = sum(lengths)
    guesses = [0.0, *(speech * end / ends[-1] for end in ends)]
    pauses = [
        position
        for position, (span, following) in zip(accumulate(lengths), pairwise(piece.spans), strict=False)
        if following.start - span.end > PAUSE
    ]
    bounds = list(guesses)
    for number in range(1, len(sentences)):
        before, guess, after = guesses[number - 1 : number + 2]
        nearest = min(pauses, key=lambda pause: abs(pause - guess), default=math.inf)
        if abs(nearest - guess) < min(MAX_CORRECTION, (guess - before) / 2, (after - guess) / 2):
            bounds[number] = nearest
    segments = []
    for sentence, begin, end in zip(sentences, bounds, bounds[1:], strict=False):
        start = _speech_position(piece, begin, is_start=True)
        segments.append(Segment(start, max(start, _speech_position(piece, end)), sentence))
    return segments


def _speech_position(piece: Piece, seconds: float, is_start: bool = False) -> float:
    """Where in the recording so many seconds of the piece's speech are over; silence counts to the speech before it."""
    for span in piece.spans:
        length = span.end - span.start
        if seconds < length - TOLERANCE or (not is_start and seconds < length + TOLERANCE):
            return span.start + seconds
        seconds -= length
    return piece.spans[-1].end if piece.spans else piece.stretches[-1].end


def _parse_segment(row: dict[str, Any], spaced: bool) -> Segment:
    confidence = math.exp(min(0.0, _parse_number(row.get("avg_logprob"), 0.0)))
    words = tuple(_parse_words(_dict_rows(row.get("words")), spaced, confidence))
    return Segment(
        _parse_number(row.get("start")), _parse_number(row.get("end")), clean_text(row.get("text")), words=words
    )


def _parse_words(rows: list[dict[str, Any]], spaced: bool, default_probability: float = 1.0) -> list[Word]:
    """Parse words, joining parts of words: then only the first part of each word starts with a space."""
    raw_words = [str(row.get("word", row.get("text", ""))) for row in rows]
    in_parts = spaced and any(raw_word.startswith(" ") for raw_word in raw_words)
    words: list[Word] = []
    for row, raw_word in zip(rows, raw_words, strict=True):
        text = clean_text(raw_word)
        if not text or text.startswith("[_"):  # markers of whisper.cpp
            continue
        start, end = _parse_number(row.get("start")), _parse_number(row.get("end"))
        probability = _parse_number(row.get("probability", row.get("confidence")), default_probability)
        probability = min(1.0, max(0.0, probability))
        if words and in_parts and not raw_word.startswith(" "):
            last = words[-1]
            words[-1] = Word(last.word + text, last.start, end, min(last.probability, probability))
        else:
            words.append(Word(text, start, end, probability))
    return words


def _assign_words(segments: list[Segment], words: list[Word]) -> list[Segment]:
    """Assign each word to the segment that contains its middle."""
    starts = [segment.start for segment in segments]
    if not all(map(math.isfinite, starts)) or starts != sorted(starts):
        return segments
    assigned: list[list[Word]] = [[] for _ in segments]
    for word in words:
        middle = (word.start + word.end) / 2
        if math.isfinite(middle):
            assigned[max(0, bisect_right(starts, middle) - 1)].append(word)
    return [replace(segment, words=tuple(own_words)) for segment, own_words in zip(segments, assigned, strict=True)]


def _segments_from_words(words: list[Word], separator: str) -> list[Segment]:
    """Build segments from words alone: they end at the end of a sentence or at a pause."""
    words = [word for word in words if math.isfinite(word.start) and math.isfinite(word.end)]
    if not words:
        return []
    groups = [[words[0]]]
    for last, word in pairwise(words):
        if last.word.endswith(_SENTENCE_ENDS) or word.start - last.end > PAUSE:
            groups.append([])
        groups[-1].append(word)
    return [
        Segment(group[0].start, group[-1].end, separator.join(word.word for word in group), words=tuple(group))
        for group in groups
    ]


def _scale_to_seconds(segments: list[Segment]) -> Iterator[Segment]:
    times = [time for segment in segments for time in (segment.start, segment.end) if math.isfinite(time)]
    scale = 1e-9 if max(times, default=0.0) > MAX_SECONDS else 1.0
    for segment in segments:
        words = tuple(replace(word, start=word.start * scale, end=word.end * scale) for word in segment.words)
        yield replace(segment, start=segment.start * scale, end=segment.end * scale, words=words)


def _dict_rows(value: object) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _clamp(value: float, default: float, minimum: float, maximum: float) -> float:
    return min(maximum, max(minimum, value if math.isfinite(value) else default))


def _parse_number(value: object, default: float = math.nan) -> float:
    """Some services return numbers as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return default
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return default
    return number if math.isfinite(number) else default


def clean_text(text: object) -> str:
    return " ".join(_CONTROL.sub(" ", text).split()) if isinstance(text, str) else ""


def _parse_language(value: object) -> str | None:
    """A code such as `en`; services return codes or English names."""
    if not isinstance(value, str):
        return None
    name = value.strip().lower()
    code = _CODE.fullmatch(name)
    return _codes_by_name().get(name) or (code[1] if code else None)


@cache
def _codes_by_name() -> dict[str, str]:
    """The codes of Whisper's languages by their English names."""
    return {name: code for code, name in (line.split(maxsplit=1) for line in _LANGUAGES.sections[""])}

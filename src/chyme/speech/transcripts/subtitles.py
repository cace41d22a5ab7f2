"""Subtitles from a transcript: what was said, cut into cues that can be read while they are shown."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from chyme.model import Segment
from chyme.speech.transcripts.json_format import format_speaker_label

LINE = 42  # columns; a letter of Chinese, Japanese or Korean takes two
LONGEST = 7.0  # seconds one cue may stand
SHORTEST = 1.0  # seconds a cue should stand if nothing else follows
COLUMNS_PER_SECOND = 20.0  # what people read; a cue stays that long where there is room
LINGER = 0.3  # seconds between two cues that nobody would notice but as a flicker
PAUSE = 1.0  # seconds of silence that no cue bridges
_FRAME = 0.04  # the shortest time a cue may get where many were said at once
_NAME = 24  # columns of a line that the speaker's name may take

_SENTENCE = frozenset(".!?…。！？．؟۔।")
_CLAUSE = frozenset(",;:–—、，；：،")
_CLOSING = frozenset("\"'»”’)]}）」』】》〉”’")
_KEPT = frozenset("\u200c\u200d\u200e\u200f")  # joiners and marks of direction that words are spelt with


@dataclass(frozen=True, slots=True)
class _Piece:
    """What no line break may tear: a word, or one letter where words are written without blanks."""

    text: str
    blank: bool  # before it
    start: float
    end: float
    width: int
    after: int  # what a break behind it costs


@dataclass(frozen=True, slots=True)
class _Cue:
    start: float
    end: float
    speaker: str | None
    shown: bool  # whether the line begins with the speaker
    lines: tuple[str, ...]


def srt(segments: Sequence[Segment], names: Mapping[str, str] = {}) -> str:
    """SubRip: the speaker is named where they begin to speak. `names` are people by speaker label."""
    told = []
    for number, cue in enumerate(_cues(segments, names, inline=True), 1):
        lines = "\n".join(line.replace("-->", "→") for line in cue.lines)
        who = f"{cue.speaker}: ".replace("-->", "→") if cue.shown else ""
        told.append(f"{number}\n{_clock(cue.start, ',')} --> {_clock(cue.end, ',')}\n{who}{lines}\n")
    return "\n".join(told)


def vtt(segments: Sequence[Segment], names: Mapping[str, str] = {}) -> str:
    """WebVTT: every cue carries its speaker as a voice. `names` are people by speaker label."""
    told = ["WEBVTT\n"]
    for cue in _cues(segments, names, inline=False):
        lines = "\n".join(html.escape(line, quote=False) for line in cue.lines)
        who = f"<v {html.escape(cue.speaker, quote=False)}>" if cue.speaker is not None else ""
        told.append(f"{_clock(cue.start, '.')} --> {_clock(cue.end, '.')}\n{who}{lines}\n")
    return "\n".join(told)


def _cues(segments: Sequence[Segment], names: Mapping[str, str], inline: bool) -> list[_Cue]:
    said = sorted((segment for segment in segments if _tidy(segment.text)), key=lambda segment: segment.start)
    shown = {label: _tidy(names.get(label, "")) for segment in said if (label := segment.speaker) is not None}
    worth_it = any(shown.values()) or len(shown) > 1
    display = {label: _short(name or format_speaker_label(label)) for label, name in shown.items()} if worth_it else {}
    parts: list[tuple[str | None, Sequence[_Piece]]] = []
    for speaker, run in _runs(said, display):
        head = _head(speaker) if inline and (not parts or parts[-1][0] != speaker) else 0
        parts += [(speaker, pieces) for pieces in _cut(run, head)]
    parts.sort(key=lambda part: part[1][0].start)  # people talk at once: their cues take turns
    cues: list[_Cue] = []
    for speaker, pieces in parts:
        changes = inline and speaker is not None and (not cues or cues[-1].speaker != speaker)
        lines = _laid_out(pieces, _head(speaker) if changes else 0)
        cues.append(_Cue(pieces[0].start, pieces[-1].end, speaker, changes, lines))
    return _spaced(cues)


def _head(speaker: str | None) -> int:
    return 0 if speaker is None else _width(f"{speaker}: ")


def _runs(said: Sequence[Segment], display: Mapping[str, str]) -> Iterator[tuple[str | None, list[_Piece]]]:
    """What one speaker said without a pause, however many segments it was heard in."""
    run: list[_Piece] = []
    speaking: str | None = None
    for segment in said:
        speaker = None if segment.speaker is None else display.get(segment.speaker)
        for piece in _pieces(segment):
            if run and (speaker != speaking or piece.start - run[-1].end >= PAUSE):
                yield speaking, run
                run = []
            speaking = speaker
            run.append(piece)
    if run:
        yield speaking, run


def _pieces(segment: Segment) -> list[_Piece]:
    """The pieces of a segment with their times: those of its words, stretched over the text if it was corrected."""
    atoms = [(atom, at == 0) for word in _tidy(segment.text).split() for at, atom in enumerate(_atoms(word))]
    spans = _spans(segment)
    stretch = spans[-1][1] / sum(len(atom) for atom, _ in atoms)
    pieces = []
    begun = passed = 0
    for number, (atom, blank) in enumerate(atoms, 1):
        first, passed = passed * stretch, passed + len(atom)
        while begun < len(spans) - 1 and spans[begun][1] <= first:
            begun += 1
        ended = begun
        while ended < len(spans) - 1 and spans[ended][1] < passed * stretch:
            ended += 1
        start = _within(spans[begun], first)
        end = max(start, _within(spans[ended], passed * stretch))
        after = min(_cost(atom), 1) if number == len(atoms) else _cost(atom)
        pieces.append(_Piece(atom, blank, start, end, _width(atom), after))
    return pieces


def _spans(segment: Segment) -> list[tuple[int, int, float, float]]:
    """Which letters of the segment were said from when to when."""
    spans: list[tuple[int, int, float, float]] = []
    letters, now = 0, max(segment.start, 0.0)
    latest = max(segment.end, now)
    for word in segment.words:
        length = len("".join(_tidy(word.word).split()))
        if length:
            start = min(max(word.start, now), latest)
            now = min(max(word.end, start), latest)
            spans.append((letters, letters + length, start, now))
            letters += length
    return spans or [(0, 1, max(segment.start, 0.0), latest)]


def _within(span: tuple[int, int, float, float], letters: float) -> float:
    first, last, start, end = span
    return start + (end - start) * min(max((letters - first) / (last - first), 0.0), 1.0)


def _cut(run: Sequence[_Piece], head: int) -> list[Sequence[_Piece]]:
    """The run in cues: few, evenly filled, and with breaks where a sentence or a clause ends."""
    least = [0.0] + [float("inf")] * len(run)
    before = [0] * (len(run) + 1)
    for first in range(len(run)):
        taken = head if first == 0 else 0
        row, rows = taken, 1
        for last in range(first, len(run)):
            piece = run[last]
            step = piece.width + (piece.blank and last > first)
            taken += step
            if row + step > LINE and last > first:
                row, rows = piece.width, rows + 1
            else:
                row += step
            seconds = piece.end - run[first].start
            if last > first and (rows > 2 or seconds > LONGEST):
                break
            room = 1 - min(taken / (2 * LINE), 1.0)
            cost = least[first] + 4 + 3 * room * room + piece.after + (2 if seconds < SHORTEST else 0)
            if cost < least[last + 1]:
                least[last + 1], before[last + 1] = cost, first
    cues = []
    at = len(run)
    while at:
        cues.append(run[before[at] : at])
        at = before[at]
    return cues[::-1]


def _laid_out(pieces: Sequence[_Piece], head: int) -> tuple[str, ...]:
    """One line if it fits, else two of like length, the second rather the longer."""
    whole = head + _columns(pieces)
    if whole <= LINE or len(pieces) == 1:
        return (_text(pieces),)
    best, at = float("inf"), 1
    first = head + pieces[0].width
    for next_one in range(1, len(pieces)):
        blank = int(pieces[next_one].blank)
        second = whole - first - blank
        over = max(first - LINE, 0) + max(second - LINE, 0)
        cost = abs(second - first) + (2 if first > second else 0) + 2 * pieces[next_one - 1].after + 100 * over
        if cost < best:
            best, at = cost, next_one
        first += blank + pieces[next_one].width
    return _text(pieces[:at]), _text(pieces[at:])


def _spaced(cues: Sequence[_Cue]) -> list[_Cue]:
    """The cues one after the other: none over another, each as long as it takes to read where there is room."""
    spaced: list[_Cue] = []
    free = 0.0
    for at, cue in enumerate(cues):
        start = max(cue.start, free)
        columns = sum(map(_width, cue.lines))
        end = max(cue.end, start + max(SHORTEST, columns / COLUMNS_PER_SECOND))
        if at + 1 < len(cues):
            limit = _handed_over(start, columns, cue, cues[at + 1])
            end = limit if end > limit - LINGER else end
        free = max(min(end, start + LONGEST), start + _FRAME)
        spaced.append(_Cue(start, free, cue.speaker, cue.shown, cue.lines))
    return spaced


def _handed_over(start: float, columns: int, cue: _Cue, following: _Cue) -> float:
    """When the next cue takes the screen: as it is said, or later if both were said at once."""
    if cue.end - following.start <= LINGER and following.start - start >= LINGER:
        return following.start
    share = columns / (columns + sum(map(_width, following.lines)))
    return max(following.start, start + share * (max(cue.end, following.end) - start))


def _text(pieces: Sequence[_Piece]) -> str:
    return "".join(" " * (piece.blank and at > 0) + piece.text for at, piece in enumerate(pieces))


def _columns(pieces: Sequence[_Piece]) -> int:
    return sum(piece.width + (piece.blank and at > 0) for at, piece in enumerate(pieces))


def _cost(atom: str) -> int:
    """What a break behind this costs: nothing after a sentence, little after a clause."""
    end = atom.rstrip("".join(_CLOSING))[-1:]
    return 0 if end in _SENTENCE and end else 2 if end in _CLAUSE and end else 6


def _atoms(word: str) -> list[str]:
    """A word as it may be broken: anywhere between ideographs, elsewhere only when it fills more than a line."""
    atoms: list[str] = []
    width = 0
    open_one = True  # whether the atom so far wants the next letter
    for letter in word:
        category = unicodedata.category(letter)
        attached = category[0] == "M" or category in ("Pe", "Pf", "Po", "Cf", "Sk")
        alone = _ideograph(letter)
        joins = atoms and (open_one or (attached and width < LINE) or category[0] == "M")
        if joins or (atoms and not alone and not _ideograph(atoms[-1][-1]) and width + _columns_of(letter) <= LINE):
            atoms[-1] += letter
            width += _columns_of(letter)
        else:
            atoms.append(letter)
            width = _columns_of(letter)
        open_one = category in ("Ps", "Pi") and width < LINE
    return atoms


def _ideograph(letter: str) -> bool:
    """Whether lines may break before and behind this letter. Korean is written with blanks."""
    hangul = "\u1100" <= letter <= "\u11ff" or "\u3130" <= letter <= "\u318f" or "\uac00" <= letter <= "\ud7ff"
    return not hangul and letter > "\u2fff" and unicodedata.east_asian_width(letter) in "WF"


def _width(text: str) -> int:
    return sum(map(_columns_of, text))


@lru_cache(maxsize=4096)
def _columns_of(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _tidy(text: str) -> str:
    """The text in one line, without anything that is no writing."""
    return " ".join("".join(map(_written, text)).split())


@lru_cache(maxsize=4096)
def _written(letter: str) -> str:
    category = unicodedata.category(letter)
    if category in ("Cc", "Zl", "Zp"):
        return " "
    return "" if category in ("Cs", "Cf") and letter not in _KEPT else letter


def _short(name: str) -> str:
    """A name that leaves room for what was said."""
    shortened = ""
    for letter in name:
        if _width(shortened + letter) > _NAME:
            return shortened.rstrip() + "…"
        shortened += letter
    return shortened


def _clock(seconds: float, point: str) -> str:
    thousandths = round(seconds * 1000)
    minutes, rest = divmod(thousandths, 60_000)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{rest // 1000:02d}{point}{rest % 1000:03d}"

"""Write subtitles from a transcript, cut into cues that can be read while they are shown."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from chyme.model import Artifact, Segment
from chyme.speech.transcripts.json_format import format_speaker_label

LINE = 42  # columns; a Chinese, Japanese or Korean character takes two
LONGEST = 7.0  # maximum seconds of a cue
SHORTEST = 1.0  # minimum seconds of a cue if nothing else follows
COLUMNS_PER_SECOND = 20.0  # reading speed; a cue stays that long where there is time
LINGER = 0.3  # seconds between cues that would only be seen as a flicker
PAUSE = 1.0  # seconds of silence that no cue spans
_MIN_CUE_SECONDS = 0.04  # seconds of the shortest cue, where many people speak at once
_MAX_NAME_COLUMNS = 24  # maximum columns of the speaker's name

_SENTENCE = frozenset(".!?…。！？．؟۔।")
_CLAUSE = frozenset(",;:–—、，；：،")
_CLOSING = frozenset("\"'»”’)]}）」』】》〉”’")
_SPELLING_MARKS = frozenset("\u200c\u200d\u200e\u200f")  # joiners and direction marks that words are spelt with


@dataclass(frozen=True, slots=True)
class _Piece:
    """An unbreakable unit: a word, or one character where words are written without spaces."""

    text: str
    space_before: bool
    start: float
    end: float
    width: int
    break_cost: int  # of a break after it


@dataclass(frozen=True, slots=True)
class _Cue:
    start: float
    end: float
    speaker: str | None
    show_speaker: bool  # whether the line starts with the speaker
    lines: tuple[str, ...]


def subtitle_artifacts(segments: Sequence[Segment]) -> tuple[Artifact, ...]:
    """The subtitles of a transcript in both formats, as files."""
    return Artifact("subtitles.srt", srt(segments).encode()), Artifact("subtitles.vtt", vtt(segments).encode())


def srt(segments: Sequence[Segment], names: Mapping[str, str] = {}) -> str:
    """SubRip: the speaker is named where they start to speak. `names` maps speaker labels to people."""
    blocks = []
    for number, cue in enumerate(_make_cues(segments, names, inline=True), 1):
        lines = "\n".join(line.replace("-->", "→") for line in cue.lines)
        prefix = f"{cue.speaker}: ".replace("-->", "→") if cue.show_speaker else ""
        blocks.append(f"{number}\n{_format_time(cue.start, ',')} --> {_format_time(cue.end, ',')}\n{prefix}{lines}\n")
    return "\n".join(blocks)


def vtt(segments: Sequence[Segment], names: Mapping[str, str] = {}) -> str:
    """WebVTT: every cue carries its speaker as a voice. `names` maps speaker labels to people."""
    blocks = ["WEBVTT\n"]
    for cue in _make_cues(segments, names, inline=False):
        lines = "\n".join(html.escape(line, quote=False) for line in cue.lines)
        voice = f"<v {html.escape(cue.speaker, quote=False)}>" if cue.speaker is not None else ""
        blocks.append(f"{_format_time(cue.start, '.')} --> {_format_time(cue.end, '.')}\n{voice}{lines}\n")
    return "\n".join(blocks)


def _make_cues(segments: Sequence[Segment], names: Mapping[str, str], inline: bool) -> list[_Cue]:
    spoken = sorted((segment for segment in segments if _clean_text(segment.text)), key=lambda segment: segment.start)
    given_names = {
        label: _clean_text(names.get(label, "")) for segment in spoken if (label := segment.speaker) is not None
    }
    show_names = any(given_names.values()) or len(given_names) > 1
    display = (
        {label: _shorten_name(name or format_speaker_label(label)) for label, name in given_names.items()}
        if show_names
        else {}
    )
    parts: list[tuple[str | None, Sequence[_Piece]]] = []
    for speaker, run in _speaker_runs(spoken, display):
        prefix = _prefix_width(speaker) if inline and (not parts or parts[-1][0] != speaker) else 0
        parts += [(speaker, pieces) for pieces in _split_into_cues(run, prefix)]
    parts.sort(key=lambda part: part[1][0].start)  # people speak simultaneously: their cues alternate
    cues: list[_Cue] = []
    for speaker, pieces in parts:
        changes = inline and speaker is not None and (not cues or cues[-1].speaker != speaker)
        lines = _lay_out(pieces, _prefix_width(speaker) if changes else 0)
        cues.append(_Cue(pieces[0].start, pieces[-1].end, speaker, changes, lines))
    return _schedule_cues(cues)


def _prefix_width(speaker: str | None) -> int:
    return 0 if speaker is None else _text_width(f"{speaker}: ")


def _speaker_runs(segments: Sequence[Segment], display: Mapping[str, str]) -> Iterator[tuple[str | None, list[_Piece]]]:
    """Yield what one speaker says without a pause, across segments."""
    run: list[_Piece] = []
    current_speaker: str | None = None
    for segment in segments:
        speaker = None if segment.speaker is None else display.get(segment.speaker)
        for piece in _split_segment(segment):
            if run and (speaker != current_speaker or piece.start - run[-1].end >= PAUSE):
                yield current_speaker, run
                run = []
            current_speaker = speaker
            run.append(piece)
    if run:
        yield current_speaker, run


def _split_segment(segment: Segment) -> list[_Piece]:
    """The pieces of a segment with the times of its words, stretched over the text if it was corrected."""
    atoms = [
        (atom, index == 0) for word in _clean_text(segment.text).split() for index, atom in enumerate(_split_word(word))
    ]
    spans = _letter_times(segment)
    stretch = spans[-1][1] / sum(len(atom) for atom, _ in atoms)
    pieces = []
    start_span = letters_passed = 0
    for number, (atom, space_before) in enumerate(atoms, 1):
        first, letters_passed = letters_passed * stretch, letters_passed + len(atom)
        while start_span < len(spans) - 1 and spans[start_span][1] <= first:
            start_span += 1
        end_span = start_span
        while end_span < len(spans) - 1 and spans[end_span][1] < letters_passed * stretch:
            end_span += 1
        start = _interpolate(spans[start_span], first)
        end = max(start, _interpolate(spans[end_span], letters_passed * stretch))
        break_cost = min(_break_cost(atom), 1) if number == len(atoms) else _break_cost(atom)
        pieces.append(_Piece(atom, space_before, start, end, _text_width(atom), break_cost))
    return pieces


def _letter_times(segment: Segment) -> list[tuple[int, int, float, float]]:
    """Which characters of the segment are said from when to when."""
    spans: list[tuple[int, int, float, float]] = []
    letters, position = 0, max(segment.start, 0.0)
    latest = max(segment.end, position)
    for word in segment.words:
        length = len("".join(_clean_text(word.word).split()))
        if length:
            start = min(max(word.start, position), latest)
            position = min(max(word.end, start), latest)
            spans.append((letters, letters + length, start, position))
            letters += length
    return spans or [(0, 1, max(segment.start, 0.0), latest)]


def _interpolate(span: tuple[int, int, float, float], letters: float) -> float:
    first, last, start, end = span
    return start + (end - start) * min(max((letters - first) / (last - first), 0.0), 1.0)


def _split_into_cues(run: Sequence[_Piece], prefix: int) -> list[Sequence[_Piece]]:
    """Split a run into cues: few, evenly filled, with breaks where a sentence or a clause ends."""
    lowest_cost = [0.0] + [float("inf")] * len(run)
    previous = [0] * (len(run) + 1)
    for first in range(len(run)):
        columns = prefix if first == 0 else 0
        row, rows = columns, 1
        for last in range(first, len(run)):
            piece = run[last]
            step = piece.width + (piece.space_before and last > first)
            columns += step
            if row + step > LINE and last > first:
                row, rows = piece.width, rows + 1
            else:
                row += step
            seconds = piece.end - run[first].start
            if last > first and (rows > 2 or seconds > LONGEST):
                break
            unused = 1 - min(columns / (2 * LINE), 1.0)
            cost = lowest_cost[first] + 4 + 3 * unused * unused + piece.break_cost + (2 if seconds < SHORTEST else 0)
            if cost < lowest_cost[last + 1]:
                lowest_cost[last + 1], previous[last + 1] = cost, first
    cues = []
    end = len(run)
    while end:
        cues.append(run[previous[end] : end])
        end = previous[end]
    return cues[::-1]


def _lay_out(pieces: Sequence[_Piece], prefix: int) -> tuple[str, ...]:
    """One line if it fits, otherwise two of similar length, preferably with the second longer."""
    total = prefix + _pieces_width(pieces)
    if total <= LINE or len(pieces) == 1:
        return (_join_pieces(pieces),)
    lowest_cost, split = float("inf"), 1
    first = prefix + pieces[0].width
    for index in range(1, len(pieces)):
        space = int(pieces[index].space_before)
        second = total - first - space
        overflow = max(first - LINE, 0) + max(second - LINE, 0)
        cost = abs(second - first) + (2 if first > second else 0) + 2 * pieces[index - 1].break_cost + 100 * overflow
        if cost < lowest_cost:
            lowest_cost, split = cost, index
        first += space + pieces[index].width
    return _join_pieces(pieces[:split]), _join_pieces(pieces[split:])


def _schedule_cues(cues: Sequence[_Cue]) -> list[_Cue]:
    """Schedule the cues without overlap, each for as long as it takes to read where there is time."""
    scheduled: list[_Cue] = []
    free_from = 0.0
    for index, cue in enumerate(cues):
        start = max(cue.start, free_from)
        columns = sum(map(_text_width, cue.lines))
        end = max(cue.end, start + max(SHORTEST, columns / COLUMNS_PER_SECOND))
        if index + 1 < len(cues):
            limit = _switch_time(start, columns, cue, cues[index + 1])
            end = limit if end > limit - LINGER else end
        free_from = max(min(end, start + LONGEST), start + _MIN_CUE_SECONDS)
        scheduled.append(_Cue(start, free_from, cue.speaker, cue.show_speaker, cue.lines))
    return scheduled


def _switch_time(start: float, columns: int, cue: _Cue, following: _Cue) -> float:
    """When the next cue replaces this one: when it is said, or later if both are said at once."""
    if cue.end - following.start <= LINGER and following.start - start >= LINGER:
        return following.start
    share = columns / (columns + sum(map(_text_width, following.lines)))
    return max(following.start, start + share * (max(cue.end, following.end) - start))


def _join_pieces(pieces: Sequence[_Piece]) -> str:
    return "".join(" " * (piece.space_before and index > 0) + piece.text for index, piece in enumerate(pieces))


def _pieces_width(pieces: Sequence[_Piece]) -> int:
    return sum(piece.width + (piece.space_before and index > 0) for index, piece in enumerate(pieces))


def _break_cost(atom: str) -> int:
    """The cost of a break after this: nothing after a sentence, little after a clause."""
    end = atom.rstrip("".join(_CLOSING))[-1:]
    return 0 if end in _SENTENCE and end else 2 if end in _CLAUSE and end else 6


def _split_word(word: str) -> list[str]:
    """Split a word where it may break: anywhere between ideographs, otherwise only when it is longer than a line."""
    atoms: list[str] = []
    width = 0
    takes_next = True  # whether the current atom takes the next character
    for letter in word:
        category = unicodedata.category(letter)
        attached = category[0] == "M" or category in ("Pe", "Pf", "Po", "Cf", "Sk")
        stands_alone = _is_ideograph(letter)
        joins = atoms and (takes_next or (attached and width < LINE) or category[0] == "M")
        if joins or (
            atoms and not stands_alone and not _is_ideograph(atoms[-1][-1]) and width + _letter_width(letter) <= LINE
        ):
            atoms[-1] += letter
            width += _letter_width(letter)
        else:
            atoms.append(letter)
            width = _letter_width(letter)
        takes_next = category in ("Ps", "Pi") and width < LINE
    return atoms


def _is_ideograph(letter: str) -> bool:
    """Whether lines may break before and after this character. Korean is written with spaces."""
    hangul = "\u1100" <= letter <= "\u11ff" or "\u3130" <= letter <= "\u318f" or "\uac00" <= letter <= "\ud7ff"
    return not hangul and letter > "\u2fff" and unicodedata.east_asian_width(letter) in "WF"


def _text_width(text: str) -> int:
    return sum(map(_letter_width, text))


@lru_cache(maxsize=4096)
def _letter_width(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _clean_text(text: str) -> str:
    """The text in one line, without anything that is not text."""
    return " ".join("".join(map(_clean_letter, text)).split())


@lru_cache(maxsize=4096)
def _clean_letter(letter: str) -> str:
    category = unicodedata.category(letter)
    if category in ("Cc", "Zl", "Zp"):
        return " "
    return "" if category in ("Cs", "Cf") and letter not in _SPELLING_MARKS else letter


def _shorten_name(name: str) -> str:
    """Shorten a name so that room for the text is left."""
    shortened = ""
    for letter in name:
        if _text_width(shortened + letter) > _MAX_NAME_COLUMNS:
            return shortened.rstrip() + "…"
        shortened += letter
    return shortened


def _format_time(seconds: float, point: str) -> str:
    thousandths = round(seconds * 1000)
    minutes, rest = divmod(thousandths, 60_000)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{rest // 1000:02d}{point}{rest % 1000:03d}"

"""Convert subtitles and lyrics to a readable transcript: paragraphs without times, whose places have the seconds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chyme.documents.conversion.numbered_parts import one_line
from chyme.documents.conversion.results import ConversionLimits, ConversionResult, broken_file_error
from chyme.documents.conversion.subtitle_formats import Cue, parse_subtitles
from chyme.files.extensions import LRC
from chyme.model import Place
from chyme.text.decoding import decode

MOST_CUES = 50_000  # twenty films
PAUSE_SECONDS = 4.0  # a longer pause begins a new paragraph
PARAGRAPH_WORDS, MOST_WORDS = 60, 180  # a paragraph ends with a sentence after so many words, or anywhere after more
_SENTENCE_ENDS = (".", "!", "?", "…", "。", "！", "？", '."', ".”", "?”", "!”")


def convert_subtitles(name: str, data: bytes, mime: str, limits: ConversionLimits) -> ConversionResult:
    """The text of subtitles; places have seconds, and the speaker where the file names one."""
    subtitles = parse_subtitles(decode(data, len(data)).text, mime)
    if not subtitles.cues:
        raise broken_file_error(name, "file with subtitles", "no text with a time is in it")
    writer = _Writer()
    title = one_line(subtitles.title)
    if title:
        writer.add(f"# {title}")
    for facts in subtitles.facts:
        writer.add(facts)
    notes: list[str] = []
    if len(subtitles.cues) > MOST_CUES:
        notes.append(f"the first {MOST_CUES:,} of {len(subtitles.cues):,} subtitles are kept")
    for paragraph in _paragraphs(subtitles.cues[:MOST_CUES]):
        writer.add_paragraph(paragraph, "  \n" if mime == LRC else " ")
        if writer.length > limits.text_chars:  # `convert` cuts the rest, and says so
            break
    return ConversionResult("".join(writer.texts), tuple(writer.places), tuple(notes))


@dataclass
class _Writer:
    """Collects paragraphs and the places of their cues."""

    def __post_init__(self) -> None:
        self.texts: list[str] = []
        self.places: list[Place] = []
        self.length = 0
        self._speaker: str | None = None

    def add(self, text: str) -> None:
        self._write(("\n\n" if self.length else "") + text)

    def add_paragraph(self, cues: Sequence[Cue], joint: str) -> None:
        if self.length:
            self._write("\n\n")
        for number, cue in enumerate(cues):
            start = self.length
            if number:
                self._write(joint)
                start = self.length
            elif cue.speaker and cue.speaker != self._speaker:
                self._write(f"**{cue.speaker}:** ")
            self._write(cue.text)
            if cue.start is not None:
                self.places.append(Place(start, self.length, seconds=cue.start, until=cue.until, speaker=cue.speaker))
        self._speaker = cues[0].speaker

    def _write(self, text: str) -> None:
        self.texts.append(text)
        self.length += len(text)


def _paragraphs(cues: Sequence[Cue]) -> Iterator[list[Cue]]:
    paragraph: list[Cue] = []
    words = 0
    for cue in cues:
        if paragraph and _ends_before(cue, paragraph[-1], words):
            yield paragraph
            paragraph, words = [], 0
        paragraph.append(cue)
        words += max(len(cue.text.split()), len(cue.text) // 10)  # some scripts have no spaces
    if paragraph:
        yield paragraph


def _ends_before(cue: Cue, previous: Cue, words: int) -> bool:
    """Whether a paragraph of so many words, which ends with `previous`, ends before this cue."""
    if cue.speaker != previous.speaker or words > MOST_WORDS:
        return True
    if words > PARAGRAPH_WORDS and previous.text.endswith(_SENTENCE_ENDS):
        return True
    last = previous.until if previous.until is not None else previous.start
    return cue.start is not None and last is not None and cue.start - last > PAUSE_SECONDS

"""All texts read from a file, in pieces with their places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from sqlite3 import Connection

from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import digests, documents, files
from chyme.core.store.sqlite.database import Database
from chyme.errors import UsageError
from chyme.model import Box, File, Form, Passage, Place, Status, Transcript
from chyme.search.passage_hashes import KEYWORD
from chyme.search.tables import passages
from chyme.speech.people.tables import voices
from chyme.speech.transcripts.json_format import format_speaker_label, from_json
from chyme.text.display import format_time


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text from a file, and its place."""

    source: str  # the output it comes from, or "file" for the file's own text
    text: str
    page: int | None = None
    heading: str | None = None
    seconds: float | None = None
    until: float | None = None
    speaker: str | None = None  # a name, if known
    box: Box | None = None


@dataclass(frozen=True, slots=True)
class FileTexts:
    """A file's texts in order, with its title and state."""

    file: File
    title: str
    state: str
    reason: str | None
    texts: tuple[Text, ...]


def read_file(database: Database, rules: Rules, path: str) -> FileTexts:
    """Return all texts of a file; raises UsageError if the file does not exist or has vanished."""
    with database.snapshot() as db:
        file = files.by_path(db, path) if "\0" not in path else None
        if file is None or file.vanished_at is not None:
            raise UsageError(f"{path}: is not a file of this vault")
        row = documents.of_file(db, file.id)
        return FileTexts(
            file,
            (row.title if row else None) or file.name,
            row.state if row else "processing",
            row.reason if row else None,
            tuple(texts_of(db, rules, file.id)),
        )


def texts_of(db: Connection, rules: Rules, file_id: int) -> Iterator[Text]:
    """Yield the texts of a file, without the overlaps of passages; speech one utterance at a time."""
    names = {label: person.name for label, person in voices.speakers_by_file(db, [file_id]).get(file_id, {}).items()}
    transcripts = rules.preferred(Form.TRANSCRIPT)
    transcript = _read_transcript(db, transcripts, file_id)
    transcript_done = False
    end_of: dict[str, int] = {}
    for _, passage in passages.of_file(db, file_id, KEYWORD):
        if passage.source in transcripts and transcript is not None:
            if not transcript_done:
                transcript_done = True
                yield from _utterances(*transcript, names)
            continue
        text = passage.text[max(0, end_of.get(passage.source, 0) - passage.place.start) :]
        end_of[passage.source] = passage.place.end
        if text.strip():
            yield _text_of_passage(passage, text, names)


def _read_transcript(db: Connection, transcripts: Sequence[str], file_id: int) -> tuple[str, Transcript] | None:
    rows = digests.of_file(db, file_id)
    for name in transcripts:
        if name in rows and rows[name].status is Status.COMPLETED:
            content = digests.content(db, file_id, name)
            if content:
                return name, from_json(content)
    return None


def _utterances(source: str, transcript: Transcript, names: dict[str, str | None]) -> Iterator[Text]:
    for segment in transcript.segments:
        speaker = names.get(segment.speaker or "") or (
            format_speaker_label(segment.speaker) if segment.speaker else None
        )
        yield Text(source, segment.text, seconds=segment.start, until=segment.end, speaker=speaker)


def _text_of_passage(passage: Passage, text: str, names: dict[str, str | None]) -> Text:
    place: Place = passage.place
    speaker = names.get(place.speaker or "") or (format_speaker_label(place.speaker) if place.speaker else None)
    return Text(passage.source, text, place.page, place.heading, place.seconds, place.until, speaker, place.box)


def join_texts(texts: Sequence[Text]) -> str:
    """Join the texts, with a line wherever another page or speaker begins."""
    lines: list[str] = []
    before: tuple[object, ...] = ()
    for text in texts:
        mark = (text.source, text.page, text.speaker if text.seconds is not None else None)
        if mark != before and (place := describe_place(text)):
            lines.append(f"[{place}]")
        before = mark
        lines.append(text.text.strip("\n"))
    return "\n".join(lines)


def describe_place(text: Text) -> str:
    """Describe a place in a few words: page 3; 12:04, Ada."""
    parts = [f"page {text.page}"] if text.page is not None else []
    if text.seconds is not None:
        parts.append(format_time(text.seconds))
    if text.speaker:
        parts.append(text.speaker)
    return ", ".join(parts)

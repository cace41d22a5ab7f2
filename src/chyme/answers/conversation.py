"""What is asked and answered: a question with the turns before it, sentences with their places, and the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from chyme.model import Form, Kind, Passage, Place

MAX_TURNS = 6  # earlier turns that count
MAX_EARLIER = 8  # sentences of one earlier answer
MAX_EARLIER_CHARACTERS = 600  # of one earlier question or sentence

Means = Literal["model", "quotations", "nothing"]


@dataclass(frozen=True, slots=True)
class EarlierSentence:
    """A sentence of an earlier answer, and the files it rested on."""

    text: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier question and what was answered."""

    question: str
    sentences: tuple[EarlierSentence, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A question in words, which may contain filters as a search does."""

    text: str
    turns: tuple[Turn, ...] = ()  # oldest first
    paths: tuple[str, ...] | None = None  # only these files; None for all


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that was found for a question."""

    file_id: int
    path: str
    title: str
    kind: Kind
    passage: Passage
    form: Form
    person: str | None = None  # who speaks there, if known


@dataclass(frozen=True, slots=True)
class Citation:
    """A place that a sentence rests on, with the words that stand there."""

    path: str
    title: str
    kind: Kind
    source: str
    form: Form
    place: Place
    quote: str
    person: str | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of an answer. Without citations it is not supported, and `reason` says why."""

    text: str
    citations: tuple[Citation, ...] = ()
    reason: str | None = None

    @property
    def supported(self) -> bool:
        return bool(self.citations)


@dataclass(frozen=True, slots=True)
class Began:
    """Passages were found, and the answer begins. The first event, unless nothing was found."""

    means: Means
    model: str | None
    searched: tuple[str, ...]
    files: int
    private_left_out: int


@dataclass(frozen=True, slots=True)
class Draft:
    """A sentence that the model is still writing; not checked yet."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something to know about the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer; also the last event. `means` says whether a model wrote it, or it is quoted."""

    question: str
    means: Means
    model: str | None
    sentences: tuple[Sentence, ...]
    searched: tuple[str, ...]
    notes: tuple[str, ...]
    private_left_out: int

    @property
    def found(self) -> bool:
        """Whether the files answer the question."""
        return any(sentence.supported for sentence in self.sentences)


Event = Began | Draft | Sentence | Note | Answer
Describe = Callable[[Citation], Mapping[str, str]]
NOT_FOUND = "It is not in your files."
QUOTED = "These are quotations from your files; no model wrote them."


def as_json(answer: Answer, describe: Describe | None = None) -> dict[str, object]:
    """The JSON that the command line and HTTP promise. `describe` adds how a door shows a place."""
    return {
        "question": answer.question,
        "found": answer.found,
        "means": answer.means,
        "model": answer.model,
        "sentences": [sentence_json(sentence, describe) for sentence in answer.sentences],
        "searched": list(answer.searched),
        "notes": notes_for_people(answer),
        "private_left_out": answer.private_left_out,
    }


def sentence_json(sentence: Sentence, describe: Describe | None = None) -> dict[str, object]:
    """One sentence in the same form."""
    return {
        "text": sentence.text,
        "supported": sentence.supported,
        "reason": sentence.reason,
        "citations": [_citation_json(citation, describe) for citation in sentence.citations],
    }


def _citation_json(citation: Citation, describe: Describe | None) -> dict[str, object]:
    place = citation.place
    fields: dict[str, object] = {
        "start": place.start,
        "end": place.end,
        "page": place.page,
        "heading": place.heading,
        "seconds": place.seconds,
        "until": place.until,
        "speaker": place.speaker,
        "person": citation.person if place.speaker else None,
        "box": list(place.box) if place.box else None,
    }
    shown: dict[str, object] = {
        "path": citation.path,
        "title": citation.title,
        "source": citation.source,
        "quote": citation.quote,
        "place": {name: value for name, value in fields.items() if value is not None},
    }
    return {**shown, **describe(citation)} if describe else shown


def notes_for_people(answer: Answer) -> list[str]:
    """Everything a reader should know about the answer, in whole sentences."""
    notes = [f"{note[:1].upper()}{note[1:]}." for note in answer.notes]
    if answer.means == "quotations":
        notes.insert(0, QUOTED)
    if answer.private_left_out:
        notes.append(describe_left_out(answer.private_left_out))
    struck = sum(not sentence.supported for sentence in answer.sentences)
    if struck:
        notes.append(
            f"{struck} {'sentence' if struck == 1 else 'sentences'} of the model struck: nothing supports them."
        )
    return notes


def describe_left_out(count: int) -> str:
    """How many private files were not sent to a model."""
    files = "1 private file" if count == 1 else f"{count} private files"
    return f"{files} that may answer {'was' if count == 1 else 'were'} left out: no model behind an address gets them."

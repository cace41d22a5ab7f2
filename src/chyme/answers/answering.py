"""Answer a question: search, ask the model if there is one, check each sentence, and quote where it cannot answer.

The only module of this room with effects. Everything it finds is sent as events, in order; the last is the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from chyme.answers.conversation import (
    MAX_EARLIER,
    MAX_EARLIER_CHARACTERS,
    MAX_TURNS,
    Answer,
    Began,
    Draft,
    EarlierSentence,
    Event,
    FoundPassage,
    Means,
    Note,
    Question,
    Sentence,
    Turn,
)
from chyme.answers.packing import pack
from chyme.answers.prompt import INSTRUCTIONS, heading, write_prompt
from chyme.answers.quotations import quote
from chyme.answers.retrieval import Retrieval
from chyme.answers.search_questions import plain_question, search_questions
from chyme.answers.support import Similarity, hold_against
from chyme.answers.written_sentences import AnswerReader, WrittenSentence
from chyme.errors import DigestError, UsageError
from chyme.models.providers.call_ledger import ASKED, CallLedger
from chyme.models.providers.cancellation import CallCancellation
from chyme.models.providers.endpoints import LanguageSettings
from chyme.models.providers.streamed_request import ask_streamed
from chyme.text.markup_removal import remove_markup

MOST_SENTENCES = 12  # of a model that does not stop
MOST_REPEATED = 2  # sentences that it has written before: a small model goes on like that
CHARACTERS = 12_000  # of passages sent with one question
OWN_CHARACTERS = 5_000  # the same for the model that runs here, which reads slowly
NO_SENTENCE = (
    "no sentence of the files answers this in its own words, and no model has read them; a search may know more"
)
QUOTED_CHARACTERS = 20_000  # of passages in which a quotation is looked for
Emit = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class AnswerModel:
    """The model that answers, and how it is called."""

    language: LanguageSettings
    label: str  # its name, for people
    ledger: CallLedger
    may_not_see: Callable[[str], bool]  # whether the file at this path must not be sent to it

    @property
    def characters(self) -> int:
        return min(self.language.characters, OWN_CHARACTERS if self.language.endpoint.own else CHARACTERS)


@dataclass(slots=True)
class _Writing:
    """An answer in progress."""

    question: Question
    searched: tuple[str, ...]
    emit: Emit
    sentences: list[Sentence] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.notes.append(text)
        self.emit(Note(text))

    def add(self, sentence: Sentence) -> None:
        self.sentences.append(sentence)
        self.emit(sentence)

    def end(self, means: Means, model: str | None, left_out: int) -> Answer:
        answer = Answer(
            *(self.question.text, means, model, tuple(self.sentences), self.searched, tuple(self.notes), left_out)
        )
        self.emit(answer)
        return answer


class Answering:
    """Answers questions about one vault. Calls block; several threads may ask at once."""

    def __init__(self, retrieval: Retrieval, model: AnswerModel | None, similarity: Similarity | None = None) -> None:
        self._retrieval = retrieval
        self._model = model
        self._similarity = similarity

    def answer(
        self, question: Question, emit: Emit, cancellation: CallCancellation, without_model: bool = False
    ) -> Answer:
        """Answer, telling each event; CallStopped if it was cancelled."""
        if not plain_question(question.text):
            raise UsageError("there is no question; ask something in words")
        question = replace(question, turns=_bound(question.turns))
        searched = tuple(search_questions(question.text, question.turns))
        writing = _Writing(question, searched, emit)
        only = self._retrieval.ids_of(question.paths) if question.paths is not None else None
        found = self._retrieval.find(searched, only)
        if not found:
            return writing.end("nothing", None, 0)
        left_out = 0
        model = None if without_model else self._model
        if model is not None:
            private = sorted({one.path for one in found if model.may_not_see(one.path)})
            left_out = len(private)
            packed = pack(found, model.characters, private)
            if packed and self._ask(model, writing, packed, left_out, cancellation):
                return writing.end("model", model.label, left_out)
            if not packed:
                writing.note("only private files match; they are not sent to a model, so they are quoted")
        quoted = self._quote(writing, found)
        if not quoted:
            writing.note(NO_SENTENCE)
        return writing.end("quotations" if quoted else "nothing", None, left_out)

    def find_passages(self, question: Question, may_not_see: Callable[[str], bool]) -> list[FoundPassage]:
        """The passages for a question that a reader with this restriction may see, packed."""
        searched = search_questions(question.text, _bound(question.turns))
        only = self._retrieval.ids_of(question.paths) if question.paths is not None else None
        found = self._retrieval.find(searched, only)
        return pack(found, CHARACTERS, {one.path for one in found if may_not_see(one.path)})

    def _ask(
        self,
        model: AnswerModel,
        writing: _Writing,
        packed: Sequence[FoundPassage],
        left_out: int,
        cancellation: CallCancellation,
    ) -> bool:
        """Let the model answer. False if it could not, and quotations must do."""
        turns = tuple(_without_hidden(turn, model.may_not_see) for turn in writing.question.turns)
        prompt = write_prompt(plain_question(writing.question.text), packed, turns)
        files = len({found.file_id for found in packed})
        writing.emit(Began("model", model.label, writing.searched, files, left_out))
        reader, checked = AnswerReader(), _Checked(self, writing, packed)

        def receive(piece: str) -> bool:
            for written in reader.read(piece):
                checked.add(written)
            if not checked.ended and reader.unfinished:
                writing.emit(Draft(reader.unfinished))
            return not checked.ended

        problem: DigestError | None = None
        try:
            calls = model.ledger.calls_for_answer()
            ask_streamed(model.language.endpoint, calls, ASKED, INSTRUCTIONS, prompt, receive, cancellation)
        except DigestError as error:
            problem = error
        for written in reader.finish(whole=problem is None):
            if not checked.ended:
                checked.add(written)
        if problem is not None:
            reason = str(problem).removeprefix(f"{ASKED}: ")
            supported = any(sentence.supported for sentence in writing.sentences)
            writing.note(f"the model did not finish: {reason}" if supported else f"no model answered: {reason}")
            return supported
        if writing.sentences and not any(sentence.supported for sentence in writing.sentences):
            writing.note("nothing that the model wrote is supported by your files")
            return False
        return True

    def check(self, written: WrittenSentence, packed: Sequence[FoundPassage]) -> Sentence:
        """The sentence with the places that support it, or why it is not supported."""
        verdict = hold_against(
            written.text,
            [found.passage.text for found in packed],
            [number - 1 for number in written.cited],
            self._similarity,
            [heading(found) for found in packed],
        )
        citations = tuple(self._retrieval.cite(packed[index], span) for index, span in verdict.places)
        return Sentence(written.text, citations, verdict.reason)

    def _quote(self, writing: _Writing, found: Sequence[FoundPassage]) -> bool:
        """Answer with the best sentences of the passages, if any does. Nothing leaves here, so private files count."""
        packed = pack(found, QUOTED_CHARACTERS)
        question = plain_question(writing.question.text)
        if writing.question.turns:
            question = f"{plain_question(writing.question.turns[-1].question)} {question}"
        quotations = quote(
            question, [one.passage.text for one in packed], [heading(one) for one in packed], self._similarity
        )
        if quotations:
            files = len({packed[one.index].file_id for one in quotations})
            writing.emit(Began("quotations", None, writing.searched, files, 0))
        for one in quotations:
            citation = self._retrieval.cite(packed[one.index], one.span)
            writing.add(Sentence(remove_markup(citation.quote), (citation,)))
        return bool(quotations)


class _Checked:
    """Adds the sentences of a model to the answer once each is checked."""

    def __init__(self, answering: Answering, writing: _Writing, packed: Sequence[FoundPassage]) -> None:
        self._answering, self._writing, self._packed = answering, writing, packed
        self._seen: set[str] = set()
        self._nothing_found = False
        self._repeated = 0

    @property
    def ended(self) -> bool:
        """Whether nothing more is wanted."""
        too_long = len(self._writing.sentences) >= MOST_SENTENCES or self._repeated >= MOST_REPEATED
        return self._nothing_found or too_long

    def add(self, written: WrittenSentence) -> None:
        if self.ended:
            return
        if written.text.casefold() in self._seen:
            self._repeated += 1
            return
        self._seen.add(written.text.casefold())
        if written.says_nothing_found:
            self._nothing_found = True
        else:
            self._writing.add(self._answering.check(written, self._packed))


def _bound(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    return tuple(
        Turn(
            turn.question[:MAX_EARLIER_CHARACTERS],
            tuple(replace(one, text=one.text[:MAX_EARLIER_CHARACTERS]) for one in turn.sentences[:MAX_EARLIER]),
        )
        for turn in turns[-MAX_TURNS:]
    )


def _without_hidden(turn: Turn, may_not_see: Callable[[str], bool]) -> Turn:
    """The turn without what rests on files the model must not see, or on nothing at all."""
    return Turn(turn.question, tuple(one for one in turn.sentences if _may_be_sent(one, may_not_see)))


def _may_be_sent(sentence: EarlierSentence, may_not_see: Callable[[str], bool]) -> bool:
    return bool(sentence.paths) and not any(may_not_see(path) for path in sentence.paths)

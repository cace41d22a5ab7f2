"""Classify a document: find its title, summary, date, language and tags."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from chyme.digester import Inputs, Makes, Promises, Runs, Source
from chyme.documents.properties.reader import PROPERTIES, properties_of
from chyme.files.link_files import link_note_of
from chyme.model import File, Form, Kind, Lane, Output
from chyme.models.model_digesters import SLACK_SECONDS, LanguageModelDigester, fingerprint_with_model
from chyme.models.providers.endpoints import LanguageSettings
from chyme.text import language_detection as languages
from chyme.text.decoding import read_text
from chyme.text.sized_lines import SizedLine, lines_of_scan
from chyme.understanding.classification import document_rules
from chyme.understanding.classification.data_descriptions import is_data
from chyme.understanding.classification.model_answer_checks import (
    CHECKS_VERSION,
    AnswerCheck,
    ModelAnswer,
    ModelQuestion,
    merge_with_rules,
)
from chyme.understanding.classification.model_question import (
    PROMPT_VERSION,
    SUMMARIES,
    ModelInput,
    ask_about_document,
    build_model_input,
    read_prepared,
    require_prepared,
    write_prepared,
)
from chyme.understanding.classification.result import Classification, as_json
from chyme.understanding.classification.source_text import FILE, SPOKEN, content_of
from chyme.understanding.dates.choice import RULES_VERSION as DATE_RULES
from chyme.understanding.dates.choice import dates_of
from chyme.understanding.summaries.composition import describe_empty

if TYPE_CHECKING:
    from chyme.understanding.classification.model_schema import ClassificationAnswer

KINDS = (Kind.URL, Kind.DOCUMENT, Kind.AUDIO, Kind.VIDEO, Kind.TEXT)
MAX_INPUT_CHARS = 5_000_000  # characters of a text
METADATA = "url-metadata"
PROMPTS = f"{PROMPT_VERSION}.{CHECKS_VERSION}"
_LONG_TEXTS = ("url-crawl-content", "doc-to-markdown")


class ClassifyDocument(LanguageModelDigester):
    """Asks the language model if there is one, else uses rules; `engine` in the JSON says which it was.

    Only those parts of a model's answer are used that agree with the text: see classification/model_answer_checks.py.
    """

    name = "classify-document"
    label = "Document classification"
    description = (
        "Title, one-sentence summary, date, language and tags, each with how sure it is and what it was read from."
    )
    makes = Makes(Form.CLASSIFICATION)
    reads = (METADATA, "media-preview", *_LONG_TEXTS, *SPOKEN, *SUMMARIES)
    inputs = Inputs(artifacts=False, file_name=True)
    runs = Runs(gathers=True, prepares=True)
    promises = Promises(falls_back=True)

    def __init__(self, language: LanguageSettings | None = None, seconds: float = 600.0) -> None:
        self.language = language
        self.seconds = seconds
        self.runs = replace(self.runs, lane=Lane.MODEL if language else Lane.ORDINARY)

    @property
    def fingerprint(self) -> str:
        rules = f"rules {document_rules.RULES_VERSION}.{DATE_RULES}.{PROPERTIES}, {languages.fingerprint()}"
        return fingerprint_with_model(self.language, PROMPTS, rules, long_texts=True)

    @property
    def max_text(self) -> int:
        return MAX_INPUT_CHARS

    def preload(self) -> None:
        languages.load_language_model()

    def can_digest(self, file: File) -> bool:
        return file.kind in KINDS

    def time_limit(self, source: Source) -> float:
        return self.seconds if self.language is None else max(self.seconds, self.language.seconds + SLACK_SECONDS)

    def prepare(self, source: Source) -> None:
        """Write the result of the rules and the input for the model into the scratch folder."""
        texts = _read_texts(source)
        characters = self.language.characters if self.language else 0
        write_prepared(source, build_model_input(texts, _classify_by_rules(source, texts), characters))

    def digest(self, source: Source) -> list[Output]:
        if self.language is None:
            return [self._to_output(_classify_by_rules(source, _read_texts(source)))]
        prepared = require_prepared(source)
        if not prepared.text.strip():
            return [self._to_output(prepared.rules)]
        return [self._to_output(_classify_by_model(source, prepared, self.language))]

    def without_model(self, source: Source) -> list[Output]:
        prepared = read_prepared(source.scratch)
        return [self._to_output(prepared.rules if prepared else _classify_by_rules(source, _read_texts(source)))]

    def _to_output(self, classification: Classification) -> Output:
        return Output(self.name, classification_content(classification))


def classification_content(found: Classification) -> str | None:
    """The output's content; None if no field is known."""
    is_known = found.title or found.summary or found.date or found.language or found.tags
    return as_json(found) if is_known else None


def to_model_answer(answer: ClassificationAnswer) -> ModelAnswer:
    """A model's answer in the form the checks expect."""
    return ModelAnswer(
        answer.title,
        answer.title_text,
        answer.summary,
        answer.date,
        answer.date_text,
        answer.language,
        tuple(answer.tags),
        answer.confidence.model_dump(),
    )


def last_seen(file: File) -> date:
    """The last day the file is known to have had its content: later dates in it can only be plans."""
    changed = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=file.stamp.mtime_ns // 1000)
    recorded = file.updated_at or file.created_at
    return max(changed.date(), date.fromisoformat(recorded[:10])) if recorded else changed.date()


def _classify_by_model(source: Source, prepared: ModelInput, settings: LanguageSettings) -> Classification:
    file = source.file
    is_prose = not is_data(file.mime)
    question = ModelQuestion(file.name, prepared.text, prepared.where, last_seen(file), prepared.rules, is_prose)
    check = AnswerCheck(question)
    answer = ask_about_document(
        source.calls, file.name, prepared.sent, question.language, settings, lambda reply: check(to_model_answer(reply))
    )
    return merge_with_rules(to_model_answer(answer), question, settings.model, prepared.note)


def _read_texts(source: Source) -> dict[str, str]:
    """The texts to classify by, by the output they come from."""
    texts = {name: content for name in ClassifyDocument.reads if (content := content_of(source, name))}
    if source.file.kind is Kind.TEXT:
        texts[FILE] = read_text(source, MAX_INPUT_CHARS).text
    elif source.file.kind is Kind.URL and METADATA not in texts:  # the page was not read: use the note beside the link
        note = link_note_of(source)
        if note is not None and note.text:
            texts[METADATA] = json.dumps({"title": note.title, "description": note.remark}, ensure_ascii=False)
    return texts


def _classify_by_rules(source: Source, texts: Mapping[str, str]) -> Classification:
    file, properties = source.file, properties_of(source)
    language, confidence = languages.language_of(document_rules.plain_text(texts))
    written_in, today = language or properties.language, last_seen(file)
    scanned = _scanned_lines(source)
    is_scan = bool(scanned) and not properties.front  # its properties tell the day on which it was scanned
    dates = dates_of(
        *(texts, None if is_scan else properties),
        kind=file.kind,
        mime=file.mime,
        name=file.name,
        language=written_in,
        today=today,
    )
    found = document_rules.classify_document_by_rules(
        *(texts, properties),
        mime=file.mime,
        name=file.name,
        language=language,
        language_confidence=confidence,
        dates=dates,
        scanned=scanned,
    )
    if found.summary is None and found.title and _is_empty(source):
        return replace(
            found, summary=describe_empty(file.mime, properties.pages, properties.pictures, properties.files)
        )
    return found


def _is_empty(source: Source) -> bool:
    """Whether the document was read and has no text."""
    output = source.output("doc-to-markdown") if source.file.kind is Kind.DOCUMENT else None
    return output is not None and not output.content


def _scanned_lines(source: Source) -> tuple[SizedLine, ...]:
    """The lines of the first page with their sizes, if the page was read from a picture."""
    output = source.output("doc-to-markdown") if source.file.kind is Kind.DOCUMENT else None
    return lines_of_scan(output.content or "", output.places) if output else ()

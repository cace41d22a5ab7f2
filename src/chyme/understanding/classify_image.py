"""Classify a picture: find its title, summary, date, language and tags."""

from __future__ import annotations

from dataclasses import replace

from chyme.digester import Inputs, Makes, Promises, Runs, Source
from chyme.model import File, Form, Kind, Lane, Output
from chyme.models.model_digesters import SLACK_SECONDS, VisionModelDigester, fingerprint_with_model
from chyme.models.providers.endpoints import VisionSettings
from chyme.pictures.image_objects import not_sent_note
from chyme.pictures.image_preview import preview_of
from chyme.text import language_detection as languages
from chyme.text.sentences import word_count
from chyme.text.sized_lines import SizedLine, lines_of_scan
from chyme.understanding.classification import document_rules
from chyme.understanding.classification.model_answer_checks import SURE, AnswerCheck, ModelQuestion, merge_with_rules
from chyme.understanding.classification.model_question import (
    ModelInput,
    ask_about_picture,
    read_prepared,
    require_prepared,
    write_prepared,
)
from chyme.understanding.classification.picture_rules import classify_picture_by_rules
from chyme.understanding.classification.result import Classification
from chyme.understanding.classification.source_text import content_of
from chyme.understanding.classify_document import PROMPTS, classification_content, last_seen, to_model_answer
from chyme.understanding.dates.choice import RULES_VERSION as DATE_RULES
from chyme.understanding.dates.choice import dates_of

OCR = "image-ocr"
MAX_WORDS_CHARS = 4000  # characters of the recognised words; the picture shows them anyway
PAGE_WORDS = 60  # words from which on a picture shows a page of text


class ClassifyImage(VisionModelDigester):
    """Asks the vision model if there is one, else uses rules on what the other digesters found in the picture.

    The camera's date wins over any date that a model reads in the picture.
    """

    name = "classify-image"
    label = "Picture classification"
    description = "What the picture is: title, one-sentence summary, date, language and tags, each with how sure it is."
    makes = Makes(Form.CLASSIFICATION)
    reads = ("image-preview", OCR, "image-captioning", "image-objects")
    runs = Runs(prepares=True)
    inputs = Inputs(file_name=True)
    promises = Promises(falls_back=True)

    def __init__(self, vision: VisionSettings | None = None, seconds: float = 600.0) -> None:
        self.vision = vision
        self.seconds = seconds
        self.runs = replace(self.runs, lane=Lane.MODEL if vision else Lane.ORDINARY)

    @property
    def fingerprint(self) -> str:
        rules = f"rules {document_rules.RULES_VERSION}.{DATE_RULES}, {languages.fingerprint()}"
        return fingerprint_with_model(self.vision, PROMPTS, rules)

    def can_digest(self, file: File) -> bool:
        return file.kind is Kind.IMAGE

    def time_limit(self, source: Source) -> float:
        return max(self.seconds, self.vision.seconds + SLACK_SECONDS) if self.vision else self.seconds

    def prepare(self, source: Source) -> None:
        """Write the result of the rules and the recognised words into the scratch folder."""
        write_prepared(source, ModelInput(_classify_by_rules(source), _words_in(source), where=OCR))

    def digest(self, source: Source) -> list[Output]:
        if self.vision is not None and self.waits_for(source.file):
            return [Output(self.name, classification_content(_classify_by_model(source, self.vision)))]
        classification = _classify_by_rules(source)
        if self.vision is not None:
            notes = (classification.note, not_sent_note(source.file, self.vision))
            classification = replace(classification, note="; ".join(note for note in notes if note))
        return [Output(self.name, classification_content(classification))]

    def without_model(self, source: Source) -> list[Output]:
        prepared = read_prepared(source.scratch)
        return [Output(self.name, classification_content(prepared.rules if prepared else _classify_by_rules(source)))]


def _classify_by_model(source: Source, vision: VisionSettings) -> Classification:
    file, jpeg, prepared = source.file, preview_of(source), require_prepared(source)
    words = prepared.text[:MAX_WORDS_CHARS]
    rules = prepared.rules
    question = ModelQuestion(file.name, words, OCR, last_seen(file), rules, is_prose=_is_page(words, rules))
    check = AnswerCheck(question)
    answer = ask_about_picture(
        source.calls, file.name, jpeg, words, vision, lambda reply: check(to_model_answer(reply))
    )
    return merge_with_rules(to_model_answer(answer), question, vision.model)


def _classify_by_rules(source: Source) -> Classification:
    file = source.file
    language, confidence = languages.language_of(_words_in(source))
    preview, ocr, caption, objects = contents = [content_of(source, name) for name in ClassifyImage.reads]
    texts = {name: content for name, content in zip(ClassifyImage.reads, contents, strict=True) if content}
    dates = dates_of(
        texts, None, kind=file.kind, mime=file.mime, name=file.name, language=language, today=last_seen(file)
    )
    return classify_picture_by_rules(
        preview=preview,
        ocr=ocr,
        caption=caption,
        objects=objects,
        name=file.name,
        language=language,
        language_confidence=confidence,
        dates=dates,
        lines=_lines_in(source),
    )


def _is_page(words: str, rules: Classification) -> bool:
    """Whether a picture is a page of text in a known language: then its title must share a word with it."""
    return word_count(words) >= PAGE_WORDS and rules.confidence.get("language", 0.0) >= SURE


def _lines_in(source: Source) -> tuple[SizedLine, ...]:
    output = source.output(OCR)
    return lines_of_scan(output.content or "", output.places) if output else ()


def _words_in(source: Source) -> str:
    """The words recognised in the picture, without the marks of doubt."""
    return document_rules.plain_text({OCR: content_of(source, OCR) or ""})

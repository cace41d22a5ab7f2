"""Say what a picture is: title, summary, date, language and tags."""

from __future__ import annotations

from dataclasses import replace

from chyme.digester import Digester, Source
from chyme.errors import UnreadableFile
from chyme.model import File, Kind, Lane, Output
from chyme.models.providers.endpoints import VisionSettings
from chyme.pictures.image_objects import not_sent_note
from chyme.pictures.preview_output import preview_of
from chyme.speech.recognition.piece_index import write_atomically
from chyme.text import language_detection as languages
from chyme.understanding.classification import document_rules
from chyme.understanding.classification.model_answer_checks import (
    CHECKS_VERSION,
    AnswerCheck,
    ModelQuestion,
    merge_with_rules,
)
from chyme.understanding.classification.model_input import ModelInput, model_input_to_json
from chyme.understanding.classification.model_prompt import PROMPT_VERSION, ask_about_picture
from chyme.understanding.classification.picture_rules import classify_picture_by_rules as classified
from chyme.understanding.classification.result import Classification
from chyme.understanding.classify_document import (
    PREPARED,
    SLACK_SECONDS,
    content_of,
    last_seen,
    read_prepared,
    to_model_answer,
)
from chyme.understanding.dates.document_date import RULES_VERSION as DATE_RULES

OCR = "image-ocr"
MAX_WORDS_CHARS = 4000  # characters of the words read in it, which the picture shows anyway


class ClassifyImage(Digester):
    """Asks the vision model if there is one, else answers by rules from what the others found in the picture.

    When it was taken is told by the camera, whatever a model reads in the picture.
    """

    name = "classify-image"
    label = "Picture classification"
    description = "What the picture is: title, one-sentence summary, date, language and tags, each with how sure it is."
    reads = ("image-preview", OCR, "image-captioning", "image-objects")
    family = "text"
    uses_name = True
    prepares = True
    falls_back = True

    def __init__(self, vision: VisionSettings | None = None, seconds: float = 600.0) -> None:
        self.vision = vision
        self.seconds = seconds
        self.lane = Lane.MODEL if vision else Lane.ORDINARY

    @property
    def fingerprint(self) -> str:
        rules = f"rules {document_rules.RULES_VERSION}.{DATE_RULES}, {languages.fingerprint()}"
        return (
            f"{self.vision.fingerprint}, prompts {PROMPT_VERSION}.{CHECKS_VERSION}, {rules}" if self.vision else rules
        )

    def can_digest(self, file: File) -> bool:
        return file.kind is Kind.IMAGE

    def waits_for(self, file: File) -> bool:
        return self.vision is not None and self.vision.may_send(file.mime, file.size)

    def asks(self, file: File) -> str | None:
        return self.vision.endpoint.prefix if self.vision and self.waits_for(file) else None

    def time_limit(self, source: Source) -> float:
        return max(self.seconds, self.vision.seconds + SLACK_SECONDS) if self.vision else self.seconds

    def prepare(self, source: Source) -> None:
        """Leave what the rules say, and the words that were read."""
        write_atomically(
            source.scratch / PREPARED, model_input_to_json(ModelInput(_by_rules(source), _words(source), where=OCR))
        )

    def digest(self, source: Source) -> list[Output]:
        if self.vision is not None and self.waits_for(source.file):
            return [Output(self.name, content_of(_by_model(source, self.vision)))]
        found = _by_rules(source)
        if self.vision is not None:
            notes = (found.note, not_sent_note(source.file, self.vision))
            found = replace(found, note="; ".join(note for note in notes if note))
        return [Output(self.name, content_of(found))]

    def without_model(self, source: Source) -> list[Output]:
        prepared = read_prepared(source.scratch)
        return [Output(self.name, content_of(prepared.rules if prepared else _by_rules(source)))]


def _by_model(source: Source, vision: VisionSettings) -> Classification:
    file, jpeg, prepared = source.file, preview_of(source), read_prepared(source.scratch)
    if prepared is None:
        raise UnreadableFile(f"{file.name}: what was to be asked of the model cannot be read; run it again")
    words = prepared.text[:MAX_WORDS_CHARS]
    asked = ModelQuestion(file.name, words, OCR, last_seen(file), prepared.rules, telling=False)
    check = AnswerCheck(asked)
    answer = ask_about_picture(
        source.calls, file.name, jpeg, words, vision, lambda given: check(to_model_answer(given))
    )
    return merge_with_rules(to_model_answer(answer), asked, vision.model)


def _by_rules(source: Source) -> Classification:
    file, words = source.file, _words(source)
    language, sure = languages.language_of(words)
    contents = {name: _content(source, name) for name in ClassifyImage.reads}
    return classified(
        preview=contents["image-preview"],
        ocr=contents[OCR],
        caption=contents["image-captioning"],
        objects=contents["image-objects"],
        name=file.name,
        language=language,
        language_confidence=sure,
        dates=document_rules.dates_of(
            {name: content for name, content in contents.items() if content},
            None,
            kind=file.kind,
            mime=file.mime,
            name=file.name,
            language=language,
            today=last_seen(file),
        ),
    )


def _words(source: Source) -> str:
    """What was read in the picture, without the marks of doubt."""
    return document_rules.plain_text({OCR: _content(source, OCR) or ""})


def _content(source: Source, name: str) -> str | None:
    output = source.output(name)
    return output.content if output else None

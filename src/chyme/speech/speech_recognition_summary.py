"""The digester that summarises a transcript."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from chyme.digester import Calls, Inputs, Makes, Promises, Source
from chyme.model import File, Form, Kind, Lane, Output, Transcript
from chyme.models.model_digesters import LanguageModelDigester, fingerprint_with_model
from chyme.models.providers.endpoints import LanguageSettings
from chyme.speech.speech_recognition_cleanup import LOCAL, transcript_of
from chyme.speech.transcripts.answer_checks import check_summary
from chyme.speech.transcripts.cleanup_rules import RULES as TIDY_RULES
from chyme.speech.transcripts.extractive_summary import RULES, extract_summary, is_short
from chyme.speech.transcripts.json_format import format_speaker_label
from chyme.speech.transcripts.language_model import PROMPTS, ask_for_summary, excerpt
from chyme.speech.transcripts.summary import TAKEAWAY_LENGTH, Point, Summary, as_markdown, parse_clock
from chyme.text.model_output import plain_line

if TYPE_CHECKING:
    from chyme.speech.transcripts.language_model_schemas import SpokenPoint, SpokenSummary

PICKED = f"Picked from the transcript by rules ({LOCAL})."
ITSELF = f"The transcript itself ({LOCAL})."


class SpeechRecognitionSummary(LanguageModelDigester):
    """Markdown: the main point, then topics, actions and questions, with times that link into the recording.

    Written by the language model if there is one, otherwise extracted by rules; the last line says which.
    A transcript of a few words is its own summary, and no model is asked.
    """

    name = "speech-recognition-summary"
    label = "Transcript summary"
    description = "What was said, in short: the takeaway, topics, actions and questions."
    makes = Makes(Form.SUMMARY)
    reads = ("speech-recognition",)
    inputs = Inputs(artifacts=False)
    promises = Promises(falls_back=True)

    def __init__(self, language: LanguageSettings | None = None, seconds: float = 600.0) -> None:
        self.language = language
        self.runs = replace(self.runs, lane=Lane.MODEL if language else Lane.ORDINARY)
        self.seconds = seconds

    @property
    def fingerprint(self) -> str:
        rules = f"rules {RULES}.{TIDY_RULES}"
        return fingerprint_with_model(self.language, PROMPTS, rules, long_texts=True)

    def can_digest(self, file: File) -> bool:
        return file.kind in (Kind.AUDIO, Kind.VIDEO)

    def digest(self, source: Source) -> list[Output]:
        transcript = transcript_of(source)
        if self.language is None or transcript is None or is_short(transcript):
            return self.without_model(source)
        return [
            self._output(transcript, *_summarise_by_model(source.calls, source.file.name, transcript, self.language))
        ]

    def without_model(self, source: Source) -> list[Output]:
        transcript = transcript_of(source)
        if transcript is None:
            return [Output(self.name, None)]
        return [self._output(transcript, extract_summary(transcript), ITSELF if is_short(transcript) else PICKED)]

    def _output(self, transcript: Transcript, summary: Summary, origin: str) -> Output:
        """`origin` is the line that says how it was made."""
        if not summary.takeaway:
            return Output(self.name, None)
        content, places = as_markdown(summary, transcript.language, origin)
        return Output(self.name, content, places=places)


def _summarise_by_model(
    calls: Calls, name: str, transcript: Transcript, settings: LanguageSettings
) -> tuple[Summary, str]:
    excerpts = excerpt(transcript.segments, settings.characters)

    def find_problem(answer: SpokenSummary) -> str | None:
        points = [plain_line(point.text) for point in (*answer.topics, *answer.actions, *answer.questions)]
        return check_summary(plain_line(answer.takeaway), points, excerpts.text, transcript.language)

    answer = ask_for_summary(calls, name, excerpts.text, transcript.language, settings, find_problem)
    summary = Summary(
        plain_line(answer.takeaway)[:TAKEAWAY_LENGTH],
        *(_convert_points(points, transcript) for points in (answer.topics, answer.actions, answer.questions)),
    )
    return summary, f"Written by {settings.model}{excerpts.note}."


def _convert_points(points: Iterable[SpokenPoint], transcript: Transcript) -> tuple[Point, ...]:
    speakers = {segment.speaker for segment in transcript.segments if segment.speaker is not None}
    by_name = {name.casefold(): label for label in speakers for name in (label, format_speaker_label(label))}
    converted = (
        Point(
            plain_line(point.text),
            parse_clock(point.time or "", transcript.duration),
            by_name.get((point.speaker or "").strip().casefold()),
        )
        for point in points
    )
    return tuple(point for point in converted if point.text)

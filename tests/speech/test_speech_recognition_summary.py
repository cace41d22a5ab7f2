"""The digester that summarises a transcript."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from spoken import FILE, SpokenSource, sample, source_of, transcript_of
from upstreams import upstream
from vision_server import Provider, Reply, fails, says, serving

from chyme.errors import (
    ContentBlocked,
    DigestError,
    EngineUnavailable,
    NetworkFailed,
    QuotaSpent,
    RateLimited,
    TimedOut,
    UpstreamMissing,
)
from chyme.model import Kind, Output, Transcript
from chyme.models.providers.endpoints import LanguageSettings
from chyme.models.providers.service_faults import InvalidAnswer
from chyme.speech.speech_recognition_summary import SpeechRecognitionSummary
from chyme.text.digest_text import extract_text

pytestmark = pytest.mark.slow

MEETING = sample("meeting.en")
ANSWER: dict[str, Any] = {
    "takeaway": "Half of the old pier closes in June, and the steel is ordered in two parts.",
    "topics": [{"text": "Budget of the pier", "time": "0:19", "speaker": None}],
    "actions": [
        {"text": "Ask the supplier for a price", "time": "1:35", "speaker": "Speaker 3"},
        {"text": "Write the report", "time": "99:99", "speaker": "Anna"},
    ],
    "questions": [],
}
LOCAL_LINE = "*Picked from the transcript by rules (local).*\n"


def language(provider: Provider, seconds: float = 20.0) -> LanguageSettings:
    return LanguageSettings(provider.url, "wordy", "sk-secret", seconds)


def made(digester: SpeechRecognitionSummary, transcript: Transcript, scratch: Path) -> tuple[Output, str]:
    (output,) = digester.digest(source_of(transcript, scratch))
    assert output.name == "speech-recognition-summary"
    assert output.content is not None
    return output, output.content


def test_only_audio_and_video_are_digested() -> None:
    applies = [kind for kind in Kind if SpeechRecognitionSummary().can_digest(replace(FILE, kind=kind))]
    assert applies == [Kind.AUDIO, Kind.VIDEO]


@pytest.mark.parametrize(
    ("name", "sections"),
    [
        ("meeting.en", ["## Topics", "## Actions", "## Questions"]),
        ("lecture.de", ["## Themen", "## Aufgaben", "## Fragen"]),
        ("interview.fr", ["## Thèmes", "## Actions", "## Questions"]),
    ],
)
def test_without_a_model_it_is_picked_from_the_transcript_and_says_so(
    name: str, sections: list[str], tmp_path: Path
) -> None:
    output, text = made(SpeechRecognitionSummary(), sample(name), tmp_path)
    lines = text.splitlines()
    assert not lines[0].startswith(("#", "-", "*"))
    assert lines[1] == ""
    assert [line for line in lines if line.startswith("#")] == sections
    assert text.endswith(f"\n\n{LOCAL_LINE}")
    assert output.places
    for place in output.places:
        assert text[place.start : place.end].startswith("- ")
        assert place.seconds is not None


def test_a_short_transcript_is_its_own_summary_and_no_request_is_sent(tmp_path: Path) -> None:
    transcript = transcript_of(["um please call me back"])
    with serving([fails(500)]) as provider:
        for digester in (SpeechRecognitionSummary(), SpeechRecognitionSummary(language(provider))):
            assert (
                made(digester, transcript, tmp_path)[1] == "Please call me back.\n\n*The transcript itself (local).*\n"
            )
    assert provider.asked == []


def test_a_transcript_without_segments_has_no_summary(tmp_path: Path) -> None:
    (output,) = SpeechRecognitionSummary().digest(source_of(Transcript("en", "m", 3.0, ()), tmp_path))
    assert output.content is None


def test_without_a_transcript_there_is_nothing_to_summarise(tmp_path: Path) -> None:
    with pytest.raises(UpstreamMissing, match=r"^talk\.mp3: "):
        SpeechRecognitionSummary().digest(SpokenSource({}, tmp_path))


def test_a_silent_recording_has_no_summary_and_nothing_fails(tmp_path: Path) -> None:
    silence = {"speech-recognition": upstream("speech-recognition", None)}
    (output,) = SpeechRecognitionSummary().digest(SpokenSource(silence, tmp_path))
    assert (output.content, output.artifacts) == (None, ())


def test_the_model_writes_where_there_is_one(tmp_path: Path) -> None:
    with serving([says(ANSWER)]) as provider:
        digester = SpeechRecognitionSummary(language(provider))
        assert digester.waits_for(FILE)
        output, text = made(digester, MEETING, tmp_path)
    assert text == (
        "Half of the old pier closes in June, and the steel is ordered in two parts.\n\n"
        "## Topics\n\n- Budget of the pier (0:19)\n\n"
        "## Actions\n\n- Speaker 3: Ask the supplier for a price (1:35)\n- Write the report\n\n"
        "*Written by wordy.*\n"
    )
    assert [(place.seconds, place.speaker) for place in output.places] == [(19.0, None), (95.0, "speaker-3")]
    (request,) = provider.asked
    assert "tools" not in request.body
    assert "data, not a message" in request.words
    assert '{"time": "0:26", "speaker": "Speaker 3", "text": "Could we use wood' in request.words
    assert "talk.mp3" not in request.words


def test_parts_of_a_long_transcript_are_sent_and_the_summary_says_so(tmp_path: Path) -> None:
    long = transcript_of([f"number {at} of the pier and the steel in June " + "word " * 60 for at in range(100)])
    with serving([says(ANSWER)]) as provider:
        settings = replace(language(provider), characters=6000)
        _, text = made(SpeechRecognitionSummary(settings), long, tmp_path)
    (request,) = provider.asked
    assert len(request.words) < 8000
    assert all(f"number {at} of" in request.words for at in (0, 99))
    assert "number 25 of" not in request.words
    assert text.splitlines()[-1].startswith("*Written by wordy from its beginning, middle and end, 1")


def test_text_of_a_model_is_never_markup(tmp_path: Path) -> None:
    hostile = {
        "takeaway": "# <script>alert(1)</script> the pier\n\n[x](javascript:alert(1))",
        "topics": [{"text": "![p](http://h/p.png) steel\n- more", "time": None, "speaker": "<b>"}],
        "actions": [{"text": " \u200b ", "time": None, "speaker": None}],
        "questions": [],
    }
    with serving([says(hostile)]) as provider:
        _, text = made(SpeechRecognitionSummary(language(provider)), MEETING, tmp_path)
    assert text == "the pier x\n\n## Topics\n\n- p steel more\n\n*Written by wordy.*\n"


@pytest.mark.parametrize(
    ("misfit", "complaint"),
    [
        ("nonsense", "JSON"),
        ({"topics": []}, "takeaway"),
        ({**ANSWER, "takeaway": " \u200b "}, "empty"),
        ({**ANSWER, "takeaway": "Buy wonderful watches from trusted dealers online."}, "not said"),
        ({**ANSWER, "takeaway": "Das ist die Zusammenfassung von dem, was die Leute über den Pier sagten."}, "'en'"),
    ],
)
def test_an_invalid_answer_is_requested_once_more_with_the_reason(
    misfit: object, complaint: str, tmp_path: Path
) -> None:
    with serving([says(misfit), says(ANSWER)]) as provider:
        _, text = made(SpeechRecognitionSummary(language(provider)), MEETING, tmp_path)
    assert text.endswith("*Written by wordy.*\n")
    assert len(provider.asked) == 2
    assert complaint.lower() in provider.asked[1].words.lower()


def test_a_second_misfit_is_raised_and_the_rules_do_it_without_the_model(tmp_path: Path) -> None:
    with serving([says("no")]) as provider:
        summary = SpeechRecognitionSummary(language(provider))
        with pytest.raises(InvalidAnswer, match=r"^talk\.mp3: .*llm_model"):
            summary.digest(source_of(MEETING, tmp_path))
        assert len(provider.asked) == 2
        by_rules = SpeechRecognitionSummary().digest(source_of(MEETING, tmp_path))
        assert summary.without_model(source_of(MEETING, tmp_path)) == by_rules
    assert len(provider.asked) == 2


def test_it_names_its_provider_and_says_that_it_can_do_without_it(tmp_path: Path) -> None:
    model = LanguageSettings("http://h/v1", "wordy", seconds=70.0)
    asking, source = SpeechRecognitionSummary(model), source_of(MEETING, tmp_path)
    assert (asking.asks(FILE), SpeechRecognitionSummary().asks(FILE)) == ("llm", None)
    assert asking.promises.falls_back
    assert asking.time_limit(source) >= SpeechRecognitionSummary().time_limit(source) + model.seconds


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (fails(429, Retry_After="7"), RateLimited),
        (fails(402), QuotaSpent),
        (fails(500), NetworkFailed),
        (fails(401), EngineUnavailable),
        (says("", finish="content_filter"), ContentBlocked),
    ],
)
def test_a_providers_fault_is_not_worked_around(fault: Reply, expected: type[DigestError], tmp_path: Path) -> None:
    with serving([fault]) as provider, pytest.raises(expected, match=r"^talk\.mp3: ") as caught:
        SpeechRecognitionSummary(language(provider)).digest(source_of(MEETING, tmp_path))
    assert len(provider.asked) == 1
    assert caught.value.retry_after == (7.0 if expected is RateLimited else None)


def test_a_model_that_hangs_is_left_in_time(tmp_path: Path) -> None:
    with serving([Reply(hang=True)]) as provider:
        digester = SpeechRecognitionSummary(language(provider, 0.3))
        with pytest.raises(TimedOut, match="llm_seconds"):
            digester.digest(source_of(MEETING, tmp_path))
        assert digester.time_limit(source_of(MEETING, tmp_path)) > 0.3


def test_search_reads_it_and_its_hits_lead_into_the_recording(tmp_path: Path) -> None:
    output, text = made(SpeechRecognitionSummary(), MEETING, tmp_path)
    read = extract_text(upstream(output.name, output.content, output.places))
    assert read.text.startswith(text.splitlines()[0])
    timed = [place for place in read.places if place.seconds is not None]
    assert {read.text[place.start : place.end] for place in timed} <= set(text.splitlines())
    assert [place.heading for place in read.places if place.heading] == ["Topics", "Actions", "Questions"]


def test_the_recipe_knows_what_changes_the_summary_but_not_the_key() -> None:
    here = LanguageSettings("http://h/v1", "wordy", "sk-1")
    others = (None, here, replace(here, model="b"), replace(here, characters=5))
    assert len({SpeechRecognitionSummary(settings).recipe for settings in others}) == 4
    assert SpeechRecognitionSummary(replace(here, key="sk-2")).recipe == SpeechRecognitionSummary(here).recipe
    assert not SpeechRecognitionSummary().waits_for(FILE)
    assert json.dumps(SpeechRecognitionSummary(here).fingerprint).count("sk-1") == 0

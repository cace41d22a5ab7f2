"""Speech recognised by a service behind HTTP, whatever its behaviour."""

from __future__ import annotations

import hashlib
import logging
import math
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from free_calls import FreeCalls
from speech_server import OPENAI, TEXT, WHISPER_CPP, Reply, Service, fails, says, serving
from waiting import AMPLE

from chyme.errors import (
    BudgetSpent,
    ChildCrashed,
    ContentBlocked,
    DigestError,
    EngineUnavailable,
    NetworkFailed,
    QuotaSpent,
    RateLimited,
    TimedOut,
)
from chyme.model import Transcript
from chyme.models.providers.service_faults import KeyRefused
from chyme.speech.recognition.piece_index import INDEX, Piece, PreparedRecording, write_index
from chyme.speech.recognition.remote_recogniser import ESTIMATED, transcribe
from chyme.speech.recognition.settings import SpeechEndpoint
from chyme.speech.recognition.voice_activity import SpeechSpan

pytestmark = pytest.mark.slow

KEY = "sk-very-secret"
NO_VERBOSE = fails(
    400,
    code="unsupported_value",
    message="response_format 'verbose_json' is not compatible with model 'gpt-4o-transcribe'. Use 'json' instead.",
)
NO_WORDS = fails(400, message="`timestamp_granularities[]` not supported by this model")


def write_pieces(
    scratch: Path, *pieces: tuple[list[SpeechSpan], list[SpeechSpan]], sound: bytes = b"fLaC of no matter"
) -> Path:
    """Write a folder as `prepare` leaves it: each piece has its stretches of the recording and its spans of speech."""
    made = []
    for number, (stretches, spans) in enumerate(pieces, 1):
        name, data = f"piece-{number:04}.flac", sound + str(number).encode()
        (scratch / name).write_bytes(data)
        made.append(Piece(name, len(data), hashlib.sha256(data).hexdigest(), tuple(stretches), tuple(spans)))
    end = max((piece.stretches[-1].end for piece in made), default=0.0)
    write_index(scratch, PreparedRecording(end, tuple(made)))
    return scratch


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """One piece that is the recording from its beginning."""
    return write_pieces(tmp_path, ([SpeechSpan(0.0, 6.0)], [SpeechSpan(0.1, 2.6), SpeechSpan(2.9, 4.8)]))


def transcript_from(service: Service, scratch: Path, language: str = "", seconds: float = 20.0) -> Transcript:
    endpoint = SpeechEndpoint(service.url, "whisper-1", KEY, seconds)
    return transcribe(FreeCalls(), "talk.mp3", scratch, endpoint, language, lambda _fraction: None)


def times(transcript: Transcript) -> list[tuple[float, float]]:
    return [(round(segment.start, 2), round(segment.end, 2)) for segment in transcript.segments]


def test_the_service_gets_the_piece_the_key_and_the_questions_but_not_the_files_name(scratch: Path) -> None:
    with serving([says(OPENAI)]) as service:
        transcript_from(service, scratch, "en")
    (sent,) = service.sent
    assert sent.path == "/v1/audio/transcriptions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert (sent.filename, sent.mime) == ("piece.flac", "audio/flac")
    assert sent.sound == (scratch / "piece-0001.flac").read_bytes()
    assert sorted(sent.fields) == [
        ("language", "en"),
        ("model", "whisper-1"),
        ("response_format", "verbose_json"),
        ("timestamp_granularities[]", "segment"),
        ("timestamp_granularities[]", "word"),
    ]
    assert "talk" not in repr(sent)


def test_without_a_key_or_a_language_none_is_sent(scratch: Path) -> None:
    with serving([says(OPENAI)]) as service:
        transcribe(
            FreeCalls(), "talk.mp3", scratch, SpeechEndpoint(service.url + "/", "whisper-1"), "", lambda _fraction: None
        )
    (sent,) = service.sent
    assert "authorization" not in sent.headers
    assert sent.all_of("language") == []
    assert sent.path == "/v1/audio/transcriptions"


def test_an_answer_with_words_beside_the_segments(scratch: Path) -> None:
    with serving([says(OPENAI)]) as service:
        transcript = transcript_from(service, scratch)
    assert (transcript.language, transcript.model, transcript.duration, transcript.note) == (
        "en",
        "whisper-1",
        6.0,
        None,
    )
    assert [segment.text for segment in transcript.segments] == ["The ferry leaves at seven.", "Bring your tickets."]
    assert times(transcript) == [(0.2, 2.4), (3.0, 4.6)]
    first, second = transcript.segments
    assert [word.word for word in first.words] == ["The", "ferry", "leaves", "at", "seven"]
    assert [(word.word, word.start, word.end) for word in second.words][-1] == ("tickets", 3.8, 4.6)
    assert first.speaker is None


def test_an_answer_with_parts_of_words_inside_the_segments(scratch: Path) -> None:
    with serving([says(WHISPER_CPP)]) as service:
        transcript = transcript_from(service, scratch)
    assert transcript.language == "en"
    assert times(transcript) == [(0.2, 2.4), (3.0, 4.6)]
    words = transcript.segments[0].words
    assert [word.word for word in words] == ["The", "ferry", "leaves", "at", "seven."]
    assert (words[1].start, words[1].end, words[1].probability) == (0.5, 1.0, 0.7)
    assert transcript.segments[1].words == ()


def test_words_of_a_language_without_blanks_stay_apart(scratch: Path) -> None:
    words = [{"word": " 你", "start": 0.2, "end": 0.4}, {"word": "好", "start": 0.4, "end": 0.6}]
    rows = [{"start": 0.2, "end": 0.6, "text": "你好", "words": words}]
    answer = {"text": "你好", "language": "chinese", "segments": rows}
    with serving([says(answer)]) as service:
        transcript = transcript_from(service, scratch)
    assert transcript.language == "zh"
    assert [word.word for word in transcript.segments[0].words] == ["你", "好"]


def test_words_alone_become_segments_by_their_pauses(scratch: Path) -> None:
    words = [("Bring", 0.2, 0.6), ("tickets", 0.6, 1.2), ("Seven", 2.9, 3.4), ("sharp.", 3.4, 3.8), ("Ahoy", 3.9, 4.2)]
    rows = [{"word": word, "start": start, "end": end} for word, start, end in words]
    with serving([says({"text": "…", "segments": [], "words": rows})]) as service:
        transcript = transcript_from(service, scratch)
    assert [segment.text for segment in transcript.segments] == ["Bring tickets", "Seven sharp.", "Ahoy"]
    assert times(transcript) == [(0.2, 1.2), (2.9, 3.8), (3.9, 4.2)]
    assert [word.word for word in transcript.segments[1].words] == ["Seven", "sharp."]
    assert transcript.note is None


def test_text_alone_is_spread_over_the_speech_sentence_by_sentence(scratch: Path) -> None:
    with serving([says(TEXT)]) as service:
        transcript = transcript_from(service, scratch, "en")
    assert [segment.text for segment in transcript.segments] == ["The ferry leaves at seven.", "Bring your tickets."]
    assert times(transcript) == [(0.1, 2.94), (2.94, 4.8)]  # 26 of 45 letters in 4.4 seconds of speech
    assert transcript.note == ESTIMATED
    assert transcript.language == "en"


def test_a_sentence_is_not_spread_over_a_pause_beside_it(tmp_path: Path) -> None:
    apart = write_pieces(
        tmp_path, ([SpeechSpan(10.0, 13.0), SpeechSpan(80.0, 83.0)], [SpeechSpan(10.1, 12.9), SpeechSpan(80.2, 82.6)])
    )
    with serving([says(TEXT)]) as service:
        assert times(transcript_from(service, apart)) == [(10.1, 12.9), (80.2, 82.6)]


def test_times_in_nanoseconds_are_taken_for_what_they_are(scratch: Path) -> None:
    rows = [{"start": 200_000_000, "end": 2_400_000_000, "text": "Ahoy."}]
    with serving([says({"text": "Ahoy.", "segments": rows})]) as service:
        assert times(transcript_from(service, scratch)) == [(0.2, 2.4)]


@pytest.mark.parametrize(
    ("script", "formats"),
    [
        ([NO_VERBOSE, says(TEXT)], ["verbose_json", "json"]),
        ([NO_WORDS, says(OPENAI)], ["verbose_json", "verbose_json"]),
        ([NO_WORDS, NO_VERBOSE, says(TEXT)], ["verbose_json", "verbose_json", "json"]),
    ],
)
def test_a_service_that_does_not_know_the_question_is_asked_in_a_simpler_way(
    script: list[Reply], formats: list[str], tmp_path: Path
) -> None:
    folder = write_pieces(
        tmp_path, ([SpeechSpan(0.0, 6.0)], [SpeechSpan(0.1, 5.0)]), ([SpeechSpan(6.0, 12.0)], [SpeechSpan(6.1, 11.0)])
    )
    with serving(script) as service:
        transcript = transcript_from(service, folder)
    assert [sent.all_of("response_format")[0] for sent in service.sent] == [*formats, formats[-1]]  # and remembers it
    assert all(not sent.all_of("timestamp_granularities[]") for sent in service.sent[1:])
    assert {sent.sound for sent in service.sent[:-1]} == {(folder / "piece-0001.flac").read_bytes()}
    assert len(transcript.segments) == 4


def test_a_service_that_rejects_every_way_is_not_asked_for_ever(scratch: Path) -> None:
    with serving([NO_VERBOSE]) as service, pytest.raises(EngineUnavailable, match="speech_model"):
        transcript_from(service, scratch)
    assert len(service.sent) == 2


@pytest.mark.parametrize(
    ("reply", "expected", "way_out"),
    [
        (fails(429, Retry_After="7"), RateLimited, "slow down"),
        (fails(429, code="insufficient_quota"), QuotaSpent, "quota"),
        (fails(402), QuotaSpent, "quota"),
        (fails(529), QuotaSpent, "overloaded"),
        (fails(503, code="overloaded"), QuotaSpent, "overloaded"),
        (fails(503), NetworkFailed, "503"),
        (fails(500, message="CUDA out of memory"), NetworkFailed, "HTTP 500): CUDA out of memory"),
        (fails(401), KeyRefused, "speech_key"),
        (fails(403), KeyRefused, "speech_key"),
        (fails(404, code="model_not_found"), EngineUnavailable, "speech_model"),
        (fails(408), TimedOut, "gave up"),
        (fails(413), EngineUnavailable, "20 MB"),
        (Reply(413, b"", early=True), EngineUnavailable, "20 MB"),
        (fails(400, message="Audio file might be corrupted"), EngineUnavailable, "Audio file might be corrupted"),
        (fails(400, code="content_filter"), ContentBlocked, "refused"),
        (Reply(422, b'{"detail": [{"loc": ["body", "model"]}]}'), EngineUnavailable, "HTTP 422"),
        (
            Reply(302, headers=(("Location", "/v1/elsewhere"),)),
            EngineUnavailable,
            "(HTTP 302); correct speech_url (redirects",
        ),
        (Reply(307, headers=(("Location", "/v1/elsewhere"),)), EngineUnavailable, "speech_url"),
        (Reply(body=b"<html>Welcome!", headers=(("Content-Type", "text/html"),)), EngineUnavailable, "speech_url"),
        (Reply(body=b"{{{"), EngineUnavailable, "speech_url"),
        (Reply(body=b"[" * 100_000), EngineUnavailable, "speech_url"),
        (Reply(body=b"{}"), EngineUnavailable, "speech_url"),
        (Reply(body=b"null"), EngineUnavailable, "speech_url"),
        (Reply(body=says(OPENAI).body, reset=True), NetworkFailed, "cannot be reached"),
        (Reply(endless=True), NetworkFailed, "cannot be reached"),
        (Reply(body=b"?", headers=(("Content-Encoding", "gzip"),)), NetworkFailed, "cannot be reached"),
    ],
)
def test_a_fault_is_translated_after_one_request_and_leaves_no_file(
    reply: Reply, expected: type[DigestError], way_out: str, scratch: Path
) -> None:
    with serving([reply]) as service, pytest.raises(expected) as caught:
        transcript_from(service, scratch)
    assert type(caught.value) is expected
    assert str(caught.value).startswith("talk.mp3: ")
    assert way_out in str(caught.value)
    assert [sent.path for sent in service.sent] == ["/v1/audio/transcriptions"]
    assert sorted(path.name for path in scratch.iterdir()) == ["piece-0001.flac", INDEX]


@pytest.mark.parametrize("header", ["7", "7.0"])
def test_retry_after_reaches_the_error(header: str, scratch: Path) -> None:
    with serving([fails(429, Retry_After=header)]) as service, pytest.raises(RateLimited) as caught:
        transcript_from(service, scratch)
    assert caught.value.retry_after == 7.0


def test_retry_after_may_be_a_date(scratch: Path) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    with serving([fails(429, Retry_After=later)]) as service, pytest.raises(RateLimited) as caught:
        transcript_from(service, scratch)
    assert caught.value.retry_after == pytest.approx(3600.0, abs=60)


@pytest.mark.parametrize(
    ("header", "wait"), [("nan", None), ("soon", None), ("", None), ("-3", 0.0), ("1e99", 86_400.0)]
)
def test_an_odd_retry_after_does_no_harm(header: str, wait: float | None, scratch: Path) -> None:
    with serving([fails(429, Retry_After=header)]) as service, pytest.raises(RateLimited) as caught:
        transcript_from(service, scratch)
    assert caught.value.retry_after == wait


def test_an_unreachable_service_is_a_network_failure(scratch: Path) -> None:
    with serving([says(TEXT)]) as service:
        pass
    with pytest.raises(NetworkFailed, match="cannot be reached"):
        transcript_from(service, scratch)


@pytest.mark.parametrize("reply", [Reply(hang=True), Reply(drip=True)])
def test_a_service_that_hangs_or_goes_on_for_ever_is_left_in_time(reply: Reply, scratch: Path) -> None:
    with serving([reply]) as service:
        with pytest.raises(TimedOut, match="speech_request_seconds"):
            transcript_from(service, scratch, seconds=0.5)
        assert reply.drip or service.hung_up.wait(AMPLE)


def test_asking_in_a_simpler_way_does_not_get_more_time(scratch: Path) -> None:
    late = [replace(reply, late=1.0) for reply in (NO_VERBOSE, says(TEXT))]
    with serving(late) as service, pytest.raises(TimedOut):  # the second would be in time for a separate request
        transcript_from(service, scratch, seconds=1.8)


def test_the_key_is_in_no_message_no_log_and_no_repr(scratch: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for reply in (
        fails(401, message=f"Incorrect API key provided: {KEY}"),
        fails(400, message=f"bad {KEY}"),
        fails(500, message=f"bad {KEY}"),
        Reply(500, KEY.encode()),
    ):
        with serving([reply]) as service, pytest.raises(DigestError) as caught:
            transcript_from(service, scratch)
        assert KEY not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert KEY not in caplog.text
    assert KEY not in repr(SpeechEndpoint("http://h/v1", "m", KEY))
    assert KEY not in SpeechEndpoint("http://h/v1", "m", KEY).fingerprint


def test_the_error_contains_only_a_short_clean_excerpt_of_what_the_service_says(scratch: Path) -> None:
    wordy = fails(500, message="\x1b[31mno\n\troom " + "a" * 5000)
    with serving([wordy]) as service, pytest.raises(NetworkFailed) as caught:
        transcript_from(service, scratch)
    assert "[31mno room aaa" in str(caught.value)
    assert len(str(caught.value)) < 400
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("endpoint", "setting"),
    [
        (SpeechEndpoint("ftp://host/v1", "m"), "speech_url"),
        (SpeechEndpoint("http://user:pass@host/v1", "m"), "speech_url"),
        (SpeechEndpoint("http://host:port/v1", "m"), "speech_url"),
        (SpeechEndpoint("host", "m"), "speech_url"),
        (SpeechEndpoint("http://127.0.0.1:9/v1", ""), "speech_model"),
        (SpeechEndpoint("http://127.0.0.1:9/v1", "m", "sk-ü"), "speech_key"),
        (SpeechEndpoint("http://127.0.0.1:9/v1", "m", "sk\nx"), "speech_key"),
    ],
)
def test_settings_that_cannot_work_are_named(endpoint: SpeechEndpoint, setting: str, scratch: Path) -> None:
    with pytest.raises(EngineUnavailable, match=setting) as caught:
        transcribe(FreeCalls(), "talk.mp3", scratch, endpoint, "", lambda _fraction: None)
    assert "pass" not in str(caught.value)
    assert not endpoint.key or endpoint.key not in str(caught.value)


def test_proxies_of_the_environment_are_not_used(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving([says(TEXT)]) as proxy, serving([says(OPENAI)]) as service:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        transcript_from(service, scratch)
    assert (len(proxy.sent), len(service.sent)) == (0, 1)


# Several pieces, and times


def test_pieces_are_joined_on_the_recordings_clock(tmp_path: Path) -> None:
    folder = write_pieces(
        tmp_path,
        ([SpeechSpan(10.0, 16.0)], [SpeechSpan(10.1, 15.0)]),
        ([SpeechSpan(600.0, 606.0)], [SpeechSpan(600.1, 605.0)]),
    )
    fractions: list[float] = []
    with serving([says(OPENAI)]) as service:
        endpoint = SpeechEndpoint(service.url, "whisper-1")
        transcript = transcribe(FreeCalls(), "talk.mp3", folder, endpoint, "", fractions.append)
    assert times(transcript) == [(10.2, 12.4), (13.0, 14.6), (600.2, 602.4), (603.0, 604.6)]
    assert transcript.segments[2].words[0].start == pytest.approx(600.2)
    assert transcript.duration == 606.0
    assert fractions == [0.5, 1.0]


def test_silence_that_was_left_out_counts(tmp_path: Path) -> None:
    spliced = write_pieces(
        tmp_path,
        ([SpeechSpan(10.0, 12.8), SpeechSpan(100.0, 104.0)], [SpeechSpan(10.1, 12.5), SpeechSpan(100.1, 103.0)]),
    )
    with serving([says(OPENAI)]) as service:
        transcript = transcript_from(service, spliced)
    assert times(transcript) == [(10.2, 12.4), (100.2, 101.8)]
    assert [word.start for word in transcript.segments[1].words] == pytest.approx([100.2, 100.6, 101.0])


def test_a_segment_that_lasts_until_the_next_begins_does_not_last_through_the_silence(tmp_path: Path) -> None:
    spliced = write_pieces(
        tmp_path,
        ([SpeechSpan(10.0, 13.0), SpeechSpan(100.0, 104.0)], [SpeechSpan(10.1, 12.0), SpeechSpan(101.0, 103.0)]),
    )
    rows = [{"start": 0.0, "end": 3.9, "text": "One."}, {"start": 3.9, "end": 7.0, "text": "Two."}]
    with serving([says({"text": "One. Two.", "segments": rows})]) as service:
        assert times(transcript_from(service, spliced)) == [(10.0, 12.5), (100.9, 103.5)]


@pytest.mark.parametrize(
    "rows",
    [
        [{"start": 3.0, "end": 4.0, "text": "two"}, {"start": 1.0, "end": 2.0, "text": "one"}],
        [{"start": -5, "end": 2.0, "text": "one"}, {"start": 2.0, "end": 9e5, "text": "two"}],
        [{"start": math.nan, "end": math.inf, "text": "one"}, {"start": 2.0, "end": math.nan, "text": "two"}],
        [{"start": None, "end": "x", "text": "one"}, {"start": "2.5", "end": True, "text": "two"}],
        [{"start": 2.0, "end": 1.0, "text": "one"}, {"start": 2.0, "end": 1.0, "text": "two"}],
        [{"start": 0.5, "end": 5.0, "text": "one"}, {"start": 1.0, "end": 2.0, "text": "two"}],
        [{"start": 50.0, "end": 60.0, "text": "one"}, {"start": 70.0, "end": 80.0, "text": "two"}],
        [{"start": 10**400, "end": 1, "text": "one"}, {"start": 2, "end": 3, "text": "two"}, {"text": 7}, None, "x"],
    ],
)
def test_odd_times_end_up_in_order_and_inside_the_piece(rows: list[object], tmp_path: Path) -> None:
    words = [{"word": "a", "start": math.nan, "end": 99}, {"word": "b", "start": -1, "end": -2}, {"word": 3}, []]
    rows_with_words = [{**row, "words": words} if isinstance(row, dict) else row for row in rows]
    piece = write_pieces(tmp_path, ([SpeechSpan(100.0, 106.0)], [SpeechSpan(100.0, 106.0)]))
    with serving([says({"text": "one two", "segments": rows_with_words})]) as service:
        transcript = transcript_from(service, piece)
    assert sorted(segment.text for segment in transcript.segments) == ["one", "two"]
    clock = [time for segment in transcript.segments for time in (segment.start, segment.end)]
    assert clock == sorted(clock)
    assert all(100.0 <= time <= 106.0 for time in clock)
    for segment in transcript.segments:
        inside = [time for word in segment.words for time in (word.start, word.end)]
        assert inside == sorted(inside)
        assert all(segment.start <= time <= segment.end for time in inside)
        assert all(0.0 <= word.probability <= 1.0 for word in segment.words)


def test_text_that_cannot_be_written_is_cleaned(scratch: Path) -> None:
    rows = [{"start": 0, "end": 1, "text": "a\x00b\ud800 c\n d"}]
    with serving([says({"text": "", "segments": rows})]) as service:
        assert transcript_from(service, scratch).segments[0].text == "a b c d"


def test_the_language_spoken_longest_is_the_recordings(tmp_path: Path) -> None:
    folder = write_pieces(
        tmp_path, ([SpeechSpan(0.0, 6.0)], [SpeechSpan(0.1, 2.0)]), ([SpeechSpan(6.0, 12.0)], [SpeechSpan(6.1, 11.0)])
    )
    with serving([says(OPENAI), says({**OPENAI, "language": "pt-BR"})]) as service:
        assert transcript_from(service, folder).language == "pt"


def test_silence_costs_no_request(tmp_path: Path) -> None:
    write_pieces(tmp_path)
    with serving([says(OPENAI)]) as service:
        transcript = transcript_from(service, tmp_path)
    assert transcript == Transcript(None, "whisper-1", 0.0, ())
    assert service.sent == []


def test_an_answer_without_words_is_valid(scratch: Path) -> None:
    with serving([says({"text": "", "segments": []})]) as service:
        assert transcript_from(service, scratch).segments == ()


# Answers are paid for once


def test_an_answer_is_paid_for_once(scratch: Path) -> None:
    with serving([says(OPENAI)]) as service:
        first = transcript_from(service, scratch)
        assert transcript_from(service, scratch) == first
    assert len(service.sent) == 1


def test_a_second_attempt_asks_only_for_what_is_missing(tmp_path: Path) -> None:
    pieces = [([SpeechSpan(at, at + 6.0)], [SpeechSpan(at, at + 5.0)]) for at in (0.0, 10.0, 20.0)]
    write_pieces(tmp_path, *pieces)
    with serving([says(OPENAI), fails(429), says(OPENAI)]) as service:
        with pytest.raises(RateLimited):
            transcript_from(service, tmp_path)
        transcript = transcript_from(service, tmp_path)
    sounds = [sent.sound[-1:] for sent in service.sent]
    assert sounds == [b"1", b"2", b"2", b"3"]
    assert len(transcript.segments) == 6


def test_an_answer_for_another_model_or_language_or_sound_is_not_used(scratch: Path) -> None:
    with serving([says(OPENAI)]) as service:
        endpoint = SpeechEndpoint(service.url, "whisper-1")
        for model, language in (("whisper-1", ""), ("whisper-2", ""), ("whisper-1", "de"), ("whisper-1", "")):
            transcribe(
                FreeCalls(), "talk.mp3", scratch, replace(endpoint, model=model), language, lambda _fraction: None
            )
        assert len(service.sent) == 3
        write_pieces(scratch, ([SpeechSpan(0.0, 6.0)], [SpeechSpan(0.1, 2.6)]), sound=b"fLaC of something else")
        transcript_from(service, scratch)
    assert len(service.sent) == 4


def test_a_torn_answer_is_requested_again(scratch: Path) -> None:
    with serving([says(OPENAI)]) as service:
        first = transcript_from(service, scratch)
        (answer_file,) = scratch.glob("answer-*")
        answer_file.write_bytes(answer_file.read_bytes()[:50])
        assert transcript_from(service, scratch) == first
    assert len(service.sent) == 2


def test_a_trap_in_the_folder_is_not_followed(scratch: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes((scratch / "piece-0001.flac").read_bytes())
    (scratch / "piece-0001.flac").unlink()
    (scratch / "piece-0001.flac").symlink_to(secret)
    with serving([says(OPENAI)]) as service, pytest.raises(ChildCrashed, match="not ready"):
        transcript_from(service, scratch)
    (scratch / "piece-0001.flac").unlink()
    os.mkfifo(scratch / "piece-0001.flac")
    with pytest.raises(ChildCrashed, match="not ready"):
        transcript_from(service, scratch)
    assert service.sent == []


def test_all_requests_together_have_their_time_and_the_next_attempt_goes_on(tmp_path: Path) -> None:
    write_pieces(tmp_path, *(([SpeechSpan(at, at + 6.0)], [SpeechSpan(at, at + 5.0)]) for at in range(0, 48, 8)))
    with serving([replace(says(OPENAI), late=0.6)]) as service:
        with pytest.raises(TimedOut, match="speech_request_seconds"):
            transcript_from(service, tmp_path, seconds=2.0)
        saved = len(list(tmp_path.glob("answer-*")))
        assert 1 <= saved <= 3
        sent_before = len(service.sent)
        transcript_from(service, tmp_path, seconds=AMPLE)
        assert len(service.sent) == sent_before + 6 - saved
    assert SpeechEndpoint("u", "m", seconds=600).seconds_for(0.0) == 600.0
    assert SpeechEndpoint("u", "m", seconds=600).seconds_for(4000.0) == 6600.0


def test_without_any_time_left_nothing_is_sent(scratch: Path) -> None:
    with serving([says(OPENAI)]) as service, pytest.raises(TimedOut, match="the whole recording"):
        transcript_from(service, scratch, seconds=0.0)
    assert service.sent == []


def calling(calls: FreeCalls, service: Service, scratch: Path) -> Transcript:
    return transcribe(calls, "talk.mp3", scratch, SpeechEndpoint(service.url, "whisper-1", KEY), "", lambda _: None)


def test_every_request_is_a_call_and_what_was_paid_for_is_not_paid_again(scratch: Path) -> None:
    calls = FreeCalls()
    with serving([fails(400, message="timestamp_granularities is unknown"), says(OPENAI)]) as service:
        first = calling(calls, service, scratch)
        assert [(end.outcome, end.status) for end in calls.ends] == [("refused", 400), ("answered", 200)]
        assert [(question.provider, question.model) for question in calls.questions] == [("speech", "whisper-1")] * 2
        assert len({question.hash for question in calls.questions}) == 2
        assert calls.well == ["speech"]
        for answer in scratch.glob("answer-*.json"):
            answer.unlink()
        calls.kept[calls.questions[0].hash] = calls.kept[calls.questions[1].hash]
        assert calling(calls, service, scratch) == first
    assert len(service.sent) == 2
    assert len(calls.ends) == 2


def test_a_refused_call_raises_the_refusal_and_nothing_is_sent(scratch: Path) -> None:
    refusal = BudgetSpent("the day's budget is spent", tried=False)
    calls = FreeCalls(refusal)
    with serving([says(OPENAI)]) as service, pytest.raises(BudgetSpent) as caught:
        calling(calls, service, scratch)
    assert caught.value is refusal
    assert service.sent == []
    assert (calls.well, calls.ill) == ([], [])


@pytest.mark.parametrize(
    ("reply", "outage"),
    [
        (fails(429), True),
        (fails(503), True),
        (fails(500), False),
        (Reply(body=b"{}" * 99, reset=True), False),
        (fails(401), True),
        (fails(404), True),
        (fails(405), True),
        (says("Welcome!"), True),
        (says({"text": 7}), True),
    ],
)
def test_a_services_fault_is_reported_to_the_calls(reply: Reply, outage: bool, scratch: Path) -> None:
    calls = FreeCalls()
    with serving([reply]) as service, pytest.raises(DigestError) as caught:
        calling(calls, service, scratch)
    assert calls.ill == [("speech", caught.value, outage)]
    assert calls.well == []


def test_a_service_that_rejects_the_sound_is_healthy(scratch: Path) -> None:
    calls = FreeCalls()
    with serving([fails(422)]) as service, pytest.raises(EngineUnavailable):
        calling(calls, service, scratch)
    assert (calls.well, calls.ill) == (["speech"], [])


def test_the_fingerprint_contains_address_and_model_and_never_the_key() -> None:
    endpoint = SpeechEndpoint("http://user:pw@host:8000/v1", "whisper-1", KEY)
    assert "whisper-1 at host:8000 with key" in endpoint.fingerprint
    assert "pw" not in endpoint.fingerprint
    assert endpoint.fingerprint != replace(endpoint, key="").fingerprint
    assert endpoint.fingerprint == replace(endpoint, key="another", seconds=1.0).fingerprint


def test_the_serving_process_loads_no_native_library(scratch: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from chyme.speech.recognition.remote_recogniser import transcribe;"
        "from free_calls import FreeCalls;"
        "from chyme.speech.recognition.settings import SpeechEndpoint; import chyme.speech.recognition.pieces;"
        "heavy = [name for name in ('httpx2', 'pydantic_ai') if name in sys.modules];"
        "transcribe(FreeCalls(), 'a', Path(sys.argv[1]), SpeechEndpoint(sys.argv[2], 'm'), '', print);"
        "print(heavy, [name for name in ('av', 'numpy', 'onnxruntime', 'faster_whisper') if name in sys.modules])"
    )
    with serving([says(OPENAI)]) as service:
        output = subprocess.run(
            [sys.executable, "-c", code, str(scratch), service.url],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "support")},
        ).stdout
    assert output.split() == ["1.0", "[]", "[]"]

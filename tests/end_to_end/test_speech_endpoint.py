"""Speech and language models set up by address: what is sent where, what is refused, and no key in any message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running_chyme import SAMPLES, RunningChyme
from speech_server import OPENAI, Service, fails, says, serving
from vision_server import Asked, Reply
from vision_server import says as llm_says
from vision_server import serving as llm_serving

KEY = "sk-very-secret-4712"
TALK = (SAMPLES / "speech/memo.ogg").read_bytes()

pytestmark = pytest.mark.slow


@pytest.fixture
def chyme(tmp_path: Path) -> Iterator[RunningChyme]:
    running = RunningChyme(tmp_path)
    yield running
    assert running.close() == []


def configure(chyme: RunningChyme, service: Service) -> None:
    chyme.settings |= {"CHYME_SPEECH_URL": service.url, "CHYME_SPEECH_MODEL": "listener", "CHYME_SPEECH_KEY": KEY}


def digest_of(chyme: RunningChyme, path: str, name: str) -> dict[str, Any]:
    digests = chyme.run("show", path, "--json").json["digests"]
    return next(digest for digest in digests if digest["digester"] == name)


def test_what_the_endpoint_recognises_is_found_at_its_second(chyme: RunningChyme) -> None:
    chyme.drop("talks/harbour.ogg", TALK)
    chyme.drop("hush.flac", (SAMPLES / "speech/silence.flac").read_bytes())
    with serving([says(OPENAI)]) as service:
        configure(chyme, service)
        chyme.run("digest")
        (sent,) = service.sent  # silence is not sent

    assert sent.sound.startswith(b"fLaC")
    assert "harbour" not in sent.filename
    assert {name.lower(): value for name, value in sent.headers.items()}["authorization"] == f"Bearer {KEY}"
    transcript = json.loads(digest_of(chyme, "talks/harbour.ogg", "speech-recognition")["content"])
    assert (transcript["model"], transcript["language"]) == ("listener", "en")
    (hit,) = chyme.run("search", "tickets", "--json").json["hits"]
    assert hit["path"] == "talks/harbour.ogg"
    assert hit["place"]["seconds"] == pytest.approx(transcript["segments"][-1]["start"])
    assert "Bring your tickets." in chyme.run("show", "talks/harbour.ogg", "--srt").out
    silent = digest_of(chyme, "hush.flac", "speech-recognition")
    assert (silent["status"], silent["content"]) == ("completed", None)
    assert chyme.run("verify").code == 0


def test_an_endpoint_that_refuses_fails_only_its_digests_and_no_key_is_printed(chyme: RunningChyme) -> None:
    chyme.drop("harbour.ogg", TALK)
    chyme.drop("note.txt", "a note about oakum")
    with serving([fails(401, message=f"wrong key {KEY}")]) as service:
        configure(chyme, service)
        ended = chyme.run("digest")
    refused = digest_of(chyme, "harbour.ogg", "speech-recognition")
    assert (refused["status"], refused["error_category"]) == ("failed", "unavailable")
    assert "speech_key" in refused["error"]
    assert KEY not in ended.out + ended.err + json.dumps(refused)
    assert [hit["path"] for hit in chyme.run("search", "oakum", "--json").json["hits"]] == ["note.txt"]


def test_a_language_model_corrects_and_summarises_and_its_rewriting_is_refused(chyme: RunningChyme) -> None:
    sentences = [
        f"the ferry number {number} leaves at seven in the morning" for number in ("one", "two", "three", "four")
    ]
    segments = [{"start": 2.0 * at, "end": 2.0 * at + 1.5, "text": text} for at, text in enumerate(sentences)]
    transcript = {
        "task": "transcribe",
        "language": "english",
        "duration": 8.0,
        "text": " ".join(sentences),
        "segments": segments,
    }
    summary = {
        "takeaway": "Four ferries leave at seven in the morning.",
        "topics": [{"text": "The ferry", "time": "0:00", "speaker": None}],
        "actions": [],
        "questions": [],
    }

    obedient = [True]

    def answer(request: Asked) -> Reply:
        if "takeaway" in json.dumps(request.body):
            return llm_says(summary)
        corrected = [text.capitalize() + "." for text in sentences] if obedient else ["One thing."]
        return llm_says({"segments": [{"index": at, "text": text} for at, text in enumerate(corrected, 1)]})

    with serving([says(transcript)]) as service, llm_serving([answer]) as provider:
        configure(chyme, service)
        chyme.settings |= {"CHYME_LLM_URL": provider.url, "CHYME_LLM_MODEL": "wordy", "CHYME_LLM_KEY": KEY}
        chyme.drop("good.ogg", TALK)
        assert chyme.run("digest").code == 0
        obedient.clear()
        chyme.drop("bad.ogg", TALK + b"\0")
        chyme.run("digest")

    good = json.loads(digest_of(chyme, "good.ogg", "speech-recognition-cleanup")["content"])
    raw = json.loads(digest_of(chyme, "good.ogg", "speech-recognition")["content"])
    assert good["engine"] == "wordy"
    assert good["segments"][0]["text"] == "The ferry number one leaves at seven in the morning."
    times = [
        [(segment["start"], segment["end"], segment["speaker"]) for segment in content["segments"]]
        for content in (good, raw)
    ]
    assert times[0] == times[1]
    bad = json.loads(digest_of(chyme, "bad.ogg", "speech-recognition-cleanup")["content"])
    assert (bad["engine"], len(bad["segments"])) == ("local", len(good["segments"]))
    assert bad["degraded"]
    summary_text = digest_of(chyme, "good.ogg", "speech-recognition-summary")["content"]
    assert summary_text.startswith("Four ferries leave at seven in the morning.\n")
    assert "wordy" in summary_text.splitlines()[-1]
    assert all("tools" not in request.body for request in provider.asked)

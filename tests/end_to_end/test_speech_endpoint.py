"""Speech by an endpoint: sound goes to one address in pieces, silence does not, and faults tell no key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running_chyme import SAMPLES, RunningChyme
from speech_server import OPENAI, Service, fails, says, serving

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
    told = chyme.run("show", path, "--json").json["digests"]
    return next(one for one in told if one["digester"] == name)


def test_what_the_endpoint_hears_is_found_at_its_second(chyme: RunningChyme) -> None:
    chyme.drop("talks/harbour.ogg", TALK)
    chyme.drop("hush.flac", (SAMPLES / "speech/silence.flac").read_bytes())
    with serving([says(OPENAI)]) as service:
        configure(chyme, service)
        chyme.run("digest")
        (sent,) = service.sent  # silence is not sent

    assert sent.sound.startswith(b"fLaC")
    assert "harbour" not in sent.filename
    assert {name.lower(): value for name, value in sent.headers.items()}["authorization"] == f"Bearer {KEY}"
    heard = json.loads(digest_of(chyme, "talks/harbour.ogg", "speech-recognition")["content"])
    assert (heard["model"], heard["language"]) == ("listener", "en")
    (hit,) = chyme.run("search", "tickets", "--json").json["hits"]
    assert hit["path"] == "talks/harbour.ogg"
    assert hit["place"]["seconds"] == pytest.approx(heard["segments"][-1]["start"])
    assert "Bring your tickets." in chyme.run("show", "talks/harbour.ogg", "--srt").out
    silent = digest_of(chyme, "hush.flac", "speech-recognition")
    assert (silent["status"], silent["content"]) == ("completed", None)
    assert chyme.run("verify").code == 0


def test_an_endpoint_that_refuses_fails_only_its_digests_and_tells_no_key(chyme: RunningChyme) -> None:
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

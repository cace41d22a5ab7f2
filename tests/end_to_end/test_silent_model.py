"""While a model never answers, files are found by their own text, through the real server."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import local_sites
import pytest
from local_web import LocalWeb
from model_server import Answer, Asked, ModelServer, hangs
from running_chyme import SAMPLES, RunningChyme, Server, wait_until

from chyme.models.weights.catalog import EMBEDDING, SPEECH
from chyme.models.weights.folder import path_of

pytestmark = pytest.mark.slow

SECONDS = 120.0  # for what takes a second on a quiet machine
MODEL_SECONDS = "600"  # longer than any test: no call ends because it took too long
NOTE = "The plumber replaced the thermostat of the boiler, and charged us for it.\n"
by_meaning = path_of(EMBEDDING) is not None


class SilentModel:
    """A provider that accepts every question and answers none until it is released."""

    def __init__(self) -> None:
        self.released = threading.Event()
        self.server = ModelServer(self._answer)

    def _answer(self, _request: Asked) -> Answer:
        self.released.wait(SECONDS * 4)
        return hangs()

    @property
    def open_calls(self) -> int:
        return sum(request.ended is None for request in self.server.requests)


@pytest.fixture
def silent(chyme: RunningChyme) -> Iterator[SilentModel]:
    model = SilentModel()
    with model.server as server:
        for name in ("LLM", "VISION"):
            chyme.settings |= {
                f"CHYME_{name}_URL": server.url,
                f"CHYME_{name}_MODEL": "silent",
                f"CHYME_{name}_SECONDS": MODEL_SECONDS,
            }
        try:
            yield model
        finally:
            model.released.set()


def finds(server: Server, words: str, path: str, mode: str = "words") -> bool:
    answer = server.http.get("/api/search", params={"q": words, "mode": mode}).json()
    return path in [hit["path"] for hit in answer["hits"]]


def statuses_while_silent(
    chyme: RunningChyme, silent: SilentModel, path: str, words: str, meaning: str
) -> dict[str, str]:
    """Wait until the file is found by words and by meaning and its model is called; return each digest's status."""
    server = chyme.serve()
    wait_until(lambda: finds(server, words, path), SECONDS)
    if by_meaning:
        wait_until(lambda: finds(server, meaning, path, "meaning"), SECONDS)
    wait_until(lambda: silent.open_calls, SECONDS)

    assert [request.ended for request in silent.server.requests] == [None] * silent.server.count, "it was answered"
    assert finds(server, words, path)
    state = dict(chyme.rows("SELECT digester, status FROM digests WHERE file_path = ?", path))
    assert state["search-keyword"] == "completed"
    silent.released.set()
    server.end(signal.SIGTERM)
    return state


def test_a_note_is_found_while_the_call_is_open(chyme: RunningChyme, silent: SilentModel) -> None:
    chyme.drop("plumber.txt", NOTE)
    state = statuses_while_silent(chyme, silent, "plumber.txt", "thermostat", "repair of the heating")
    assert state["classify-document"] == "in-progress"


def test_a_pdf_is_found_while_the_call_is_open(chyme: RunningChyme, silent: SilentModel) -> None:
    chyme.drop("contract.pdf", (SAMPLES / "contract.pdf").read_bytes())
    state = statuses_while_silent(chyme, silent, "contract.pdf", "lighthouse", "lighthouse")
    assert state["classify-document"] == "in-progress"


def test_a_picture_is_found_by_the_words_in_it_before_it_is_described(chyme: RunningChyme, silent: SilentModel) -> None:
    chyme.drop("page.jpg", (SAMPLES / "scenes/page.jpg").read_bytes())
    state = statuses_while_silent(chyme, silent, "page.jpg", "harbour", "the sea at low tide")
    assert "in-progress" in (state["image-objects"], state["image-captioning"])
    assert state["classify-image"] != "completed"


def test_a_web_page_is_found_before_it_is_summarised(chyme: RunningChyme, silent: SilentModel) -> None:
    with LocalWeb() as web:
        chyme.settings |= {"CHYME_CRAWL": "true", "CHYME_WEB_ALLOW": web.host, "CHYME_WEB_DELAY": "0"}
        chyme.drop("swifts.txt", local_sites.article(web))
        state = statuses_while_silent(chyme, silent, "swifts.txt", "swifts", "a colony of birds")
    assert state["url-crawl-summary"] == "in-progress"


@pytest.mark.skipif(path_of(SPEECH) is None, reason="the weights for speech are missing: chyme weights speech")
def test_a_recording_is_found_before_it_is_corrected(chyme: RunningChyme, silent: SilentModel) -> None:
    chyme.drop("memo.ogg", (SAMPLES / "speech/memo.ogg").read_bytes())
    state = statuses_while_silent(chyme, silent, "memo.ogg", "piano", "a musical instrument arrives")
    assert "in-progress" in (state["speech-recognition-cleanup"], state["speech-recognition-summary"])


def test_a_file_whose_call_hangs_delays_no_other(chyme: RunningChyme, silent: SilentModel) -> None:
    """More notes than there are places for models: each is found."""
    names = [f"note-{number}.txt" for number in range(12)]
    for number, name in enumerate(names):
        chyme.drop(name, f"{NOTE}This is copy number {number} with the word zebra{number}.\n")
    server = chyme.serve()
    for number, name in enumerate(names):
        wait_until(lambda number=number, name=name: finds(server, f"zebra{number}", name), SECONDS)  # type: ignore[misc]
    if by_meaning:
        counted = "SELECT count(*) FROM digests WHERE digester = 'search-semantic' AND status = 'completed'"
        wait_until(lambda: chyme.rows(counted) == [(len(names),)], SECONDS)
    assert [request.ended for request in silent.server.requests] == [None] * silent.server.count
    silent.released.set()
    server.end(signal.SIGTERM)

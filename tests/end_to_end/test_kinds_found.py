"""One example of every kind of file: each is found by its words, at the place where they are."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from running_chyme import SAMPLES, RunningChyme

pytestmark = pytest.mark.slow

KINDS = SAMPLES / "kinds"


@dataclass(frozen=True)
class Expectation:
    """A question whose first hits include this file, at a place with at least these fields."""

    file: str
    query: str
    place: dict[str, Any]

    def missing_in(self, hits: list[dict[str, Any]]) -> str | None:
        """What is wrong with the hits; None if all is well."""
        hit = next((hit for hit in hits if hit["path"] == self.file), None)
        if hit is None:
            return f"{self.file}: not found by {self.query!r}, but {[hit['path'] for hit in hits]}"
        places = [passage["place"] or {} for passage in [hit, *hit["passages"]]]
        if any(self.place.items() <= place.items() for place in map(_comparable, places)):
            return None
        return f"{self.file}: {self.query!r} is at {places}, not at {self.place}"


def _comparable(place: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in place.items()}


def expectations() -> list[Expectation]:
    """All of every JSON file in `expected`: each part of chyme has its own."""
    return [
        Expectation(fields["file"], fields["query"], _comparable(fields["place"]))
        for path in sorted((KINDS / "expected").glob("*.json"))
        for fields in json.loads(path.read_text())
    ]


@pytest.fixture(scope="module")
def digested(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningChyme]:
    """A vault with all samples, digested once."""
    chyme = RunningChyme(tmp_path_factory.mktemp("kinds"))
    for path in KINDS.rglob("*"):
        if path.is_file() and "expected" not in path.relative_to(KINDS).parts:
            chyme.drop(path.relative_to(KINDS).as_posix(), path.read_bytes())
    ended = chyme.run("digest", seconds=280)
    assert ended.code == 0, ended.out + ended.err
    yield chyme
    assert chyme.close() == []


def test_every_kind_is_found_by_its_words_at_its_place(digested: RunningChyme) -> None:
    expected = expectations()
    missing = []
    server = digested.serve()
    for one in expected:
        answer = server.http.get("/api/search", params={"q": one.query, "mode": "words", "limit": 5})
        missing.append(one.missing_in(answer.raise_for_status().json()["hits"]))
    server.end(signal.SIGTERM)
    assert [message for message in missing if message] == []
    assert expected
    samples = {path.relative_to(KINDS).as_posix() for path in KINDS.rglob("*") if path.is_file()}
    assert {one.file for one in expected} <= samples


def test_the_command_line_finds_them_too(digested: RunningChyme) -> None:
    one = expectations()[0]
    hits = digested.run("search", one.query, "--json").json["hits"]
    assert one.missing_in(hits) is None

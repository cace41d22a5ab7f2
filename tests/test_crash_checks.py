"""What the comparison after kills forgives, and what it does not."""

from __future__ import annotations

import json

import pytest

from bench.crash_checks import Row, differences, in_one_spelling


def outcome(
    tags: list[str], words: int, passages: int = 1, status: str = "completed", reused: dict[str, str] | None = None
) -> dict[Row, Row]:
    told = {"tags": tags, "proposed": ["books"], **({"reused": reused} if reused else {})}
    indexed = json.dumps({"indexed": True, "passages": passages, "words": words})
    return {
        ("a.epub", "tags"): (status, json.dumps(told), f"hash of {tags}", None),
        ("a.epub", "search-keyword"): ("completed", indexed, f"hash of {indexed}", None),
        ("a.epub", "slug"): ("completed", None, None, None),
    }


def found(ours: dict[Row, Row], theirs: dict[Row, Row]) -> list[str]:
    return list(differences(in_one_spelling(ours, theirs), theirs, "digest"))


def test_a_tag_may_be_spelt_as_whoever_came_first_spelt_it() -> None:
    assert found(outcome(["books"], 9), outcome(["book"], 8)) == []
    assert found(outcome(["books"], 9), outcome(["book"], 8, reused={"books": "book"})) == []
    assert found(outcome(["book"], 8, reused={"books": "book"}), outcome(["books"], 9)) == []


@pytest.mark.parametrize(
    "ours",
    [
        outcome(["ferries"], 9),
        outcome(["books", "ferries"], 9),
        outcome(["books"], 9, passages=0),
        outcome(["books"], 9, status="failed"),
        outcome(["book"], 9),
        outcome([], 8),
        outcome(["books"], 9, reused={"books": "ferries"}),
        {key: row for key, row in outcome(["books"], 9).items() if key[1] != "slug"},
    ],
)
def test_anything_else_is_lost(ours: dict[Row, Row]) -> None:
    assert found(ours, outcome(["book"], 8))

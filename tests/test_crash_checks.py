"""Which differences the comparison after kills tolerates, and which it reports."""

from __future__ import annotations

import json

import pytest

from bench.crash_checks import Row, differences, in_one_spelling


def outcome(
    tags: list[str], words: int, passages: int = 1, status: str = "completed", reused: dict[str, str] | None = None
) -> dict[Row, Row]:
    content = {"tags": tags, "proposed": ["books"], **({"reused": reused} if reused else {})}
    indexed = json.dumps({"indexed": True, "passages": passages, "words": words})
    return {
        ("a.epub", "tags"): (status, json.dumps(content), f"hash of {tags}", None),
        ("a.epub", "search-keyword"): ("completed", indexed, f"hash of {indexed}", None),
        ("a.epub", "slug"): ("completed", None, None, None),
    }


def differences_between(ours: dict[Row, Row], theirs: dict[Row, Row]) -> list[str]:
    return list(differences(in_one_spelling(ours, theirs), theirs, "digest"))


def test_a_tag_may_have_the_spelling_of_the_file_that_came_first() -> None:
    assert differences_between(outcome(["books"], 9), outcome(["book"], 8)) == []
    assert differences_between(outcome(["books"], 9), outcome(["book"], 8, reused={"books": "book"})) == []
    assert differences_between(outcome(["book"], 8, reused={"books": "book"}), outcome(["books"], 9)) == []


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
def test_any_other_difference_is_reported(ours: dict[Row, Row]) -> None:
    assert differences_between(ours, outcome(["book"], 8))

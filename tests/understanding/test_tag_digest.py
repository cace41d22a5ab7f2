"""The digest of a file's tags: its format, how persons' rules change it, and how that is undone."""

from __future__ import annotations

import json

import pytest

from chyme.understanding.tags.digest import TagChange, TagDigest, as_json, from_json, undo_decision, update_digest
from chyme.understanding.tags.names import apply_rules

DIGEST = TagDigest(("invoice", "rent"), "generated", ("bill", "rent"), {"bill": "invoice"})


def test_a_digest_survives_being_written_and_read() -> None:
    assert from_json(as_json(DIGEST)) == DIGEST
    assert json.loads(as_json(DIGEST))["reused"] == {"bill": "invoice"}
    plain = TagDigest(("rent",), "classification", ("rent",))
    assert "reused" not in json.loads(as_json(plain))
    assert from_json(as_json(plain)) == plain


@pytest.mark.parametrize("content", [None, "", "plain", "[]", "{}", '{"tags": 3}', "[" * 100_000])
def test_other_content_is_no_digest_of_tags(content: str | None) -> None:
    assert from_json(content) is None


def test_values_that_are_not_text_are_left_out() -> None:
    found = from_json('{"tags": ["a", 1, null], "proposed": "x", "reused": [1]}')
    assert found == TagDigest(("a",), "", ("a",), {})


def test_rules_are_followed_to_their_end_and_never_in_a_circle() -> None:
    rules = {"a": "b", "b": "c", "bad": None, "worse": "bad", "x": "y", "y": "x"}
    assert [apply_rules(tag, rules) for tag in ("a", "b", "c", "bad", "worse")] == ["c", "c", "c", None, None]
    assert apply_rules("x", rules) == "x"


def test_an_updated_digest_records_what_became_of_each_proposal() -> None:
    found = update_digest(DIGEST, ["payment", "rent"], {"invoice": "payment"})
    assert (found.tags, found.reused) == (("payment", "rent"), {"bill": "payment"})
    assert update_digest(DIGEST, ["rent"], {"invoice": None}).reused == {}


def test_a_file_left_as_it_was_gets_back_what_it_had() -> None:
    assert undo_decision(["x", "rent"], None, TagChange(["a", "b", "rent"], ["x", "rent"]), {"a": "x"}) == [
        "a",
        "b",
        "rent",
    ]


def test_a_file_digested_since_gets_what_it_proposed() -> None:
    digest = TagDigest(("x", "rent"), "generated", ("a", "rent"), {"a": "x"})
    assert undo_decision(["x", "rent"], digest, None, {"a": "x"}) == ["a", "rent"]
    both = TagDigest(("x", "rent"), "generated", ("a", "x", "rent"), {"a": "x"})
    assert undo_decision(["x", "rent"], both, None, {"a": "x"}) == ["a", "x", "rent"]
    other = TagDigest(("x",), "generated", ("a", "q"), {"a": "x", "q": "x"})
    assert undo_decision(["x"], other, TagChange(["a"], ["x", "z"]), {"a": "x"}) == ["a", "x"]
    assert undo_decision(["x"], None, None, {"a": "x"}) == ["x"]
    assert undo_decision(["x"], TagDigest(("x",), "generated", ("x",)), None, {"a": "x"}) == ["x"]

"""What an import changes, by what the export says, what it said last time, and what is set now."""

from __future__ import annotations

from typing import Any

import pytest

from chyme.imports.entries import Values
from chyme.imports.merging import merge


@pytest.mark.parametrize(
    ("wanted", "given", "edits", "becomes"),
    [
        ("New", None, {}, "New"),  # the first time
        ("New", None, {"title": "Mine"}, None),  # somebody set it before the first import
        ("New", None, {"title": None}, None),  # somebody decided that there is none
        ("New", "Old", {"title": "Old"}, "New"),  # it changed there
        ("New", "Old", {"title": "Mine"}, None),  # it changed here, too
        ("New", "Old", {}, None),  # it was cleared here
        ("Same", "Same", {"title": "Same"}, None),
        (None, "Old", {"title": "Old"}, None),  # it is gone there: what was imported stays
        ("New", "New", {"title": "Mine"}, None),
    ],
)
def test_a_title_follows_the_export_until_a_person_changes_it(
    wanted: str | None, given: str | None, edits: dict[str, Any], becomes: str | None
) -> None:
    before = None if given is None else Values(given)
    assert merge(Values(wanted), before, edits, {}).fields.get("title") == becomes


@pytest.mark.parametrize(
    ("wanted", "given", "edit", "becomes"),
    [
        (("a",), (), {}, {"added": ["a"], "removed": []}),
        (("a",), (), {"added": ["b"], "removed": []}, {"added": ["b", "a"], "removed": []}),
        (("a", "c"), ("a", "b"), {"added": ["a", "b"], "removed": []}, {"added": ["a", "c"], "removed": []}),
        (("a",), ("a",), {"added": [], "removed": ["a"]}, None),  # removed here: it does not come back
        (("a",), (), {"added": [], "removed": ["a"]}, None),
        ((), ("a",), {"set": ["a", "mine"]}, {"set": ["mine"]}),
        (("A",), (), {"added": ["a"], "removed": []}, None),  # only spelt differently
    ],
)
def test_tags_follow_the_export_without_undoing_what_a_person_did(
    wanted: tuple[str, ...], given: tuple[str, ...], edit: dict[str, Any], becomes: dict[str, Any] | None
) -> None:
    edits = {"tags": edit} if edit else {}
    assert merge(Values(tags=wanted), Values(tags=given), edits, {}).fields.get("tags") == becomes


@pytest.mark.parametrize(
    ("wanted", "given", "present", "becomes"),
    [
        ({"note": "a"}, {}, {}, {"note": "a"}),
        ({"note": "b"}, {"note": "a"}, {"note": "a"}, {"note": "b"}),
        ({}, {"note": "a"}, {"note": "a", "other": "x"}, {"other": "x"}),
        ({"note": "b"}, {}, {"note": "a"}, {"note": "a\nb"}),  # two entries with the same content
        ({"note": "b"}, {"note": "b"}, {"note": "a\nb"}, None),
        ({"note": "b\nc"}, {"note": "b\nc"}, {"note": "a\nb\nc"}, None),
    ],
)
def test_properties_of_two_entries_are_joined_and_repeated_imports_change_nothing(
    wanted: dict[str, str], given: dict[str, str], present: dict[str, str], becomes: dict[str, str] | None
) -> None:
    assert merge(Values(properties=wanted), Values(properties=given), {}, present).properties == becomes

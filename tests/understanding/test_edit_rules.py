"""Edits of persons, applied over what the machine found."""

from __future__ import annotations

import pytest

from chyme.errors import UsageError
from chyme.understanding.edit_rules import (
    Description,
    TagEdit,
    apply_edits,
    parse_date,
    parse_title,
    tag_edit,
    tag_value,
    with_tags,
)

FOUND = Description("A title", "A summary.", "2026-04-03", "en", ("dog", "house"))


def test_without_edits_the_machine_is_right() -> None:
    assert apply_edits(FOUND, {}) == FOUND


def test_what_a_person_set_wins() -> None:
    description = apply_edits(FOUND, {"title": "Mine", "date": "2025", "tags": {"set": ["cat"]}})
    assert description == Description("Mine", "A summary.", "2025", "en", ("cat",))


def test_a_person_may_empty_a_field() -> None:
    description = apply_edits(FOUND, {"title": None, "date": None, "tags": {"set": []}})
    assert (description.title, description.date, description.tags) == (None, None, ())


def test_tags_are_added_behind_and_taken_away() -> None:
    description = apply_edits(FOUND, {"tags": {"added": ["cat", "dog"], "removed": ["house"]}})
    assert description.tags == ("dog", "cat")


def test_a_removed_tag_stays_removed_in_the_plural_too() -> None:
    assert apply_edits(FOUND, {"tags": {"added": [], "removed": ["dogs"]}}).tags == ("house",)


def test_a_renamed_tag_is_renamed_where_a_person_gave_it() -> None:
    becomes = {"cat": "pet", "dog": "pet"}
    assert apply_edits(FOUND, {"tags": {"set": ["cat", "tree"]}}, becomes).tags == ("pet", "tree")
    assert apply_edits(Description(tags=("pet",)), {"tags": {"added": ["cat"], "removed": []}}, becomes).tags == (
        "pet",
    )
    assert apply_edits(Description(tags=("pet",)), {"tags": {"added": [], "removed": ["dog"]}}, becomes).tags == ()


@pytest.mark.parametrize(
    "edits",
    [
        {"title": 7, "date": [], "tags": "dog"},
        {"tags": {"set": "dog"}},
        {"tags": {"added": 1, "removed": None}},
        {"summary": "not yours"},
    ],
)
def test_an_edit_that_is_not_understood_changes_nothing(edits: dict[str, object]) -> None:
    assert apply_edits(FOUND, edits) == FOUND


def test_tags_change_step_by_step() -> None:
    edit = with_tags(TagEdit(), ["cat"], ["dog"])
    assert edit == TagEdit(added=("cat",), removed=("dog",))
    assert with_tags(edit, ["dog"], ["cat"]) == TagEdit(added=("dog",), removed=("cat",))
    assert with_tags(TagEdit(all=("a", "b")), ["c"], ["a"]) == TagEdit(all=("b", "c"))
    assert not TagEdit().has_changes and TagEdit(all=()).has_changes


@pytest.mark.parametrize("edit", [TagEdit(all=()), TagEdit(all=("a",)), TagEdit(added=("a",), removed=("b",))])
def test_an_edit_of_tags_is_read_as_it_was_written(edit: TagEdit) -> None:
    assert tag_edit(tag_value(edit)) == edit


@pytest.mark.parametrize("text", ["2026", "2026-04", "2026-04-03", " 2024-02-29 ", "0800-12-25"])
def test_a_date_may_be_a_year_a_month_or_a_day(text: str) -> None:
    assert parse_date(text) == text.strip()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "26",
        "2026-13",
        "2026-00",
        "2026-02-30",
        "2025-02-29",
        "2026-4-3",
        "03.04.2026",
        "0000",
        "٢٠٢٦",
        "2026-04-03T10",
    ],
)
def test_other_texts_are_no_date(text: str) -> None:
    with pytest.raises(UsageError, match="is no date; write 2026-04-03"):
        parse_date(text)


def test_a_title_is_one_line() -> None:
    assert parse_title("  Mine\n and\tyours\u202e ") == "Mine and yours"


@pytest.mark.parametrize("text", ["", " \n", "\0", "x" * 201])
def test_some_titles_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="title"):
        parse_title(text)

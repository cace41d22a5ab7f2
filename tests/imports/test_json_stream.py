"""JSON of any length, element by element."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from chyme.errors import UsageError
from chyme.imports.json_stream import elements


class Drip(io.BytesIO):
    """Gives a few bytes at a time, and tells how many it gave."""

    given = 0

    def read(self, size: int | None = -1, /) -> bytes:
        piece = super().read(7)
        self.given += len(piece)
        return piece


def read(text: str) -> list[tuple[str, Any]]:
    return list(elements(Drip(text.encode()), "x.json"))


@pytest.mark.parametrize(
    "value", [[], [1], [12345678901, -1.5e10, True, None, 'ä"]}\\'], [{"a": [1, {"b": "}"}]}, [], {}], [[[]]] * 20]
)
def test_a_list_is_read_as_json_reads_it(value: list[Any]) -> None:
    assert [element for _, element in read(json.dumps(value, indent=1))] == value
    assert [element for _, element in read("\ufeff " + json.dumps(value, ensure_ascii=False) + "\n")] == value


def test_lists_in_an_object_are_read_element_by_element() -> None:
    text = '{"lists": [{"id": 1}], "version": 12, "bookmarks": [1, 2]}'
    assert read(text) == [("lists", {"id": 1}), ("version", 12), ("bookmarks", 1), ("bookmarks", 2)]


@pytest.mark.parametrize(
    "text", ["", "12", '"x"', "[1", "[1 2]", '{"a" 1}', "{1: 2}", "[1] 2", "[1,]", "[nul]", '["\xff']
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"x\.json"):
        list(elements(io.BytesIO(text.encode("latin-1")), "x.json"))


def test_no_more_is_read_than_is_needed() -> None:
    stream = Drip(json.dumps(["x" * 20] * 1000).encode())
    next(elements(stream, "x.json"))
    assert stream.given < 100


def test_a_single_huge_element_is_refused() -> None:
    with pytest.raises(UsageError, match="a single entry"):
        list(elements(Drip(json.dumps(["x" * 5000]).encode()), "x.json", max_element=1000))

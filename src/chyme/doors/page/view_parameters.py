"""The view of the vault and the place in a file that an address asks for, and the addresses of related views."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from fastapi import Request

from chyme.model import Box
from chyme.search.file_list import KINDS, SORTS, STATES, Filters
from chyme.search.query.parser import LONGEST_QUESTION, protect_words, replace_word

GRID, TABLE = "grid", "table"
DOWN_FIRST = ("added", "date", "size")  # sort orders that show the newest or largest first
MOST_TAGS = 8
_MAX_LENGTH = 1000  # characters of one value
LONGEST = 500  # characters of a query
_MAX_NUMBER = 2**53


@dataclass(frozen=True, slots=True)
class ViewParameters:
    """Query, filters, order and layout. Invalid parts of an address are ignored."""

    q: str = ""
    similar: str = ""
    kind: str = ""
    tags: tuple[str, ...] = ()
    folder: str = ""
    year: str = ""
    state: str = ""
    person: str = ""
    sort: str = "added"
    descending: bool = True
    view: str = GRID
    saved: int = 0  # the number of the saved search that is shown

    @property
    def is_search(self) -> bool:
        return bool(self.q or self.similar)

    @property
    def filters(self) -> Filters:
        return Filters(
            (self.kind,) if self.kind else (),
            self.tags,
            self.folder or None,
            (self.state,) if self.state else (),
            self.year or None,
            self.person or None,
        )

    @property
    def has_filters(self) -> bool:
        return self.filters != Filters()

    @property
    def question(self) -> str:
        """The filters and the typed words as one query; the words come last, because the last one may be unfinished."""
        return f"{self.filter_query} {self.q}".strip()

    @property
    def filter_query(self) -> str:
        """The filters in query syntax."""
        chosen = [("kind", self.kind), ("folder", self.folder), ("date", self.year), ("status", self.state)]
        chosen += [("person", self.person), *(("tag", tag) for tag in self.tags)]
        return " ".join(f'{name}:"{_without_quotes(value)}"' for name, value in chosen if value)

    def address(self, **changes: Any) -> str:
        """Return the query string of the same view with these changes; defaults are left out.

        With changes it is another search than the saved one.
        """
        changed = replace(self, **changes)
        pairs = [
            (name, getattr(changed, name)) for name in ("q", "similar", "kind", "folder", "year", "state", "person")
        ]
        pairs = [(name, value) for name, value in pairs if value] + [("tag", tag) for tag in changed.tags]
        if changed.sort != "added" or not changed.descending:
            pairs += [("sort", changed.sort), ("dir", "down" if changed.descending else "up")]
        if changed.saved and not changes:
            pairs.append(("saved", str(changed.saved)))
        return f"?{urlencode(pairs)}" if pairs else ""

    def as_typed(self, words: Iterable[str]) -> str:
        """Return the address of the same query, in which these words are not corrected."""
        return self.address(q=protect_words(self.q, words))

    def with_word(self, typed: str, other: str) -> str:
        """Return the address of the same query with another word in place of a typed one."""
        return self.address(q=replace_word(self.q, typed, other))

    def sorted_by(self, sort: str) -> str:
        """Return the address in that order; reversed when it is already in that order."""
        descending = not self.descending if sort == self.sort else sort in DOWN_FIRST
        return self.address(sort=sort, descending=descending) or "?sort=added&dir=down"

    def with_tag(self, tag: str) -> str:
        """Return the address with this tag added, or removed when it is already chosen."""
        others = tuple(other for other in self.tags if other != tag)
        return self.address(tags=others if tag in self.tags else (*others, tag))

    def without_filters(self) -> str:
        """Return the address with only the query and the order."""
        return self.address(kind="", tags=(), folder="", year="", state="", person="")


def parse_view(request: Request) -> ViewParameters:
    """Parse the view from the address; the layout defaults to the one chosen last."""
    query = request.query_params
    view = query.get("view") or request.cookies.get("chyme-view")
    sort = _if_known(query.get("sort"), SORTS) or "added"
    year = query.get("year", "")
    return ViewParameters(
        q=query.get("q", "").strip()[:LONGEST_QUESTION],
        similar=query.get("similar", "")[: 4 * _MAX_LENGTH],
        kind=_if_known(query.get("kind"), KINDS),
        tags=tuple(dict.fromkeys(tag[:_MAX_LENGTH] for tag in query.getlist("tag") if tag))[:MOST_TAGS],
        folder=query.get("folder", "").strip("/")[: 4 * _MAX_LENGTH],
        year=year if len(year) == 4 and year.isascii() and year.isdecimal() else "",
        state=_if_known(query.get("state"), STATES),
        person=query.get("person", "")[:_MAX_LENGTH],
        sort=sort,
        descending=query.get("dir") != "up" if "dir" in query else sort in DOWN_FIRST,
        view=TABLE if view == TABLE else GRID,
        saved=_parse_int(query.get("saved")) or 0,
    )


def _if_known(value: str | None, known: tuple[str, ...]) -> str:
    return value if value in known else ""


def _without_quotes(value: str) -> str:
    return value.replace('"', " ")


@dataclass(frozen=True, slots=True)
class PlaceParameters:
    """A place in a file, as given in the address; invalid parts are ignored."""

    question: str = ""
    page: int = 1
    seconds: float | None = None
    box: Box | None = None
    source: str = ""
    start: int | None = None
    end: int | None = None
    whole: bool = False  # show a long text whole, not only its beginning


def parse_place(request: Request) -> PlaceParameters:
    """Parse the place from the address."""
    query = request.query_params
    start, end = _parse_int(query.get("start")), _parse_int(query.get("end"))
    if start is None or end is None or end <= start:
        start = end = None
    seconds = _parse_float(query.get("t", ""))
    return PlaceParameters(
        query.get("q", "")[:LONGEST],
        max(_parse_int(query.get("page")) or 1, 1),
        max(seconds, 0.0) if seconds is not None else None,
        _parse_box(query.get("box", "")),
        query.get("source", ""),
        start,
        end,
        query.get("all") == "1",
    )


def _parse_int(text: str | None) -> int | None:
    if not text or not text.isascii() or not text.isdecimal() or len(text) > 15:
        return None
    return min(int(text), _MAX_NUMBER)


def _parse_float(text: str) -> float | None:
    with contextlib.suppress(ValueError):
        number = float(text[:20])
        return number if math.isfinite(number) else None
    return None


def _parse_box(text: str) -> Box | None:
    edges = [_parse_float(edge) for edge in text.split(",")]
    if len(edges) != 4 or any(edge is None or not 0 <= edge <= 1 for edge in edges):
        return None
    left, top, right, bottom = (edge or 0.0 for edge in edges)
    return (left, top, right, bottom) if left < right and top < bottom else None

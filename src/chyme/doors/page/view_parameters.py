"""What somebody wants to see of the vault, as the address tells it, and the addresses that lead on from there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from fastapi import Request

from chyme.search.file_list import KINDS, SORTS, STATES, Filters
from chyme.search.query.parser import LONGEST_QUESTION, protect_words, replace_word

GRID, TABLE = "grid", "table"
DOWN_FIRST = ("added", "date", "size")  # where the newest or largest is what people want to see first
MOST_TAGS = 8
_LONGEST = 1000  # characters of one value


@dataclass(frozen=True, slots=True)
class ViewParameters:
    """Words, filters, order and looks. What makes no sense in an address is passed over."""

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
        """What was chosen, and the words that were typed: at the end, for the last of them may be unfinished."""
        return f"{self.filter_query} {self.q}".strip()

    @property
    def filter_query(self) -> str:
        """The filters as a question says them."""
        chosen = [("kind", self.kind), ("folder", self.folder), ("date", self.year), ("status", self.state)]
        chosen += [("person", self.person), *(("tag", tag) for tag in self.tags)]
        return " ".join(f'{name}:"{_unquoted(value)}"' for name, value in chosen if value)

    def address(self, **changes: Any) -> str:
        """The same view but for these changes, as the end of an address; what goes without saying is left out."""
        to = replace(self, **changes)
        told = [(name, getattr(to, name)) for name in ("q", "similar", "kind", "folder", "year", "state", "person")]
        told = [(name, value) for name, value in told if value] + [("tag", tag) for tag in to.tags]
        if to.sort != "added" or not to.descending:
            told += [("sort", to.sort), ("dir", "down" if to.descending else "up")]
        return f"?{urlencode(told)}" if told else ""

    def as_typed(self, words: Iterable[str]) -> str:
        """The address of the same question, in which these words are not corrected."""
        return self.address(q=protect_words(self.q, words))

    def with_word(self, typed: str, other: str) -> str:
        """The address of the same question with another word in place of a typed one."""
        return self.address(q=replace_word(self.q, typed, other))

    def sorted_by(self, sort: str) -> str:
        """The address in that order; turned round when it is in that order already."""
        turned = not self.descending if sort == self.sort else sort in DOWN_FIRST
        return self.address(sort=sort, descending=turned) or "?sort=added&dir=down"

    def with_tag(self, tag: str) -> str:
        """The address with this tag among the chosen, or without it when it was."""
        kept = tuple(one for one in self.tags if one != tag)
        return self.address(tags=kept if tag in self.tags else (*kept, tag))

    def without_filters(self) -> str:
        """The address with the words and the order alone."""
        return self.address(kind="", tags=(), folder="", year="", state="", person="")


def parse_view(request: Request) -> ViewParameters:
    """What the address asks for; the looks are those chosen last where it does not say."""
    told = request.query_params
    view = told.get("view") or request.cookies.get("chyme-view")
    sort = _among(told.get("sort"), SORTS) or "added"
    year = told.get("year", "")
    return ViewParameters(
        q=told.get("q", "").strip()[:LONGEST_QUESTION],
        similar=told.get("similar", "")[: 4 * _LONGEST],
        kind=_among(told.get("kind"), KINDS),
        tags=tuple(dict.fromkeys(tag[:_LONGEST] for tag in told.getlist("tag") if tag))[:MOST_TAGS],
        folder=told.get("folder", "").strip("/")[: 4 * _LONGEST],
        year=year if len(year) == 4 and year.isascii() and year.isdecimal() else "",
        state=_among(told.get("state"), STATES),
        person=told.get("person", "")[:_LONGEST],
        sort=sort,
        descending=told.get("dir") != "up" if "dir" in told else sort in DOWN_FIRST,
        view=TABLE if view == TABLE else GRID,
    )


def _among(value: str | None, known: tuple[str, ...]) -> str:
    return value if value in known else ""


def _unquoted(value: str) -> str:
    return value.replace('"', " ")

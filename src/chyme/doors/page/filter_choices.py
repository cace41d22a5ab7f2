"""By what one can narrow the view of the vault, and what it is narrowed by already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chyme.doors.page.labels import STATES
from chyme.doors.page.view_parameters import ViewParameters
from chyme.search.file_list import KINDS, Folder
from chyme.search.tables.facets import Facets

KIND_NAMES = {
    "url": "Links", "document": "Documents", "image": "Pictures", "audio": "Recordings", "video": "Videos",
    "text": "Texts", "other": "Other",
}  # fmt: skip

KIND_SINGULARS = {
    "url": "Link", "document": "Document", "image": "Picture", "audio": "Recording", "video": "Video", "text": "Text",
    "other": "Other",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Choice:
    """A value somebody may choose, or take back when it is chosen."""

    name: str
    label: str
    address: str
    count: int | None = None
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Facet:
    """Values of one sort."""

    title: str
    choices: tuple[Choice, ...]


def kinds(want: ViewParameters, everything: Facets | None, shown: Facets | None) -> tuple[Choice, ...]:
    """Every kind there is, in its usual order, and how many of what is shown are of it where that is known."""
    there = dict(everything.kind) if everything else KIND_NAMES
    counts = dict(shown.kind) if shown else {}
    return tuple(
        Choice(kind, KIND_NAMES[kind], _one(want, "kind", kind), counts.get(kind), kind == want.kind)
        for kind in KINDS
        if kind in there or kind == want.kind
    )


def facets(want: ViewParameters, folders: Sequence[Folder], shown: Facets | None) -> tuple[Facet, ...]:
    """What else one can choose; sorts without values are left out."""
    # Of what words find, only the uppermost folders are counted.
    below = [(one.path, None if want.is_search else one.files) for one in folders]
    found = [
        Facet("Folders", tuple(Choice("", _last(path), want.address(folder=path), count) for path, count in below))
    ]
    if shown is not None:
        if want.is_search and not want.folder:
            found = [Facet("Folders", _values(want, "folder", shown.folder))]
        tags = tuple(Choice("", tag, want.with_tag(tag), count, tag in want.tags) for tag, count in shown.tag)
        found += [
            Facet("Tags", tags),
            Facet("People", _values(want, "person", shown.person)),
            Facet("Year", _values(want, "year", sorted(shown.year, reverse=True))),
            Facet("State", _values(want, "state", shown.status)),
        ]
    return tuple(facet for facet in found if facet.choices)


def chosen_filters(want: ViewParameters) -> tuple[Choice, ...]:
    """What the view is narrowed by, each with the address without it."""
    tags = [Choice("tag", tag, want.with_tag(tag)) for tag in want.tags]
    folder = [("folder", want.folder)] if want.is_search else []  # else the crumbs tell it
    others = [*folder, ("year", want.year), ("state", want.state), ("person", want.person)]
    return (*tags, *(Choice(name, _label(name, value), want.address(**{name: ""})) for name, value in others if value))


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _values(want: ViewParameters, field: str, counts: Sequence[tuple[str, int]]) -> tuple[Choice, ...]:
    return tuple(
        Choice("", _label(field, value), _one(want, field, value), count, value == getattr(want, field))
        for value, count in counts
    )


def _one(want: ViewParameters, field: str, value: str) -> str:
    """The address with this value, or without it when it is the chosen one."""
    return want.address(**{field: "" if value == getattr(want, field) else value})


def _label(field: str, value: str) -> str:
    return STATES[value][0] if field == "state" else value

"""The filters that the vault view offers, with counts, and those that are already chosen."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from chyme.application.app import App
from chyme.application.vault_search import Facets
from chyme.doors.page.labels import STATES
from chyme.doors.page.view_parameters import ViewParameters
from chyme.search.file_list import KINDS, Folder

KIND_NAMES = {
    "url": "Links", "document": "Documents", "image": "Pictures", "audio": "Recordings", "video": "Videos",
    "text": "Texts", "other": "Other",
}  # fmt: skip

KIND_SINGULARS = {
    "url": "Link", "document": "Document", "image": "Picture", "audio": "Recording", "video": "Video", "text": "Text",
    "other": "Other",
}  # fmt: skip
FEW = 10_000  # files: up to so many are counted before the page is sent
CACHE_SIZE = 64


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that can be chosen, or removed when it is already chosen."""

    name: str
    label: str
    address: str
    count: int | None = None
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Facet:
    """The values of one filter."""

    title: str
    choices: tuple[Choice, ...]


def kinds(params: ViewParameters, everything: Facets | None, shown: Facets | None) -> tuple[Choice, ...]:
    """Return every kind that exists, in the usual order, with the count of shown files where it is known."""
    existing = dict(everything.kind) if everything else KIND_NAMES
    counts = dict(shown.kind) if shown else {}
    return tuple(
        Choice(kind, KIND_NAMES[kind], _toggle_address(params, "kind", kind), counts.get(kind), kind == params.kind)
        for kind in KINDS
        if kind in existing or kind == params.kind
    )


def facets(params: ViewParameters, folders: Sequence[Folder], shown: Facets | None) -> tuple[Facet, ...]:
    """Return the other filters; those without values are left out."""
    # In search results, only the top folders are counted.
    subfolders = [(folder.path, None if params.is_search else folder.files) for folder in folders]
    all_facets = [
        Facet(
            "Folders",
            tuple(Choice("", _folder_name(path), params.address(folder=path), count) for path, count in subfolders),
        )
    ]
    if shown is not None:
        if params.is_search and not params.folder:
            all_facets = [Facet("Folders", _value_choices(params, "folder", shown.folder))]
        tags = tuple(Choice("", tag, params.with_tag(tag), count, tag in params.tags) for tag, count in shown.tag)
        all_facets += [
            Facet("Tags", tags),
            Facet("People", _value_choices(params, "person", shown.person)),
            Facet("Year", _value_choices(params, "year", sorted(shown.year, reverse=True))),
            Facet("State", _value_choices(params, "state", shown.status)),
        ]
    return tuple(facet for facet in all_facets if facet.choices)


def chosen_filters(params: ViewParameters) -> tuple[Choice, ...]:
    """Return the filters of the view, each with the address without it."""
    tags = [Choice("tag", tag, params.with_tag(tag)) for tag in params.tags]
    folder = [("folder", params.folder)] if params.is_search else []  # otherwise the breadcrumbs show it
    others = [*folder, ("year", params.year), ("state", params.state), ("person", params.person)]
    return (
        *tags,
        *(Choice(name, _value_label(name, value), params.address(**{name: ""})) for name, value in others if value),
    )


def _folder_name(path: str) -> str:
    return path.rpartition("/")[2]


def _value_choices(params: ViewParameters, field: str, counts: Sequence[tuple[str, int]]) -> tuple[Choice, ...]:
    return tuple(
        Choice(
            "",
            _value_label(field, value),
            _toggle_address(params, field, value),
            count,
            value == getattr(params, field),
        )
        for value, count in counts
    )


def _toggle_address(params: ViewParameters, field: str, value: str) -> str:
    """Return the address with this value, or without it when it is the chosen one."""
    return params.address(**{field: "" if value == getattr(params, field) else value})


def _value_label(field: str, value: str) -> str:
    return STATES[value][0] if field == "state" else value


class FacetCounter:
    """Counts facets, and caches the latest counts of each set of filters."""

    def __init__(self, app: App, few: int = FEW) -> None:
        self._app = app
        self._few = few
        self._lock = threading.Lock()
        self._cache: OrderedDict[str, Facets] = OrderedDict()

    @property
    def is_quick(self) -> bool:
        """Whether counting takes a negligible time."""
        return self._app.file_list.page(limit=1).total <= self._few

    def available(self, params: ViewParameters) -> Facets | None:
        """Return the facets of the files that pass the filters, if they are available without delay."""
        return self.count(params) if self.is_quick else self._cache.get(params.filter_query)

    def count(self, params: ViewParameters) -> Facets:
        """Return the same, however long it takes."""
        query = params.filter_query
        filtered = self._app.search.search(query, limit=1, facets=True, mode="words").facets if query else None
        facets = filtered or self._app.file_list.facets()
        with self._lock:
            self._cache[query] = facets
            self._cache.move_to_end(query)
            while len(self._cache) > CACHE_SIZE:
                self._cache.popitem(last=False)
        return facets

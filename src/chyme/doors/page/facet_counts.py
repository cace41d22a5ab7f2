"""How the shown files divide by kind, tag and so on. With many files, the page loads these counts afterwards."""

from __future__ import annotations

import threading
from collections import OrderedDict

from chyme.application.app import App
from chyme.application.vault_search import Facets
from chyme.doors.page.view_parameters import ViewParameters

FEW = 10_000  # files: up to so many are counted before the page is sent
CACHE_SIZE = 64


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

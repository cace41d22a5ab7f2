"""How the shown files divide. Where there are many files, pages do not wait for it: they ask for it afterwards."""

from __future__ import annotations

import threading
from collections import OrderedDict

from chyme.application.app import App
from chyme.doors.page.view_parameters import ViewParameters
from chyme.search.tables.facets import Facets

FEW = 10_000  # files that are counted while somebody waits
REMEMBERED = 64


class FacetCounter:
    """Counts, and remembers what it counted last for each set of filters."""

    def __init__(self, app: App, few: int = FEW) -> None:
        self._app = app
        self._few = few
        self._lock = threading.Lock()
        self._lately: OrderedDict[str, Facets] = OrderedDict()

    @property
    def is_quick(self) -> bool:
        """Whether counting takes no time to speak of."""
        return self._app.library.page(limit=1).total <= self._few

    def available(self, want: ViewParameters) -> Facets | None:
        """How the files divide that pass the filters, as far as that can be told without delay."""
        return self.count(want) if self.is_quick else self._lately.get(want.filter_query)

    def count(self, want: ViewParameters) -> Facets:
        """The same, however long it takes."""
        asked = want.filter_query
        narrowed = self._app.search.search(asked, limit=1, facets=True, mode="words").facets if asked else None
        found = narrowed or self._app.library.facets()
        with self._lock:
            self._lately[asked] = found
            self._lately.move_to_end(asked)
            while len(self._lately) > REMEMBERED:
                self._lately.popitem(last=False)
        return found

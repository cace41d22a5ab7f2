"""The vault: grid, table and search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.responses import HTMLResponse

from chyme.application.app import App
from chyme.core.store.search.facets import Facets
from chyme.doors.http.routes.search import LAST
from chyme.doors.page import filter_choices
from chyme.doors.page.facet_counts import FacetCounter
from chyme.doors.page.filter_choices import KIND_SINGULARS
from chyme.doors.page.labels import labels_of
from chyme.doors.page.rendering import page
from chyme.doors.page.search_results import only_by_meaning, result_page
from chyme.doors.page.view_parameters import ViewParameters, parse_view
from chyme.errors import UsageError
from chyme.search.file_list import SORTS, Card
from chyme.search.results import SearchResult
from chyme.search.search import Search

CARDS_PER_PAGE = 60  # cards of one sheet: whole rows in grids of 2, 3, 4, 5, 6, 10 and 12 columns
HITS = 20
FOLDERS = 100
AT_ONCE = 100  # cards that are asked for by path
SORT_NAMES = {"added": "Added", "date": "Date", "name": "Name", "title": "Title", "size": "Size", "kind": "Kind"}
TEMPLATE_CONSTANTS: dict[str, Any] = {"one_of_a_kind": KIND_SINGULARS, "sort_names": SORT_NAMES, "sorts": SORTS}


@dataclass(frozen=True, slots=True)
class CardPage:
    """Cards that are fetched and dropped together, and where the next ones are."""

    cards: tuple[Card, ...]
    cursor: str
    next: str | None
    total: int


def add_routes(api: FastAPI, app: App) -> None:
    """Add these pages to the HTTP application of an opened vault."""
    counting = FacetCounter(app)
    steps = {digester.name: digester.label for digester in app.rules.registry}

    @api.get("/", response_class=HTMLResponse, include_in_schema=False)
    def vault(request: Request, cursor: str = "") -> HTMLResponse:
        """The vault, as a grid, as a table, or what was found in it."""
        want = parse_view(request)
        told = _body(app, counting, want, cursor)
        return page(request, "vault.html", active="vault", question=want.q, steps=steps, **told)

    @api.get("/ui/vault", response_class=HTMLResponse, include_in_schema=False)
    def body(request: Request) -> HTMLResponse:
        """The same without its frame."""
        return page(request, "vault_body.html", **_body(app, counting, parse_view(request)))

    @api.get("/ui/choices", response_class=HTMLResponse, include_in_schema=False)
    def narrowing(request: Request) -> HTMLResponse:
        """By what one can narrow the view, counted."""
        want = parse_view(request)
        told = _choices(app, want, counting.count(ViewParameters()), counting.count(want))
        return page(request, "vault_choices.html", want=want, **told, **TEMPLATE_CONSTANTS)

    @api.get("/ui/shelf", response_class=HTMLResponse, include_in_schema=False)
    def shelf(request: Request, cursor: str = "") -> HTMLResponse:
        """One sheet of cards."""
        want = parse_view(request)
        return page(request, "vault_shelf.html", want=want, sheet=_sheet(app, want, cursor), **TEMPLATE_CONSTANTS)

    @api.get("/ui/hits", response_class=HTMLResponse, include_in_schema=False)
    def hits(request: Request, typing: bool = False, offset: Annotated[int, Query(ge=0, le=LAST)] = 0) -> HTMLResponse:
        """What was found so far; while somebody types, by words alone."""
        want = parse_view(request)
        result = _search(app, want, typing=typing, offset=offset)
        return page(
            request,
            "vault_hits.html",
            want=want,
            offset=offset,
            **_found(app, want, result, offset),
            **TEMPLATE_CONSTANTS,
        )

    @api.get("/ui/cards", response_class=HTMLResponse, include_in_schema=False)
    def cards(request: Request, path: Annotated[list[str], Query(max_length=AT_ONCE)]) -> HTMLResponse:
        """The cards of these files as they are now; those that are gone are left out."""
        return page(
            request, "vault_cards.html", want=parse_view(request), cards=app.library.cards(path), **TEMPLATE_CONSTANTS
        )


def _body(app: App, counting: FacetCounter, want: ViewParameters, cursor: str = "") -> dict[str, Any]:
    """What the body of the page shows."""
    told: dict[str, Any] = {
        "want": want,
        "sheet": None,
        "found": None,
        "offset": 0,
        "count_later": False,
        **TEMPLATE_CONSTANTS,
    }
    if want.is_search:
        result = _search(app, want, facets=True)
        told |= _found(app, want, result, 0)
        shown = result.facets
    else:
        told |= {"sheet": _sheet(app, want, cursor), "count_later": not counting.is_quick}
        shown = counting.available(want)
    return {**told, **_choices(app, want, counting.available(ViewParameters()), shown)}


def _choices(app: App, want: ViewParameters, everything: Facets | None, shown: Facets | None) -> dict[str, Any]:
    return {
        "kinds": filter_choices.kinds(want, everything, shown),
        "facets": filter_choices.facets(want, app.library.folders(want.folder, want.filters)[:FOLDERS], shown),
        "chosen": filter_choices.chosen_filters(want),
        "counted": shown is not None,
    }


def _sheet(app: App, want: ViewParameters, cursor: str) -> CardPage:
    shelf = app.library.page(
        want.filters, sort=want.sort, descending=want.descending, cursor=cursor or None, limit=CARDS_PER_PAGE
    )
    return CardPage(shelf.cards, cursor, shelf.next, shelf.total)


def _search(
    app: App, want: ViewParameters, *, typing: bool = False, offset: int = 0, facets: bool = False
) -> SearchResult:
    if not want.similar:
        return search_or_complete(app.search, want, typing=typing, offset=offset, facets=facets)
    try:
        return app.search.similar(want.similar, limit=HITS, offset=offset)
    except UsageError as error:  # a page that says so is of more use than none
        return SearchResult((), 0, True, 0.0, {}, (str(error),))


def search_or_complete(
    search: Search, want: ViewParameters, *, typing: bool = False, offset: int = 0, facets: bool = False
) -> SearchResult:
    """What the words find; where they are in no file, what begins with the last one: somebody paused within it."""

    def ask(offset: int, typing: bool) -> SearchResult:
        return search.search(want.question, limit=HITS, offset=offset, typing=typing, facets=facets)

    first = ask(offset if typing else 0, typing)
    if typing or not want.q or not only_by_meaning(first):
        return first if typing or not offset else ask(offset, typing=False)
    unfinished = ask(offset, typing=True)
    if unfinished.total and unfinished.corrected.keys() <= first.corrected.keys():  # nor by other words than it has
        return unfinished
    return first if not offset else ask(offset, typing=False)


def _found(app: App, want: ViewParameters, result: SearchResult, offset: int) -> dict[str, Any]:
    cards = app.library.cards([hit.path for hit in result.hits])
    return {"found": result_page(result, cards, want.q, offset, labels_of(app))}

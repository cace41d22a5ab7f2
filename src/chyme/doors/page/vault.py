"""The vault page: grid, table and search."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.responses import HTMLResponse

from chyme.application.app import App
from chyme.application.vault_search import Facets
from chyme.core.user_reference import UserReference
from chyme.doors.http.address_of_server import user_of
from chyme.doors.http.routes.search import LAST
from chyme.doors.page import filter_choices
from chyme.doors.page.filter_choices import KIND_SINGULARS, FacetCounter
from chyme.doors.page.labels import labels_of
from chyme.doors.page.rendering import may_save_searches, page
from chyme.doors.page.search_results import only_by_meaning, result_page
from chyme.doors.page.view_parameters import ViewParameters, parse_view
from chyme.errors import NotFound, UsageError
from chyme.search.file_list import SORTS, Card
from chyme.search.results import SearchResult
from chyme.search.saved_searches import SavedSearch
from chyme.search.search import Mode, Search

CARDS_PER_PAGE = 60  # of one sheet: fills the rows of grids with 2, 3, 4, 5, 6, 10 and 12 columns
HITS = 20
FOLDERS = 100
AT_ONCE = 100  # cards that can be requested by path
SORT_NAMES = {"added": "Added", "date": "Date", "name": "Name", "title": "Title", "size": "Size", "kind": "Kind"}
TEMPLATE_CONSTANTS: dict[str, Any] = {"kind_singulars": KIND_SINGULARS, "sort_names": SORT_NAMES, "sorts": SORTS}


@dataclass(frozen=True, slots=True)
class CardPage:
    """Cards that are loaded and dropped together, and the cursor of the next ones."""

    cards: tuple[Card, ...]
    cursor: str
    next: str | None
    total: int


def add_routes(api: FastAPI, app: App) -> None:
    facet_counter = FacetCounter(app)
    steps = {digester.name: digester.label for digester in app.rules.registry}

    @api.get("/", response_class=HTMLResponse, include_in_schema=False)
    def vault(request: Request, cursor: str = "") -> HTMLResponse:
        """The vault as a grid or a table, or the results of a search."""
        params = parse_view(request)
        context = _body_context(app, facet_counter, params, user_of(request), cursor)
        saved_searches = app.saved_searches.list_all(user_of(request)) if may_save_searches(request) else []
        return page(
            *(request, "vault.html"),
            active="vault",
            question=params.q,
            steps=steps,
            searches=[(saved, None) for saved in saved_searches],  # counted later: the page need not wait
            **context,
        )

    @api.get("/ui/vault", response_class=HTMLResponse, include_in_schema=False)
    def body(request: Request) -> HTMLResponse:
        """The same without its frame."""
        return page(
            request, "vault_body.html", **_body_context(app, facet_counter, parse_view(request), user_of(request))
        )

    @api.get("/ui/choices", response_class=HTMLResponse, include_in_schema=False)
    def narrowing(request: Request) -> HTMLResponse:
        """The filters of the view, with counts."""
        params = parse_view(request)
        context = _choices_context(app, params, facet_counter.count(ViewParameters()), facet_counter.count(params))
        return page(request, "vault_choices.html", params=params, **context, **TEMPLATE_CONSTANTS)

    @api.get("/ui/shelf", response_class=HTMLResponse, include_in_schema=False)
    def shelf(request: Request, cursor: str = "") -> HTMLResponse:
        """One sheet of cards."""
        params = parse_view(request)
        return page(
            request, "vault_shelf.html", params=params, sheet=_load_sheet(app, params, cursor), **TEMPLATE_CONSTANTS
        )

    @api.get("/ui/hits", response_class=HTMLResponse, include_in_schema=False)
    def hits(request: Request, typing: bool = False, offset: Annotated[int, Query(ge=0, le=LAST)] = 0) -> HTMLResponse:
        """The search results; while the visitor types, by words alone."""
        params = parse_view(request)
        saved = _saved_search(app, params, user_of(request))
        result = _search(app, params, saved, typing=typing, offset=offset)
        return page(
            request,
            "vault_hits.html",
            params=params,
            offset=offset,
            **_results_context(app, params, result, offset, saved),
            **TEMPLATE_CONSTANTS,
        )

    @api.get("/ui/cards", response_class=HTMLResponse, include_in_schema=False)
    def cards(request: Request, path: Annotated[list[str], Query(max_length=AT_ONCE)]) -> HTMLResponse:
        """The current cards of these files; files that no longer exist are left out."""
        return page(
            request,
            "vault_cards.html",
            params=parse_view(request),
            cards=app.file_list.cards(path),
            **TEMPLATE_CONSTANTS,
        )


def _body_context(
    app: App, facet_counter: FacetCounter, params: ViewParameters, user: UserReference | None, cursor: str = ""
) -> dict[str, Any]:
    """Return the template variables of the page's body."""
    context: dict[str, Any] = {
        "params": params,
        "sheet": None,
        "found": None,
        "saved": None,
        "offset": 0,
        "count_later": False,
        **TEMPLATE_CONSTANTS,
    }
    if params.is_search:
        saved = _saved_search(app, params, user)
        result = _search(app, params, saved, facets=True)
        context |= _results_context(app, params, result, 0, saved)
        shown = result.facets
    else:
        context |= {"sheet": _load_sheet(app, params, cursor), "count_later": not facet_counter.is_quick}
        shown = facet_counter.available(params)
    return {**context, **_choices_context(app, params, facet_counter.available(ViewParameters()), shown)}


def _choices_context(
    app: App, params: ViewParameters, everything: Facets | None, shown: Facets | None
) -> dict[str, Any]:
    return {
        "kinds": filter_choices.kinds(params, everything, shown),
        "facets": filter_choices.facets(params, app.file_list.folders(params.folder, params.filters)[:FOLDERS], shown),
        "chosen": filter_choices.chosen_filters(params),
        "counted": shown is not None,
    }


def _load_sheet(app: App, params: ViewParameters, cursor: str) -> CardPage:
    file_page = app.file_list.page(
        params.filters, sort=params.sort, descending=params.descending, cursor=cursor or None, limit=CARDS_PER_PAGE
    )
    return CardPage(file_page.cards, cursor, file_page.next, file_page.total)


def _saved_search(app: App, params: ViewParameters, user: UserReference | None) -> SavedSearch | None:
    """Return the saved search that is shown: the visitor's own, and only while it is asked as it was saved."""
    if not params.saved:
        return None
    with contextlib.suppress(NotFound):
        saved = app.saved_searches.find(params.saved, user)
        return saved if saved.query == params.question else None
    return None


def _search(
    app: App,
    params: ViewParameters,
    saved: SavedSearch | None,
    *,
    typing: bool = False,
    offset: int = 0,
    facets: bool = False,
) -> SearchResult:
    if not params.similar:
        mode = saved.mode if saved else "both"
        return search_or_complete(app.search, params, typing=typing, offset=offset, facets=facets, mode=mode)
    try:
        return app.search.similar(params.similar, limit=HITS, offset=offset)
    except UsageError as error:  # show the reason on the page
        return SearchResult((), 0, True, 0.0, {}, (str(error),))


def search_or_complete(
    search: Search,
    params: ViewParameters,
    *,
    typing: bool = False,
    offset: int = 0,
    facets: bool = False,
    mode: Mode = "both",
) -> SearchResult:
    """Search for the words; if no file has them, complete the last one: the visitor may have paused within it."""

    def run_search(offset: int, typing: bool) -> SearchResult:
        # Filters that were chosen stay chosen: the page shows them, and offers to search without.
        return search.search(
            params.question,
            limit=HITS,
            offset=offset,
            typing=typing,
            facets=facets,
            mode=mode,
            keep_conditions=params.has_filters or bool(params.saved),
        )

    first = run_search(offset if typing else 0, typing)
    if typing or not params.q or not (only_by_meaning(first) or first.dropped):
        return first if typing or not offset else run_search(offset, typing=False)
    unfinished = run_search(offset, typing=True)
    if unfinished.total and unfinished.corrected.keys() <= first.corrected.keys():  # and no other word is corrected
        return unfinished
    return first if not offset else run_search(offset, typing=False)


def _results_context(
    app: App, params: ViewParameters, result: SearchResult, offset: int, saved: SavedSearch | None
) -> dict[str, Any]:
    paths = [hit.path for hit in result.hits]
    cards = app.file_list.cards(paths)
    return {
        "saved": saved,
        "new_paths": app.saved_searches.new_paths(saved, paths) if saved else (),
        "new_count": app.saved_searches.count_new(saved) if saved and not offset else 0,
        "found": result_page(result, cards, params.q, offset, labels_of(app)),
    }

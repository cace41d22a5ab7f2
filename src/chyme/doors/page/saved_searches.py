"""The page of saved searches: what is new to each, its feed, renaming and deleting."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse

from chyme.application.app import App
from chyme.core.user_reference import UserReference
from chyme.doors.http.address_of_server import user_of
from chyme.doors.page.rendering import page
from chyme.search.saved_searches import ArrivedFile, SavedSearch

NEW_FILES = 5  # shown of each search


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/searches")
    def searches(request: Request) -> HTMLResponse:
        """Your saved searches, with the newest of the files that are new to each."""
        return page(request, "saved_searches.html", active="vault", searches=_searches(app, user_of(request)))

    @api.get("/ui/searches/list")
    def listed(request: Request) -> HTMLResponse:
        """The list without its frame."""
        return page(request, "saved_searches_list.html", searches=_searches(app, user_of(request)))

    @api.get("/ui/searches/chips")
    def chips(request: Request) -> HTMLResponse:
        """The names, and how many files are new to each, for the vault's page."""
        counted = [
            (saved, app.saved_searches.count_new(saved)) for saved in app.saved_searches.list_all(user_of(request))
        ]
        return page(request, "saved_searches_chips.html", searches=counted)


def _searches(app: App, user: UserReference | None) -> list[tuple[SavedSearch, int, list[ArrivedFile]]]:
    return [
        (saved, app.saved_searches.count_new(saved), app.saved_searches.new_files(saved, NEW_FILES))
        for saved in app.saved_searches.list_all(user)
    ]

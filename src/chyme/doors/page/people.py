"""The people of the vault: who is heard, their names, and which voices are theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import FastAPI, Path, Request
from fastapi.responses import HTMLResponse

from chyme.application.app import App
from chyme.doors.page.charts import Chart, stacked_bars
from chyme.doors.page.rendering import base_of, encode_path, page
from chyme.speech.people.edits import PersonRecording, as_json
from chyme.text.display import format_time

MOST_RECORDINGS = 100  # bars, the latest ones
MOST_VOICES = 500  # at most so many voices of one person are listed


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/people", include_in_schema=False)
    def people(request: Request) -> HTMLResponse:
        """All people, named ones first."""
        return page(
            request, "people.html", active="people", people=[as_json(person) for person in app.people.list_people()]
        )

    @api.get("/ui/people", include_in_schema=False)
    def people_again(request: Request) -> HTMLResponse:
        """The list alone, to replace the one on the page."""
        return page(request, "people_list.html", people=[as_json(person) for person in app.people.list_people()])

    @api.get("/people/{person_id}", include_in_schema=False)
    def person(request: Request, person_id: Annotated[int, Path(ge=0, le=2**53)]) -> HTMLResponse:
        """One person and their voices."""
        return _render_person(app, request, person_id, "person.html")

    @api.get("/ui/people/{person_id}", include_in_schema=False)
    def person_again(request: Request, person_id: Annotated[int, Path(ge=0, le=2**53)]) -> HTMLResponse:
        """The same without its frame, to replace the part on the page."""
        return _render_person(app, request, person_id, "person_voices.html")


def _render_person(app: App, request: Request, person_id: int, template: str) -> HTMLResponse:
    if not app.people.has_person(person_id):
        return page(request, "person_gone.html", status=404, active="people", number=person_id)
    found = app.people.show(str(person_id))
    recordings = app.people.recordings(str(person_id))[-MOST_RECORDINGS:]
    others = [as_json(other) for other in app.people.list_people() if other.id != person_id]
    return page(
        request,
        template,
        active="people",
        person=as_json(found.person),
        voices=found.voices[:MOST_VOICES],
        more=max(len(found.voices) - MOST_VOICES, 0),
        others=others,
        heard=_heard_chart(base_of(request), recordings) if len(recordings) > 1 else None,
    )


def _heard_chart(base: str, recordings: Sequence[PersonRecording]) -> Chart:
    """A bar for each recording, in the order of their days."""
    paths = {f"{recording.day} · {recording.path}": recording.path for recording in recordings}
    seconds = {f"{recording.day} · {recording.path}": recording.seconds for recording in recordings}
    return stacked_bars(
        "How long this voice is heard in each recording",
        "Recording",
        list(paths),
        {"Heard": seconds},
        href=lambda label: f"{base}/file/{encode_path(paths[label])}",
        show=format_time,
    )

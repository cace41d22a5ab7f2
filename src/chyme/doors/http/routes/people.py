"""The routes about people, and about what they say."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import FastAPI, Path
from fastapi.responses import Response
from pydantic import BaseModel, Field

from chyme.application.app import App
from chyme.doors.http.problem_details import require_file
from chyme.doors.http.request_bodies import RequestBody
from chyme.errors import NotFound
from chyme.speech.people.edits import DecisionResult, as_json
from chyme.speech.transcripts.subtitles import vtt

Number = Annotated[int, Path(ge=1, le=2**53)]
Numbers = Annotated[list[Annotated[int, Field(ge=1, le=2**53)]], Field(min_length=1, max_length=1000)]


class Person(BaseModel):
    """A person who is heard in the vault."""

    id: int
    name: str | None
    called: str
    voices: int
    files: int
    seconds: float


class Heard(BaseModel):
    """A person's voice in one file; `start` and `end` mark a few seconds of it."""

    id: int
    path: str
    speaker: str
    seconds: float
    words: str | None
    start: float | None
    end: float | None


class Everybody(BaseModel):
    """Named people first, then by how long they speak."""

    people: list[Person]


class Shown(BaseModel):
    """A person with all recordings they are heard in."""

    person: Person
    voices: list[Heard]


class Decided(BaseModel):
    """A description of the decision, and the person it was about, if they still exist."""

    done: str
    person: Person | None


class NewName(RequestBody):
    """The name of a person; null removes the name."""

    name: Annotated[str, Field(max_length=1000)] | None


class Others(RequestBody):
    """The same person under other numbers."""

    others: Numbers


class Voices(RequestBody):
    """Voices that belong to another person."""

    voices: Numbers


class Owner(RequestBody):
    """The person a voice belongs to; null means a new person."""

    person: Annotated[int, Field(ge=1, le=2**53)] | None


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/api/people")
    def everybody() -> Everybody:
        """All people who are heard in the vault or have a name."""
        return Everybody(people=[Person.model_validate(as_json(person)) for person in app.people.list_people()])

    @api.post("/api/people/undo")
    def undo() -> Decided:
        """Undo the last of these decisions; call it again for the one before."""
        done = app.people.undo()
        return Decided(done=f"undone: {done.what}", person=None)

    @api.get("/api/people/{person_id}")
    def show(person_id: Number) -> Shown:
        """Where a person is heard, and their first words there."""
        _require_person(app, person_id)
        details = app.people.show(str(person_id))
        return Shown(
            person=Person.model_validate(as_json(details.person)),
            voices=[Heard.model_validate(asdict(voice)) for voice in details.voices],
        )

    @api.patch("/api/people/{person_id}")
    def name(person_id: Number, new: NewName) -> Decided:
        """Give a person a name, another one, or none."""
        _require_person(app, person_id)
        person = str(person_id)
        return _decision_response(
            app.people.remove_name(person) if new.name is None else app.people.name(person, new.name)
        )

    @api.delete("/api/people/{person_id}")
    def remove(person_id: Number) -> Decided:
        """Forget a named person who is no longer heard anywhere."""
        _require_person(app, person_id)
        return _decision_response(app.people.remove(str(person_id)))

    @api.post("/api/people/{person_id}/merge")
    def merge(person_id: Number, same: Others) -> Decided:
        """Merge these people into one, who keeps this number and name."""
        _require_person(app, person_id)
        return _decision_response(app.people.merge(str(person_id), [str(other) for other in same.others]))

    @api.post("/api/people/{person_id}/split")
    def split(person_id: Number, chosen: Voices) -> Decided:
        """Move these voices to one new person."""
        _require_person(app, person_id)
        return _decision_response(app.people.split(str(person_id), [str(voice) for voice in chosen.voices]))

    @api.post("/api/voices/{voice_id}/move")
    def move(voice_id: Number, owner: Owner) -> Decided:
        """Set whose voice this is."""
        return _decision_response(app.people.move(str(voice_id), "new" if owner.person is None else str(owner.person)))

    @api.get("/api/subtitles/{path:path}.vtt", response_class=Response)
    def subtitles(path: str) -> Response:
        """What is said in a recording, as WebVTT with people's names."""
        require_file(app, path)
        found = app.documents.transcript(path)
        if found is None or not found[0].segments:
            raise NotFound(f"{path}: it has no transcript, or nothing is said in it")
        transcript, names = found
        return Response(vtt(transcript.segments, names), media_type="text/vtt; charset=utf-8")


def _require_person(app: App, person_id: int) -> None:
    if not app.people.has_person(person_id):
        raise NotFound(f"there is no person {person_id}; GET /api/people lists them")


def _decision_response(result: DecisionResult) -> Decided:
    person = Person.model_validate(as_json(result.person)) if result.person else None
    return Decided(done=result.what, person=person)

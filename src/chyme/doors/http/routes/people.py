"""The routes about people, and about what they say."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import FastAPI, Path
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from chyme.application.app import App
from chyme.doors.http.not_found import NotFound, require_file
from chyme.speech.people.edits import DecisionResult, as_json
from chyme.speech.people.tables.people import PersonTotals
from chyme.speech.transcripts.subtitles import vtt

Number = Annotated[int, Path(ge=1, le=2**53)]
Numbers = Annotated[list[Annotated[int, Field(ge=1, le=2**53)]], Field(min_length=1, max_length=1000)]


class Person(BaseModel):
    """Somebody who is heard in the vault."""

    id: int
    name: str | None
    called: str
    voices: int
    files: int
    seconds: float


class Heard(BaseModel):
    """A person's voice in one file; `start` and `end`: a few seconds of it."""

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
    """A person with everything they are heard in."""

    person: Person
    voices: list[Heard]


class Decided(BaseModel):
    """What was decided, in words, and the person it was about, if they are still there."""

    done: str
    person: Person | None


class NewName(BaseModel):
    """What somebody is called; null takes the name away."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(max_length=1000)] | None


class Others(BaseModel):
    """The same person under other numbers."""

    model_config = ConfigDict(extra="forbid")

    others: Numbers


class Voices(BaseModel):
    """Voices that are somebody else's."""

    model_config = ConfigDict(extra="forbid")

    voices: Numbers


class Owner(BaseModel):
    """Whose voice it is; null: of a new person."""

    model_config = ConfigDict(extra="forbid")

    person: Annotated[int, Field(ge=1, le=2**53)] | None


def add_routes(api: FastAPI, app: App) -> None:
    """Add these routes to the HTTP face of an opened vault."""
    people = app.people

    @api.get("/api/people")
    def everybody() -> Everybody:
        """Everybody who is heard in the vault or has a name."""
        return Everybody(people=[_person(person) for person in people.list_people()])

    @api.post("/api/people/undo")
    def undo() -> Decided:
        """Take the last of these decisions back; again: the one before it."""
        done = people.undo()
        return Decided(done=f"undone: {done.what}", person=None)

    @api.get("/api/people/{person_id}")
    def show(person_id: Number) -> Shown:
        """Where somebody is heard, and how they begin."""
        _known(app, person_id)
        found = people.show(str(person_id))
        return Shown(
            person=_person(found.person),
            voices=[Heard.model_validate(asdict(one)) for one in found.voices],
        )

    @api.patch("/api/people/{person_id}")
    def name(person_id: Number, new: NewName) -> Decided:
        """Give somebody a name, another one, or none."""
        _known(app, person_id)
        who = str(person_id)
        return _decided(people.remove_name(who) if new.name is None else people.name(who, new.name))

    @api.delete("/api/people/{person_id}")
    def remove(person_id: Number) -> Decided:
        """Forget somebody with a name who is heard nowhere any more."""
        _known(app, person_id)
        return _decided(people.remove(str(person_id)))

    @api.post("/api/people/{person_id}/merge")
    def merge(person_id: Number, same: Others) -> Decided:
        """These are all one person, who keeps this number and name."""
        _known(app, person_id)
        return _decided(people.merge(str(person_id), [str(other) for other in same.others]))

    @api.post("/api/people/{person_id}/split")
    def split(person_id: Number, chosen: Voices) -> Decided:
        """These voices are all of one new person."""
        _known(app, person_id)
        return _decided(people.split(str(person_id), [str(voice) for voice in chosen.voices]))

    @api.post("/api/voices/{voice_id}/move")
    def move(voice_id: Number, owner: Owner) -> Decided:
        """Say whose voice this is."""
        return _decided(people.move(str(voice_id), "new" if owner.person is None else str(owner.person)))

    @api.get("/api/subtitles/{path:path}.vtt", response_class=Response)
    def subtitles(path: str) -> Response:
        """What is said in a recording, as WebVTT with people's names."""
        require_file(app, path)
        found = app.documents.transcript(path)
        if found is None or not found[0].segments:
            raise NotFound(f"{path}: it has no transcript, or nothing is said in it")
        transcript, names = found
        return Response(vtt(transcript.segments, names), media_type="text/vtt; charset=utf-8")


def _known(app: App, person_id: int) -> None:
    if not app.people.has_person(person_id):
        raise NotFound(f"there is no person {person_id}; GET /api/people lists them")


def _person(person: PersonTotals) -> Person:
    return Person.model_validate(as_json(person))


def _decided(done: DecisionResult) -> Decided:
    return Decided(done=done.what, person=_person(done.person) if done.person else None)

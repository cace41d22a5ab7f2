"""The numbers behind the charts: files by time, throughput, spending by day, and recordings of a person."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import FastAPI, Path, Query
from pydantic import BaseModel

from chyme.application.app import App
from chyme.doors.http.routes.spending import LONGEST
from chyme.errors import NotFound


class PeriodFiles(BaseModel):
    """Files of one kind in one period."""

    period: str
    kind: str
    files: int


class Timeline(BaseModel):
    """Files by the date of their documents and by kind."""

    year: str | None
    counts: list[PeriodFiles]


class HourOfOutput(BaseModel):
    """Digests of one output that ended in one hour, in UTC."""

    output: str
    hour: str
    completed: int
    failed: int


class Throughput(BaseModel):
    """What ended in the last day."""

    hours: list[HourOfOutput]


class DayOfProvider(BaseModel):
    """Calls of one provider on one day; `cost` is null where no price is known."""

    day: str
    provider: str
    calls: int
    tokens: int
    cost: float | None


class DailySpend(BaseModel):
    """What models cost, by day and provider."""

    days: int
    spend: list[DayOfProvider]


class RecordingOfPerson(BaseModel):
    """How long a person is heard in one recording."""

    path: str
    day: str
    seconds: float


class Recordings(BaseModel):
    """The recordings in which a person is heard, in the order of their days."""

    recordings: list[RecordingOfPerson]


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/api/timeline", response_model=Timeline)
    def timeline(year: Annotated[str | None, Query(pattern="^[0-9]{4}$")] = None) -> dict[str, Any]:
        """Files by year and kind, or by month of one year."""
        return {"year": year, "counts": [asdict(count) for count in app.file_list.count_by_time(year)]}

    @api.get("/api/throughput", response_model=Throughput)
    def throughput() -> dict[str, Any]:
        """Digests that ended in the last day, by output and hour."""
        return {"hours": [asdict(hour) for hour in app.throughput()]}

    @api.get("/api/ai/spend/daily", response_model=DailySpend)
    def daily(days: Annotated[int, Query(ge=1, le=LONGEST)] = 30) -> dict[str, Any]:
        """Calls, tokens and cost by day and provider."""
        return {"days": days, "spend": [asdict(totals) for totals in app.spending.daily_totals(days)]}

    @api.get("/api/people/{person_id}/recordings", response_model=Recordings)
    def recordings(person_id: Annotated[int, Path(ge=1, le=2**53)]) -> dict[str, Any]:
        """How long a person is heard in each recording."""
        if not app.people.has_person(person_id):
            raise NotFound(f"there is no person {person_id}")
        return {"recordings": [asdict(recording) for recording in app.people.recordings(str(person_id))]}

"""The routes about models: which are used, what they cost, and pausing them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query
from pydantic import BaseModel, Field

from chyme.application.app import App
from chyme.doors.http.request_bodies import RequestBody

LONGEST = 3660  # days


class Account(BaseModel):
    """Calls of one group; `cost` is null where no price is known."""

    name: str
    calls: int
    failed: int
    tokens_in: int
    tokens_out: int
    cost: float | None
    seconds: float


class Spend(BaseModel):
    """What models cost."""

    by: str
    days: int
    spend: list[Account]


class Which(RequestBody):
    """Which model: how its settings begin. All if left out."""

    provider: str | None = Field(None, max_length=100)


class Paused(BaseModel):
    """The models that are no longer called."""

    paused: list[str]


class Resumed(BaseModel):
    """The models that are called again, and how many digests will be made again."""

    resumed: list[str]
    digests: int


def add_routes(api: FastAPI, app: App) -> None:
    @api.get("/api/ai")
    def standing() -> dict[str, Any]:
        """Which models are used, their state, and what they cost today."""
        statuses = app.spending.provider_statuses()
        return {
            "providers": [{"model": model, **asdict(status)} for model, status in statuses],
            "private_patterns": app.private.patterns,
        }

    @api.get("/api/ai/spend", response_model=Spend)
    def spend(
        by: Literal["provider", "model", "digester", "file", "day"] = "provider",
        days: Annotated[int, Query(ge=1, le=LONGEST)] = 30,
    ) -> dict[str, Any]:
        """Calls, tokens and cost, added up."""
        return {"by": by, "days": days, "spend": [asdict(totals) for totals in app.spending.call_totals(by, days)]}

    @api.post("/api/ai/pause", response_model=Paused)
    def pause(which: Which | None = None) -> dict[str, Any]:
        """Make no call to a model, or to any. Everything else goes on, with local rules."""
        return {"paused": app.spending.pause(which.provider if which else None)}

    @api.post("/api/ai/resume", response_model=Resumed)
    def resume(which: Which | None = None) -> dict[str, Any]:
        """Allow calls again; what was made without the model is made again."""
        names, count = app.spending.resume(which.provider if which else None)
        return {"resumed": names, "digests": count}

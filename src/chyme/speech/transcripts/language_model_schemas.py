"""Schemas of a language model's answers about speech. Loaded only when a model is asked."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class CorrectedSegment(_Answer):
    index: int = Field(description="The segment's number, as given.")
    text: str = Field(description="The segment's text, corrected.")


class CorrectedSegments(_Answer):
    segments: list[CorrectedSegment] = Field(description="Every segment given, in its order.")


class SpokenPoint(_Answer):
    text: str = Field(description="One short sentence or phrase.", min_length=1)
    time: str | None = Field(
        description="When it was said, as given in front of the line, such as 12:34; null if unsure."
    )
    speaker: str | None = Field(description="Who said it, as given, such as Speaker 1; null if unsure.")


class SpokenSummary(_Answer):
    takeaway: str = Field(description="What matters most, in one or two sentences.", min_length=1)
    topics: list[SpokenPoint] = Field(description="What was talked about, in order; at most eight.")
    actions: list[SpokenPoint] = Field(description="What somebody is to do; empty if nothing was agreed or asked for.")
    questions: list[SpokenPoint] = Field(description="Questions that were asked and matter; empty if there are none.")

"""The shape of a language model's answer about a web page. Imported only when a model is asked."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Point = Annotated[str, Field(min_length=1, description="One plain sentence.")]


class PagePoints(BaseModel):
    model_config = ConfigDict(extra="ignore")

    points: list[Point] = Field(
        description="Three to five points, what matters most first.", min_length=3, max_length=5
    )

"""The schemas of a vision model's answers. Imported only when a model is asked."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class SeenObject(_Answer):
    name: str = Field(description="What it is, in one to three words.")
    description: str = Field(description="One sentence about it, with any text that can be read on it, word for word.")
    category: str = Field(description="A general word for it, such as person, animal, vehicle, food, furniture.")
    tags: list[str] = Field(description="Up to ten lower-case words somebody might search for.")
    box: list[float] | None = Field(
        description="Left, top, right, bottom edge as fractions of the picture's width and height, from 0 to 1."
    )


class SeenObjects(_Answer):
    objects: list[SeenObject] = Field(description="The things that matter in the picture, the most important first.")


class SeenCaption(_Answer):
    caption: str = Field(description="One or two sentences about what the picture shows.", min_length=1)
    visible_text: str = Field(description="All text that can be read in the picture, word for word; empty if none.")

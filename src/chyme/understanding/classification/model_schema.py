"""The schema of a model's answer about a document or a picture. Imported only when a model is asked."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo


def _at_most(length: int) -> FieldInfo:
    """A length limit that is stated but not enforced: servers that follow the schema stop there; the rest is cut."""
    field: FieldInfo = Field(json_schema_extra={"maxLength": length})
    return field


_Code = Annotated[str, _at_most(12)]
_Title = Annotated[str, _at_most(150)]
_Sentence = Annotated[str, _at_most(300)]
_Date = Annotated[str, _at_most(40)]
_Tag = Annotated[str, _at_most(40)]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False)


class Confidence(_Answer):
    title: float = Field(description="How sure the title is, from 0 to 1.")
    summary: float = Field(description="How sure the summary is, from 0 to 1.")
    date: float = Field(description="How sure the date is, from 0 to 1; 0 without a date.")
    language: float = Field(description="How sure the language is, from 0 to 1.")
    tags: float = Field(description="How sure the tags are, from 0 to 1.")


class ClassificationAnswer(_Answer):
    # Quotes come before what they prove: a model that quotes first guesses less. (A docstring would be sent.)
    language: _Code | None = Field(description="The ISO 639-1 code of the language, such as en or de; null if no text.")
    title_text: _Title | None = Field(description="Words the title was made from, exactly as they stand; null if none.")
    title: _Title | None = Field(description="A specific title of at most twelve words, in that language.")
    summary: _Sentence | None = Field(description="One plain sentence, in that language.")
    date_text: _Date | None = Field(description="The date, exactly as it stands there; null if there is none.")
    date: _Date | None = Field(description="The same date as YYYY-MM-DD, YYYY-MM or YYYY; null if there is none.")
    tags: list[_Tag] = Field(
        description="Three to ten topics in lower case, each of one to three words.", json_schema_extra={"maxItems": 10}
    )
    confidence: Confidence

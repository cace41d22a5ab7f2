"""The schema as the local model is given it: every text and list in it has an end. Loaded only when it is asked."""

from __future__ import annotations

from pydantic_ai import JsonSchemaTransformer
from pydantic_ai.profiles.openai import OpenAIModelProfile

LONGEST_TEXT = 600  # characters, where a shape says nothing of its own
MOST_ITEMS = 60


class BoundedSchema(JsonSchemaTransformer):
    """What llama.cpp makes a grammar of: a small model that has nothing more to say goes on until it must stop."""

    def transform(self, schema: dict[str, object]) -> dict[str, object]:
        schema.pop("title", None)
        if schema.get("type") == "string" and not {"enum", "const", "format", "pattern"} & schema.keys():
            schema.setdefault("maxLength", LONGEST_TEXT)
        if schema.get("type") == "array":
            schema.setdefault("maxItems", MOST_ITEMS)
        if schema.get("type") == "object":
            schema["additionalProperties"] = False
        return schema


def profile() -> OpenAIModelProfile:
    """What to know about the local model when it is asked."""
    return OpenAIModelProfile(
        json_schema_transformer=BoundedSchema,
        supports_json_schema_output=True,
        native_output_requires_schema_in_instructions=True,  # else it sees names only: a grammar tells it nothing
    )

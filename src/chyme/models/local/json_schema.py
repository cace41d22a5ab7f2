"""The schema for the local model, in which every string and list is bounded. Imported only when the model is asked."""

from __future__ import annotations

from pydantic_ai import JsonSchemaTransformer
from pydantic_ai.profiles.openai import OpenAIModelProfile

LONGEST_TEXT = 600  # characters, where the schema has no limit
MAX_ITEMS = 60


class BoundedSchema(JsonSchemaTransformer):
    """llama.cpp turns this into a grammar. A small model with nothing more to say goes on until it must stop."""

    def transform(self, schema: dict[str, object]) -> dict[str, object]:
        schema.pop("title", None)
        if schema.get("type") == "string" and not {"enum", "const", "format", "pattern"} & schema.keys():
            schema.setdefault("maxLength", LONGEST_TEXT)
        if schema.get("type") == "array":
            schema.setdefault("maxItems", MAX_ITEMS)
        if schema.get("type") == "object":
            schema["additionalProperties"] = False
        return schema


def profile() -> OpenAIModelProfile:
    """The properties of the local model."""
    return OpenAIModelProfile(
        json_schema_transformer=BoundedSchema,
        supports_json_schema_output=True,
        native_output_requires_schema_in_instructions=True,  # else it sees only names: a grammar tells it nothing
    )

"""Provider client libraries over our HTTP client, without influence of environment, accounts and telemetry.

Imported only when a model is asked: it loads pydantic_ai.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

from pydantic_ai import JsonSchemaTransformer, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.models import Model
from pydantic_ai.output import OutputSpec
from pydantic_ai.profiles.openai import OpenAIModelProfile

from chyme.models.providers.endpoints import ANTHROPIC, GOOGLE, OPENAI, Endpoint

if TYPE_CHECKING:
    import httpx2
    from pydantic import BaseModel

Answer = TypeVar("Answer", bound="BaseModel")
NO_KEY = "none"  # the clients insist on a key; our transport removes it
OPENAI_HOST = "api.openai.com"  # others turn the schema into a grammar and do not show it to the model
GOOGLE_VERSION = "v1"
ANSWER_TOKENS = 8192  # Anthropic requires it; without it the client asks for a stream, which cannot be stored
LONGEST_TEXT = 600  # characters, where the schema has no limit
MAX_ITEMS = 60


def model_at(endpoint: Endpoint, client: httpx2.AsyncClient) -> Model:
    """The model, asked only through this client."""
    make = {GOOGLE: _google, ANTHROPIC: _anthropic}.get(endpoint.provider, _openai)
    return make(endpoint, client)


def output_spec_for(model: Model, shape: type[Answer]) -> OutputSpec[Answer]:
    """How this model is made to fit the schema: natively, else by a tool call, else by the prompt."""
    if model.profile.get("supports_json_schema_output"):
        return NativeOutput(shape)
    if model.profile.get("supports_tools", True):
        return ToolOutput(shape, name="answer", description="Give the answer.")
    return PromptedOutput(shape)


def add_schema(endpoint: Endpoint, instructions: str, shape: type[BaseModel]) -> str:
    """The instructions, with the schema added where the model would not see it otherwise.

    All in one text, because the templates of many models accept no second system message.
    """
    if endpoint.provider != OPENAI or endpoint.own or endpoint.host == OPENAI_HOST:
        return instructions
    schema = json.dumps(shape.model_json_schema(), ensure_ascii=False)
    return f"{instructions}\n\nAnswer with one JSON object that fits this schema, and with nothing else:\n{schema}"


def _openai(endpoint: Endpoint, client: httpx2.AsyncClient) -> Model:
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    openai_client = AsyncOpenAI(
        base_url=endpoint.address, api_key=NO_KEY, http_client=client, max_retries=0, timeout=None
    )
    profile = _local_profile() if endpoint.own else None
    return OpenAIChatModel(endpoint.model, provider=OpenAIProvider(openai_client=openai_client), profile=profile)


def _anthropic(endpoint: Endpoint, client: httpx2.AsyncClient) -> Model:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.settings import ModelSettings

    anthropic_client = AsyncAnthropic(
        base_url=endpoint.address, api_key=NO_KEY, http_client=client, max_retries=0, timeout=None, open_telemetry=False
    )
    settings = ModelSettings(max_tokens=ANSWER_TOKENS)
    return AnthropicModel(
        endpoint.model, provider=AnthropicProvider(anthropic_client=anthropic_client), settings=settings
    )


def _google(endpoint: Endpoint, client: httpx2.AsyncClient) -> Model:
    import httpx2
    from google.genai.client import Client
    from google.genai.types import HttpOptions
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    from chyme.models.providers.http_transport import BlockedTransport

    google_client = Client(
        vertexai=False,
        api_key=NO_KEY,
        http_options=HttpOptions(
            base_url=endpoint.address,
            api_version=GOOGLE_VERSION,
            httpx_client=httpx2.Client(transport=BlockedTransport(), trust_env=False),
            httpx_async_client=client,
        ),
    )
    return GoogleModel(endpoint.model, provider=GoogleProvider(client=google_client))


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


def _local_profile() -> OpenAIModelProfile:
    """The properties of the local model."""
    return OpenAIModelProfile(
        json_schema_transformer=BoundedSchema,
        supports_json_schema_output=True,
        native_output_requires_schema_in_instructions=True,  # else it sees only names: a grammar tells it nothing
    )

"""Ask a model one question, with an answer that fits a schema, within a time limit."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from chyme.digester import Calls
from chyme.errors import EngineUnavailable
from chyme.models.local.model import take_turn
from chyme.models.providers.endpoints import ADDRESSES, ANTHROPIC, GOOGLE, LOCAL, OPENAI, Endpoint
from chyme.models.providers.service_call import call_service

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_ai.messages import UserContent

    from chyme.models.providers.metered_transport import MeteredTransport

Answer = TypeVar("Answer", bound="BaseModel")
MAX_RETRIES = 1  # once more, saying what was wrong with the first answer
_LOGGERS = ("openai", "anthropic", "google", "google_genai", "pydantic_ai", "httpx2", "httpcore2")
_CLIENTS = {OPENAI: "openai", LOCAL: "openai", GOOGLE: "google", ANTHROPIC: "anthropic"}


def ask(
    endpoint: Endpoint,
    calls: Calls,
    name: str,
    instructions: str,
    content: str | Sequence[UserContent],
    shape: type[Answer],
    wrong: Callable[[Answer], str | None] = lambda _answer: None,
    retries: int = MAX_RETRIES,
) -> Answer:
    """The model's answer, or a DigestError. Blocks the calling thread, which must not run an event loop.

    `name` is the file's name, for messages. `content` is data: the model gets no tools, whatever it reads there. An
    answer that does not fit, or with which `wrong` finds a problem, is asked for once more with the reason; if the
    second one is wrong too, InvalidAnswer is raised. Errors raised by `calls` pass through unchanged. When chyme stops,
    a ChymeError that is not a DigestError is raised: see cancellation.py.
    """
    check_endpoint(endpoint, name)
    require_client_for_file(name, endpoint.provider)
    from chyme.models.providers.error_translation import translate_error

    with take_turn(endpoint, name) as running:
        return call_service(
            running,
            calls,
            lambda transport: _converse(running, transport, instructions, content, shape, wrong, retries),
            lambda error, last: translate_error(error, name, running, last),
        )


def require_client_for_file(name: str, provider: str) -> None:
    """Raise EngineUnavailable, naming this file, if the client packages of this provider are not installed."""
    client = _CLIENTS[provider]
    try:
        import_module(f"pydantic_ai.models.{client}")
    except ImportError as error:
        raise EngineUnavailable(
            f"{name}: a model is configured but its client is not installed ({error}); pip install 'chyme[llm]'"
        ) from error
    for logger in _LOGGERS:  # whatever the environment says: at a lower level they log what is in the files
        logging.getLogger(logger).setLevel(logging.WARNING)


def check_endpoint(endpoint: Endpoint, name: str) -> None:
    """Raise EngineUnavailable if these settings cannot reach a model."""
    prefix = endpoint.prefix
    if endpoint.provider not in _CLIENTS:
        raise EngineUnavailable(f"{name}: {prefix}_provider must be one of {', '.join(_CLIENTS)}; correct it")
    if endpoint.provider == LOCAL:
        return
    if not _is_address(endpoint.address):
        raise EngineUnavailable(f"{name}: {prefix}_url is not an address like https://host/v1; correct it")
    if not endpoint.model:
        raise EngineUnavailable(f"{name}: {prefix}_model is empty; name the model to ask")
    if not endpoint.key.isascii() or not endpoint.key.isprintable() or " " in endpoint.key:
        raise EngineUnavailable(f"{name}: {prefix}_key contains blanks or characters that no key has; correct it")
    if not endpoint.key and endpoint.address == ADDRESSES.get(endpoint.provider):
        raise EngineUnavailable(f"{name}: {endpoint.host} asks for a key; set {prefix}_key")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc


async def _converse(
    endpoint: Endpoint,
    transport: MeteredTransport,
    instructions: str,
    content: str | Sequence[UserContent],
    shape: type[Answer],
    wrong: Callable[[Answer], str | None],
    retries: int,
) -> Answer:
    import httpx2
    from pydantic_ai import Agent, ModelRetry, capture_run_messages
    from pydantic_ai.exceptions import ContentFilterError, UnexpectedModelBehavior
    from pydantic_ai.messages import ModelResponse

    from chyme.models.providers.error_translation import NoCompletion
    from chyme.models.providers.model_clients import add_schema, model_at, output_spec_for

    async with httpx2.AsyncClient(transport=transport, trust_env=False, follow_redirects=False, timeout=None) as client:
        model = model_at(endpoint, client)
        agent = Agent(
            model,
            output_type=output_spec_for(model, shape),
            instructions=add_schema(endpoint, instructions, shape),
            retries={"tools": 0, "output": retries},
        )

        @agent.output_validator
        def check_answer(answer: Answer) -> Answer:
            try:
                complaint = wrong(answer)
            except Exception as error:
                transport.stopped = error
                raise
            if complaint is not None:
                raise ModelRetry(complaint)
            return answer

        with capture_run_messages() as exchanged:
            try:
                async with transport.limit_time(endpoint.seconds):
                    return (await agent.run(content)).output
            except ContentFilterError:
                raise
            except UnexpectedModelBehavior as error:
                if any(isinstance(message, ModelResponse) for message in exchanged):
                    raise
                raise NoCompletion from error


def delimit_data(question: str, language: str | None, data: str) -> str:
    """The question, and the data between two lines that it cannot contain, because they are its hash."""
    mark = hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    language_note = f" The language is {language!r}." if language else ""
    return f"{question}{language_note}\nBEGIN {mark}\n{data}\nEND {mark}"

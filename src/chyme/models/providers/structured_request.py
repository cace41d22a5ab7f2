"""One question to a model, answered by a schema, within its time."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar
from urllib.parse import urlsplit

from chyme.digester import Calls
from chyme.errors import EngineUnavailable
from chyme.models.providers.cancellation import CallStopped, run_in_own_loop
from chyme.models.providers.endpoints import ADDRESSES, ANTHROPIC, GOOGLE, LOCAL, OPENAI, Endpoint
from chyme.models.providers.health_reports import report_health

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_ai.messages import UserContent

    from chyme.models.providers.metered_transport import MeteredTransport

Answer = TypeVar("Answer", bound="BaseModel")
MAX_RETRIES = 1  # once more, with what did not fit about the first answer
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
) -> Answer:
    """What the model answers, or a DigestError. Blocks the calling thread, which must not run an event loop.

    `name` is the file's, for messages. `content` is data: the model is given no tools, whatever it reads there.
    An answer that does not fit, or of which `wrong` says what is wrong with it, is asked for once more with the
    reason; a second one of these raises Misfit. What `calls` raises comes out as it is. When chyme
    stops, no DigestError comes out but another ChymeError: see running.py.
    """
    check_endpoint(endpoint, name)
    require_client_for_file(name, endpoint.provider)
    with _there(endpoint, name) as there:
        return _answered(there, calls, name, _Question(instructions, content, shape, wrong))


def require_client_for_file(name: str, provider: str) -> None:
    """EngineUnavailable, for this file, when the packages that talk to this provider's models are not installed."""
    try:
        require_client(provider)
    except EngineUnavailable as error:
        raise EngineUnavailable(f"{name}: {error}") from error


def require_client(provider: str) -> None:
    """EngineUnavailable when the packages that talk to this provider's models are not installed."""
    client = _CLIENTS[provider]
    try:
        import_module(f"pydantic_ai.models.{client}")
    except ImportError as error:
        raise EngineUnavailable(
            f"a model is configured but its client is not installed ({error}); pip install 'pydantic-ai-slim[{client}]'"
        ) from error
    for name in _LOGGERS:  # whatever the environment says: at a lower level they tell what is in the files
        logging.getLogger(name).setLevel(logging.WARNING)


def check_endpoint(endpoint: Endpoint, name: str) -> None:
    """EngineUnavailable when these are no settings by which a model can be asked."""
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
        raise EngineUnavailable(f"{name}: {prefix}_key holds blanks or letters no key has; correct it")
    if not endpoint.key and endpoint.address == ADDRESSES.get(endpoint.provider):
        raise EngineUnavailable(f"{name}: {endpoint.host} asks for a key; set {prefix}_key")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc


def _there(endpoint: Endpoint, name: str) -> AbstractContextManager[Endpoint]:
    """The endpoint to ask: where a model of our own is when it is our turn, others as they are."""
    if endpoint.provider != LOCAL:
        return nullcontext(endpoint)
    from chyme.models.local.model import take_turn

    return take_turn(endpoint, name)


@dataclass(frozen=True, slots=True)
class _Question(Generic[Answer]):
    instructions: str
    content: str | Sequence[UserContent]
    shape: type[Answer]
    wrong: Callable[[Answer], str | None]


def _answered(endpoint: Endpoint, calls: Calls, name: str, question: _Question[Answer]) -> Answer:
    from chyme.models.providers.error_translation import translate_error
    from chyme.models.providers.metered_transport import MeteredTransport

    toll = MeteredTransport(endpoint, calls)
    try:
        answer = run_in_own_loop(_conversation(endpoint, toll, question))
    except CallStopped:
        raise
    except Exception as error:
        if toll.stopped is None:
            ours = translate_error(error, name, endpoint, toll.ended)
            if ours is None:
                raise
            report_health(calls, endpoint, ours, toll.ended)
            raise ours from None  # what they say may quote the key
    if toll.stopped is not None:
        raise toll.stopped
    report_health(calls, endpoint, None, toll.ended)
    return answer


async def _conversation(endpoint: Endpoint, toll: MeteredTransport, question: _Question[Answer]) -> Answer:
    import httpx2
    from pydantic_ai import Agent, ModelRetry, capture_run_messages
    from pydantic_ai.exceptions import ContentFilterError, UnexpectedModelBehavior
    from pydantic_ai.messages import ModelResponse

    from chyme.models.providers.error_translation import NoCompletion
    from chyme.models.providers.model_clients import add_schema, model_at, output_spec_for

    async with httpx2.AsyncClient(transport=toll, trust_env=False, follow_redirects=False, timeout=None) as client:
        model = model_at(endpoint, client)
        agent = Agent(
            model,
            output_type=output_spec_for(model, question.shape),
            instructions=add_schema(endpoint, question.instructions, question.shape),
            retries={"tools": 0, "output": MAX_RETRIES},
        )

        @agent.output_validator
        def checked(answer: Answer) -> Answer:
            try:
                complaint = question.wrong(answer)
            except Exception as error:
                toll.stopped = error
                raise
            if complaint is not None:
                raise ModelRetry(complaint)
            return answer

        with capture_run_messages() as exchanged:
            try:
                async with toll.limit_time(endpoint.seconds):
                    return (await agent.run(question.content)).output
            except ContentFilterError:
                raise
            except UnexpectedModelBehavior as error:
                if any(isinstance(message, ModelResponse) for message in exchanged):
                    raise
                raise NoCompletion from error

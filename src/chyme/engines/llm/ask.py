"""One question to a model, answered by a schema, within its time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from chyme.engines.llm.settings import Endpoint
from chyme.errors import EngineUnavailable

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_ai.messages import UserContent
    from pydantic_ai.models import Model

Answer = TypeVar("Answer", bound="BaseModel")
Result = TypeVar("Result")
ASK_AGAIN = 1  # once more, with what did not fit about the first answer
NO_KEY = "none"  # the client insists on one, servers that need none ignore it


def ask(
    endpoint: Endpoint,
    name: str,
    instructions: str,
    content: str | Sequence[UserContent],
    shape: type[Answer],
    wrong: Callable[[Answer], str | None] = lambda _answer: None,
) -> Answer:
    """What the model answers, or a DigestError. Blocks the calling thread, which must not run an event loop.

    `name` is the file's, for messages. `content` is data: the model is given no tools, whatever it reads there.
    An answer that does not fit, or of which `wrong` says what is wrong with it, is asked for once more with the
    reason; a second one of these raises Misfit.
    """
    from chyme.engines.llm.faults import translated

    check(endpoint, name)
    try:
        return bounded(_conversation(endpoint, instructions, content, shape, wrong), endpoint.seconds)
    except Exception as error:
        ours = translated(error, name, endpoint)
        if ours is None:
            raise
        raise ours from None  # what they say may quote the key


def ready(name: str) -> None:
    """EngineUnavailable, for this file, when the packages that talk to models are not installed."""
    try:
        require_client()
    except EngineUnavailable as error:
        raise EngineUnavailable(f"{name}: {error}") from error


def require_client() -> None:
    """EngineUnavailable when the packages that talk to models are not installed."""
    try:
        import pydantic_ai.models.openai  # noqa: F401
    except ImportError as error:
        raise EngineUnavailable(
            f"a model is configured but its client is not installed ({error}); pip install 'pydantic-ai-slim[openai]'"
        ) from error


async def _conversation(
    endpoint: Endpoint,
    instructions: str,
    content: str | Sequence[UserContent],
    shape: type[Answer],
    wrong: Callable[[Answer], str | None],
) -> Answer:
    import httpx2
    from pydantic_ai import Agent, ModelRetry, NativeOutput, capture_run_messages
    from pydantic_ai.exceptions import ContentFilterError, UnexpectedModelBehavior
    from pydantic_ai.messages import ModelResponse

    from chyme.engines.llm.door import Door
    from chyme.engines.llm.faults import NoCompletion

    async with httpx2.AsyncClient(
        transport=Door(endpoint.url), trust_env=False, follow_redirects=False, timeout=endpoint.seconds
    ) as client:
        agent = Agent(
            _model(endpoint, client),
            output_type=NativeOutput(shape),
            instructions=instructions,
            retries={"tools": 0, "output": ASK_AGAIN},
        )

        @agent.output_validator
        def checked(answer: Answer) -> Answer:
            complaint = wrong(answer)
            if complaint is not None:
                raise ModelRetry(complaint)
            return answer

        with capture_run_messages() as exchanged:
            try:
                return (await agent.run(content)).output
            except ContentFilterError:
                raise
            except UnexpectedModelBehavior as error:
                if any(isinstance(message, ModelResponse) for message in exchanged):
                    raise
                raise NoCompletion from error


def _model(endpoint: Endpoint, client: Any) -> Model:
    """Other providers come in here: a model of theirs over the same client."""
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    openai = AsyncOpenAI(base_url=endpoint.url, api_key=endpoint.key or NO_KEY, http_client=client, max_retries=0)
    return OpenAIChatModel(endpoint.model, provider=OpenAIProvider(openai_client=openai))


def check(endpoint: Endpoint, name: str) -> None:
    """EngineUnavailable when this is no address a model can be at."""
    try:
        parts = urlsplit(endpoint.url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
        _ = parts.port
    except ValueError:
        good = False
    if not good:
        raise EngineUnavailable(f"{name}: {endpoint.prefix}_url is not an address like https://host/v1; correct it")
    if not endpoint.model:
        raise EngineUnavailable(f"{name}: {endpoint.prefix}_model is empty; name the model to ask")


def bounded(work: Coroutine[Any, Any, Result], seconds: float) -> Result:
    """Run it in an event loop of its own; out of time, it is cancelled, which closes its connection.

    Unlike asyncio.run, this does not wait for a name server that hangs: that thread ends by itself.
    """
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(asyncio.wait_for(work, seconds))
    finally:
        loop.run_until_complete(_wound_up())
        loop.close()


async def _wound_up() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()

"""Ask a model one question, and pass its answer on, piece by piece, while it writes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

from chyme.digester import Calls
from chyme.models.local.model import take_turn
from chyme.models.providers.cancellation import CallCancellation, CallStopped
from chyme.models.providers.endpoints import Endpoint
from chyme.models.providers.service_call import call_service
from chyme.models.providers.structured_request import check_endpoint, require_client_for_file

if TYPE_CHECKING:
    from chyme.models.providers.metered_transport import MeteredTransport


def ask_streamed(
    endpoint: Endpoint,
    calls: Calls,
    name: str,
    instructions: str,
    content: str,
    receive: Callable[[str], bool],
    cancellation: CallCancellation,
) -> None:
    """Ask, and call `receive` with each piece of text; it returns whether more is wanted. Blocks the calling thread.

    A DigestError if the model cannot be asked or stops in the middle; CallStopped if it was cancelled. `content` is
    data: the model gets no tools. `name` stands in messages.
    """
    check_endpoint(endpoint, name)
    require_client_for_file(name, endpoint.provider)
    from chyme.models.providers.error_translation import translate_error

    with take_turn(endpoint, name) as running:
        if cancellation.requested:
            raise CallStopped("cancelled while waiting for the model")
        call_service(
            running,
            calls,
            lambda transport: _converse(running, transport, instructions, content, receive, cancellation),
            lambda error, last: translate_error(error, name, running, last),
            streamed=True,
        )


async def _converse(
    endpoint: Endpoint,
    transport: MeteredTransport,
    instructions: str,
    content: str,
    receive: Callable[[str], bool],
    cancellation: CallCancellation,
) -> None:
    import httpx2
    from pydantic_ai import Agent

    from chyme.models.providers.model_clients import model_at

    with cancellation.cancellable():
        async with httpx2.AsyncClient(
            transport=transport, trust_env=False, follow_redirects=False, timeout=None
        ) as client:
            agent = Agent(model_at(endpoint, client), instructions=instructions, retries={"tools": 0, "output": 0})
            async with (
                transport.limit_time(endpoint.seconds),
                agent.run_stream(content) as result,
                aclosing(result.stream_text(delta=True, debounce_by=None)) as pieces,  # type: ignore[type-var]
            ):
                async for piece in pieces:
                    if not receive(piece):
                        return

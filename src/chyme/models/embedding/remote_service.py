"""Have texts embedded by a service that takes OpenAI's `POST {url}/embeddings`. Runs in a thread, not in a child."""

from __future__ import annotations

import json
import math
import sys
from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from chyme.digester import Calls
from chyme.models.embedding.error_translation import (
    invalid_answer_error,
    response_error,
    translate_error,
    wrong_service_error,
)
from chyme.models.providers.cancellation import CallStopped, run_in_own_loop
from chyme.models.providers.endpoints import Endpoint
from chyme.models.providers.health_reports import report_health
from chyme.models.providers.structured_request import check_endpoint

if TYPE_CHECKING:
    from chyme.models.embedding.passage_embedder import PassageEmbedding
    from chyme.models.providers.metered_transport import MeteredTransport

    Row = array[float]

PREFIX = "embedding"  # how its settings begin
TEXTS = 32  # in one request: the answer to twice as many may be larger than any we take
CHARACTERS = 100_000  # in one request, when it has more than one text
LONGEST = 8192  # numbers in a vector


def endpoint_of(settings: PassageEmbedding, seconds: float | None = None) -> Endpoint:
    """Where the service is. One request takes no longer than `seconds`, where they are told."""
    return Endpoint(settings.url, settings.model, settings.key, seconds or settings.seconds, PREFIX, "text")


def requests_for(texts: Sequence[str]) -> int:
    """How many requests it takes to have these texts embedded."""
    return len(_batches(texts))


def embed_remotely(
    settings: PassageEmbedding,
    texts: Sequence[str],
    calls: Calls,
    *,
    name: str = "a text",
    seconds: float | None = None,
    progress: Callable[[float], None] = lambda _fraction: None,
) -> bytes:
    """A row of float32, little-endian and of length 1, for each text, in order; or a DigestError.

    Blocks the calling thread, which must not run an event loop. `name` is the file's, for messages; the service is not
    told it. The same texts go into the same requests: what was answered before is not asked again.
    """
    from chyme.models.providers.metered_transport import MeteredTransport

    endpoint = endpoint_of(settings, seconds)
    check_endpoint(endpoint, name)
    batches = _batches(texts)
    toll = MeteredTransport(endpoint, calls)
    try:
        rows = run_in_own_loop(_conversation(endpoint, settings.dimension, batches, toll, name, progress))
    except CallStopped:
        raise
    except Exception as error:
        if toll.stopped is None:
            ours = translate_error(error, name, endpoint)
            if ours is None:
                raise
            report_health(calls, endpoint, ours, toll.ended)
            raise ours from None  # what they say may quote the key
    if toll.stopped is not None:
        raise toll.stopped
    report_health(calls, endpoint, None, toll.ended)
    return b"".join(_little_endian(row) for row in rows)


def _batches(texts: Sequence[str]) -> list[list[str]]:
    found: list[list[str]] = []
    room = 0
    for text in texts:
        if not found or len(found[-1]) == TEXTS or len(text) > room:
            found.append([])
            room = CHARACTERS
        found[-1].append(text.encode("utf-8", "replace").decode())  # no service takes half a character
        room -= len(text)
    return found


async def _conversation(
    endpoint: Endpoint,
    dimension: int,
    batches: Sequence[Sequence[str]],
    toll: MeteredTransport,
    name: str,
    progress: Callable[[float], None],
) -> list[Row]:
    import httpx2

    wanted: dict[str, Any] = {"model": endpoint.model, "encoding_format": "float"}
    if dimension:
        wanted["dimensions"] = dimension
    rows: list[Row] = []
    async with httpx2.AsyncClient(transport=toll, trust_env=False, follow_redirects=False, timeout=None) as client:
        for number, batch in enumerate(batches, 1):
            async with toll.limit_time(endpoint.seconds):
                answer = await client.post(f"{endpoint.url.rstrip('/')}/embeddings", json={**wanted, "input": batch})
            if not answer.is_success:
                raise response_error(answer, name, endpoint)
            told = _told(answer.content)
            if told is None:
                raise wrong_service_error(name, endpoint)
            size = dimension or (len(rows[0]) if rows else 0)
            try:
                rows += _rows(told, len(batch), size)
            except ValueError as error:
                raise invalid_answer_error(name, endpoint, str(error)) from None
            progress(number / len(batches))
    return rows


def _told(body: bytes) -> list[Any] | None:
    """What was answered; None when that is no answer to texts."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return None
    data = told.get("data") if isinstance(told, dict) else None
    return data if isinstance(data, list) and all(isinstance(one, dict) for one in data) else None


def _rows(told: Sequence[dict[str, Any]], count: int, size: int) -> list[Row]:
    """A vector for each text, in the order of the texts; ValueError when these are not what was asked for."""
    if len(told) != count:
        raise ValueError(f"answers {len(told)} vectors to {count} texts")
    found: dict[int, Row] = {}
    for place, one in enumerate(told):
        index = one.get("index", place)
        if type(index) is not int or not 0 <= index < count or index in found:
            raise ValueError("does not tell which vector is whose")
        found[index] = _row(one.get("embedding"))
    sizes = {len(row) for row in found.values()}
    if len(sizes | {size or len(found[0])}) > 1:
        wanted = f" than {size}" if size else ""
        raise ValueError(f"answers vectors of other lengths{wanted} ({', '.join(map(str, sorted(sizes)))})")
    return [found[index] for index in range(count)]


def _row(told: object) -> Row:
    """The vector made as long as 1; ValueError when it has no direction."""
    if not isinstance(told, list) or not 0 < len(told) <= LONGEST or any(type(one) not in (int, float) for one in told):
        raise ValueError("answers something else than vectors of numbers")
    try:
        length = math.hypot(*told)
    except OverflowError:
        length = math.inf
    if not math.isfinite(length) or not length:
        raise ValueError("answers a vector that points nowhere")
    return array("f", [one / length for one in told])


def _little_endian(row: Row) -> bytes:
    if sys.byteorder == "big":
        row = array("f", row)
        row.byteswap()
    return row.tobytes()

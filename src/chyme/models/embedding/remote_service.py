"""Embed texts by a service that takes OpenAI's `POST {url}/embeddings`. Runs in a thread, not in a child."""

from __future__ import annotations

import json
import math
import sys
from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from chyme.digester import Calls
from chyme.models.embedding.error_translation import response_error
from chyme.models.providers.endpoints import Endpoint
from chyme.models.providers.service_call import call_service
from chyme.models.providers.service_faults import Fault, service_error, transport_error
from chyme.models.providers.structured_request import check_endpoint

if TYPE_CHECKING:
    from chyme.models.embedding.passage_embedder import PassageEmbedding
    from chyme.models.providers.metered_transport import MeteredTransport

    Row = array[float]

PREFIX = "embedding"  # the prefix of its settings
BATCH_TEXTS = 32  # in one request: the answer to twice as many may exceed the size limit
BATCH_CHARACTERS = 100_000  # in one request, if it has more than one text
MAX_DIMENSION = 8192  # numbers in a vector


def endpoint_of(settings: PassageEmbedding, seconds: float | None = None) -> Endpoint:
    """Where the service is. One request may take `seconds`, if given."""
    return Endpoint(settings.url, settings.model, settings.key, seconds or settings.seconds, PREFIX, "text")


def requests_for(texts: Sequence[str]) -> int:
    """How many requests it takes to embed these texts."""
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

    Blocks the calling thread, which must not run an event loop. `name` is the file's name, for messages; it is not sent
    to the service. The same texts go into the same requests, so that stored replies are reused.
    """
    endpoint = endpoint_of(settings, seconds)
    check_endpoint(endpoint, name)
    batches = _batches(texts)
    rows = call_service(
        endpoint,
        calls,
        lambda transport: _send_batches(endpoint, settings.dimension, batches, transport, name, progress),
        lambda error, _last: transport_error(error, name, endpoint, endpoint.seconds),
    )
    return b"".join(_little_endian(row) for row in rows)


def _batches(texts: Sequence[str]) -> list[list[str]]:
    batches: list[list[str]] = []
    room = 0
    for text in texts:
        if not batches or len(batches[-1]) == BATCH_TEXTS or len(text) > room:
            batches.append([])
            room = BATCH_CHARACTERS
        batches[-1].append(text.encode("utf-8", "replace").decode())  # no service takes lone surrogates
        room -= len(text)
    return batches


async def _send_batches(
    endpoint: Endpoint,
    dimension: int,
    batches: Sequence[Sequence[str]],
    transport: MeteredTransport,
    name: str,
    progress: Callable[[float], None],
) -> list[Row]:
    import httpx2

    request_fields: dict[str, Any] = {"model": endpoint.model, "encoding_format": "float"}
    if dimension:
        request_fields["dimensions"] = dimension
    rows: list[Row] = []
    async with httpx2.AsyncClient(transport=transport, trust_env=False, follow_redirects=False, timeout=None) as client:
        for number, batch in enumerate(batches, 1):
            async with transport.limit_time(endpoint.seconds):
                answer = await client.post(
                    f"{endpoint.url.rstrip('/')}/embeddings", json={**request_fields, "input": batch}
                )
            if not answer.is_success:
                raise response_error(answer, name, endpoint)
            data = _parse_answer(answer.content)
            if data is None:
                raise service_error(Fault.WRONG_SERVICE, name, endpoint)  # it does not embed texts
            size = dimension or (len(rows[0]) if rows else 0)
            try:
                rows += _parse_vectors(data, len(batch), size)
            except ValueError as error:
                raise service_error(Fault.INVALID_ANSWER, name, endpoint, answers=str(error)) from None
            progress(number / len(batches))
    return rows


def _parse_answer(body: bytes) -> list[Any] | None:
    """The data of the answer; None if it is not an answer to texts."""
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        return None
    data = payload.get("data") if isinstance(payload, dict) else None
    return data if isinstance(data, list) and all(isinstance(item, dict) for item in data) else None


def _parse_vectors(data: Sequence[dict[str, Any]], count: int, size: int) -> list[Row]:
    """A vector for each text, in the order of the texts; ValueError if these are not what was asked for."""
    if len(data) != count:
        raise ValueError(f"answers {len(data)} vectors to {count} texts")
    vectors: dict[int, Row] = {}
    for position, item in enumerate(data):
        index = item.get("index", position)
        if type(index) is not int or not 0 <= index < count or index in vectors:
            raise ValueError("does not say which vector belongs to which text")
        vectors[index] = _normalise_vector(item.get("embedding"))
    sizes = {len(row) for row in vectors.values()}
    if len(sizes | {size or len(vectors[0])}) > 1:
        wanted = f" than {size}" if size else ""
        raise ValueError(f"answers vectors of other lengths{wanted} ({', '.join(map(str, sorted(sizes)))})")
    return [vectors[index] for index in range(count)]


def _normalise_vector(vector: object) -> Row:
    """The vector scaled to length 1; ValueError if it has no direction."""
    if (
        not isinstance(vector, list)
        or not 0 < len(vector) <= MAX_DIMENSION
        or any(type(number) not in (int, float) for number in vector)
    ):
        raise ValueError("answers something else than vectors of numbers")
    try:
        length = math.hypot(*vector)
    except OverflowError:
        length = math.inf
    if not math.isfinite(length) or not length:
        raise ValueError("answers a vector that points nowhere")
    return array("f", [number / length for number in vector])


def _little_endian(row: Row) -> bytes:
    if sys.byteorder == "big":
        row = array("f", row)
        row.byteswap()
    return row.tobytes()

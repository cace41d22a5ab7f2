"""Embed texts by a service that takes OpenAI's `POST {url}/embeddings`. Runs in a thread, not in a child."""

from __future__ import annotations

import json
import math
import re
import sys
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chyme.core.children.frames import BadFrame, InlineBulk, parse
from chyme.core.children.serialization import decode_outputs, encode_output
from chyme.core.files.untrusted_files import open_untrusted, write_atomically
from chyme.digester import Calls
from chyme.errors import DigestError
from chyme.model import Output
from chyme.models.providers.endpoints import Endpoint
from chyme.models.providers.service_call import call_service
from chyme.models.providers.service_faults import (
    Fault,
    error_details,
    fault_of_response,
    parse_retry_after,
    service_error,
    transport_error,
)
from chyme.models.providers.structured_request import check_endpoint

if TYPE_CHECKING:
    import httpx2

    from chyme.models.embedding.passage_embedder import PassageEmbedding
    from chyme.models.providers.metered_transport import MeteredTransport

    Row = array[float]

PREFIX = "embedding"  # the prefix of its settings
BATCH_TEXTS = 32  # in one request: the answer to twice as many may exceed the size limit
BATCH_CHARACTERS = 100_000  # in one request, if it has more than one text
MAX_DIMENSION = 8192  # numbers in a vector
MAX_BYTES = 64 << 20
_TOO_LONG = re.compile(r"context.{0,20}(length|size|window)|too (large|long)|input length|maximum.{0,20}tokens")


def write_passages(path: Path, output: Output, title: str) -> None:
    """Write the output with its passages, and the title that is sent before each of them."""
    bulk: list[bytes] = []
    row = encode_output(output, bulk)
    write_atomically(path, b"\n".join([json.dumps({"title": title, "output": row}).encode(), b"".join(bulk)]))


def read_passages(path: Path, name: str) -> tuple[Output, str]:
    """The stored output of this name and the title; OSError or ValueError if the file cannot be trusted."""
    with open_untrusted(path, MAX_BYTES) as stream:
        head, _, bulk = stream.read().partition(b"\n")
    try:
        header = parse(head)
        (output,) = decode_outputs([header.get("output")], (name,), InlineBulk(bulk))
    except BadFrame as error:
        raise ValueError(str(error)) from error
    title = header.get("title")
    if not isinstance(title, str):
        raise ValueError("the title is not text")
    return output, title


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
    endpoint = Endpoint(settings.url, settings.model, settings.key, seconds or settings.seconds, PREFIX, "text")
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


def response_error(answer: httpx2.Response, name: str, endpoint: Endpoint) -> DigestError:
    """Our error for an unsuccessful response."""
    codes, _ = error_details(answer)
    status, prefix = answer.status_code, endpoint.prefix
    fault = fault_of_response(status, codes)
    is_unclear = fault in (Fault.REJECTED, Fault.FAILED) and status in (400, 422, 500)
    if is_unclear and _TOO_LONG.search(answer.text.lower()):
        fault = Fault.TOO_LARGE
    return service_error(
        fault,
        name,
        endpoint,
        status=status,
        retry_after=parse_retry_after(answer.headers),
        sent="texts",
        lower=f"{prefix}_window, then run 'chyme retry'",
        asked="request",
        needed=f"be a model that embeds texts, and {prefix}_dimension, where it is set, one that it can give",
    )

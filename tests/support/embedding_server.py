"""A service that embeds texts, on loopback: OpenAI's `POST /embeddings`, with faults.

with ModelServer([fails(429, retry_after="7"), embeds()]) as server:
    ...server.url...
assert texts_of(server.requests[1]) == ["rent"]
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from model_server import Answer, Asked

SIZE = 8  # numbers in its vectors


def texts_of(request: Asked) -> list[str]:
    """The texts of a request."""
    found = request.body["input"]
    assert isinstance(found, list)
    return found


def vector_of(text: str, size: int = SIZE) -> list[float]:
    """Always the same vector for the same text, different vectors for different texts, and never of length 1."""
    seed = hashlib.sha512(text.encode()).digest() * (size // 64 + 1)
    return [3.0 * (byte - 127.5) / 128 for byte in seed[:size]]


def embeds(
    change: Callable[[list[dict[str, Any]]], object] = lambda data: data, size: int = SIZE, tokens: int | None = None
) -> Callable[[Asked], Answer]:
    """A good answer to any request, or what `change` makes of its rows."""

    def answer(request: Asked) -> Answer:
        texts = texts_of(request)
        long = request.body.get("dimensions", size)
        data = [
            {"object": "embedding", "index": index, "embedding": vector_of(text, long)}
            for index, text in enumerate(texts)
        ]
        used = sum(len(text.split()) for text in texts) if tokens is None else tokens
        payload = {
            "object": "list",
            "data": change(data),
            "model": request.body["model"],
            "usage": {"prompt_tokens": used, "total_tokens": used},
        }
        return Answer(body=json.dumps(payload).encode())

    return answer


def with_first(value: object) -> Callable[[Asked], Answer]:
    """An answer in which the first number of the first vector is this value."""

    def change(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
        data[0]["embedding"][0] = value
        return data

    return embeds(change)

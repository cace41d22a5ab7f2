"""Read from a reply whether it is an answer, how many tokens it used and what that costs, without any request."""

from __future__ import annotations

import json
from typing import Any

from chyme.models.providers.endpoints import Endpoint

MAX_TOKENS = 10**9  # a larger count is ignored
_ANSWER_KEYS = frozenset({"choices", "content", "candidates", "promptFeedback", "text", "segments"})  # one is required


def parse_reply(body: bytes) -> dict[str, Any] | None:
    """The reply of a model; None if something else answers at that address."""
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(payload, dict) or (_ANSWER_KEYS.isdisjoint(payload) and not _has_embeddings(payload)):
        return None
    return payload


def _has_embeddings(payload: dict[str, Any]) -> bool:
    """Whether the reply contains embedding vectors."""
    data = payload.get("data")
    return isinstance(data, list) and bool(data) and isinstance(data[0], dict) and "embedding" in data[0]


def parse_event_stream(body: bytes) -> dict[str, Any] | None:
    """The events of a streamed reply as one payload, with the usage of all; None if none of them is from a model."""
    merged: dict[str, Any] | None = None
    for line in body.splitlines():
        try:
            event = json.loads(line[5:]) if line.startswith(b"data:") else None
        except (ValueError, RecursionError):
            continue
        if not isinstance(event, dict):
            continue
        message = event.get("message")
        if merged is None and (not _ANSWER_KEYS.isdisjoint(event) or isinstance(message, dict)):
            merged = {}
        if merged is None:
            continue
        for part in (message, event):
            for name in ("usage", "usageMetadata"):
                if isinstance(part, dict) and isinstance(counts := part.get(name), dict):
                    merged[name] = {**merged.get(name, {}), **counts}
    return merged


def usage_of(endpoint: Endpoint, payload: dict[str, Any]) -> tuple[int | None, int | None, float | None]:
    """Tokens in, tokens out, and US dollars; None for what the reply does not say or has no known price."""
    tokens_in, tokens_out = _tokens(payload)
    if tokens_in is None or tokens_out is None or endpoint.own:
        return tokens_in, tokens_out, None
    return tokens_in, tokens_out, _price(endpoint, tokens_in, tokens_out)


def _tokens(payload: dict[str, Any]) -> tuple[int | None, int | None]:
    """Tokens as OpenAI, Anthropic and Google report them; those read from or written to a cache count as sent."""
    usage = payload.get("usage")
    if isinstance(usage, dict):
        if "input_tokens" in usage:
            cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
            return _sum_counts(usage, "input_tokens", *cached), _sum_counts(usage, "output_tokens")
        return _sum_counts(usage, "prompt_tokens"), 0 if _has_embeddings(payload) else _sum_counts(
            usage, "completion_tokens"
        )
    usage = payload.get("usageMetadata")
    if isinstance(usage, dict):
        return _sum_counts(usage, "promptTokenCount"), _sum_counts(usage, "candidatesTokenCount", "thoughtsTokenCount")
    return None, None


def _sum_counts(usage: dict[str, Any], *names: str) -> int | None:
    counts = [
        value
        for name in names
        if isinstance(value := usage.get(name), int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS
    ]
    return sum(counts) if counts else None


def _price(endpoint: Endpoint, tokens_in: int, tokens_out: int) -> float | None:
    """By the price list of the installed package; only for addresses and models in that list."""
    from genai_prices import Usage, calc_price

    usage = Usage(input_tokens=tokens_in, output_tokens=tokens_out)
    try:
        price = calc_price(usage, endpoint.model, provider_api_url=endpoint.address)
    except (LookupError, ValueError):
        return None
    return float(price.total_price)

"""What a reply tells of the call: whether it is an answer, what it used, what that costs. Nothing is fetched for it."""

from __future__ import annotations

import json
from typing import Any

from chyme.models.providers.endpoints import Endpoint

MOST = 10**9  # tokens: whoever tells more does not count
_ANSWERS = frozenset({"choices", "content", "candidates", "promptFeedback", "text", "segments"})  # what stands in one


def parse_reply(body: bytes) -> dict[str, Any] | None:
    """The reply of a model; None when whatever is at that address says something else."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) and (not _ANSWERS.isdisjoint(told) or _embeds(told)) else None


def _embeds(told: dict[str, Any]) -> bool:
    """Whether these are vectors of texts."""
    data = told.get("data")
    return isinstance(data, list) and bool(data) and isinstance(data[0], dict) and "embedding" in data[0]


def usage_of(endpoint: Endpoint, told: dict[str, Any]) -> tuple[int | None, int | None, float | None]:
    """Tokens in, tokens out, and US dollars; None for what the reply does not tell or has no known price."""
    tokens_in, tokens_out = _tokens(told)
    if tokens_in is None or tokens_out is None or endpoint.own:
        return tokens_in, tokens_out, None
    return tokens_in, tokens_out, _price(endpoint, tokens_in, tokens_out)


def _tokens(told: dict[str, Any]) -> tuple[int | None, int | None]:
    """As OpenAI, Anthropic and Google tell them; what was read from or written to a cache was sent all the same."""
    usage = told.get("usage")
    if isinstance(usage, dict):
        if "input_tokens" in usage:
            cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
            return _sum(usage, "input_tokens", *cached), _sum(usage, "output_tokens")
        return _sum(usage, "prompt_tokens"), 0 if _embeds(told) else _sum(usage, "completion_tokens")
    usage = told.get("usageMetadata")
    if isinstance(usage, dict):
        return _sum(usage, "promptTokenCount"), _sum(usage, "candidatesTokenCount", "thoughtsTokenCount")
    return None, None


def _sum(usage: dict[str, Any], *names: str) -> int | None:
    counted = [
        value
        for name in names
        if isinstance(value := usage.get(name), int) and not isinstance(value, bool) and 0 <= value <= MOST
    ]
    return sum(counted) if counted else None


def _price(endpoint: Endpoint, tokens_in: int, tokens_out: int) -> float | None:
    """By the price list that came with the installed package; only for addresses and models that stand in it."""
    from genai_prices import Usage, calc_price

    used = Usage(input_tokens=tokens_in, output_tokens=tokens_out)
    try:
        price = calc_price(used, endpoint.model, provider_api_url=endpoint.address)
    except (LookupError, ValueError):
        return None
    return float(price.total_price)

"""Translate errors of an embedding service into digest errors. The only place that inspects them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from chyme.errors import (
    ContentBlocked,
    DigestError,
    EngineUnavailable,
    NetworkFailed,
    QuotaSpent,
    RateLimited,
    TimedOut,
)
from chyme.models.providers.endpoints import Endpoint
from chyme.models.providers.health_reports import KeyRefused
from chyme.models.providers.invalid_answer import InvalidAnswer
from chyme.models.providers.retry_after import parse_retry_after

if TYPE_CHECKING:
    import httpx2

_BLOCKED_CODES = frozenset({"content_filter", "content_policy_violation", "moderation_blocked"})
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_OVERLOAD_CODES = frozenset({"overloaded", "overloaded_error", "slow_down"})
_TOO_LONG = re.compile(r"context.{0,20}(length|size|window)|too (large|long)|input length|maximum.{0,20}tokens")


def translate_error(error: Exception, name: str, endpoint: Endpoint) -> DigestError | None:
    """Our error for a transport error; None if the service is not to blame."""
    import httpx2

    match error:
        case DigestError():
            return error
        case TimeoutError() | httpx2.TimeoutException():
            return TimedOut(
                f"{name}: {_model_name(endpoint)} did not answer within {endpoint.seconds:.3g} seconds; "
                f"{endpoint.prefix}_seconds allows more"
            )
        case httpx2.TransportError():
            return NetworkFailed(f"{name}: {_model_name(endpoint)} cannot be reached or broke off its answer")
        case httpx2.HTTPError() | httpx2.InvalidURL():
            return wrong_service_error(name, endpoint)
    return None


def response_error(answer: httpx2.Response, name: str, endpoint: Endpoint) -> DigestError:
    """Our error for an unsuccessful response, without the service's text, which may quote the key."""
    model_name, prefix, status = _model_name(endpoint), endpoint.prefix, answer.status_code
    codes, retry_after = _error_codes(answer), parse_retry_after(answer.headers)
    if codes & _BLOCKED_CODES:
        return ContentBlocked(f"{name}: {model_name} refused this text")
    if status == 402 or (status in (400, 403, 429) and codes & _QUOTA_CODES):
        return QuotaSpent(f"{name}: the quota of {model_name} is spent", retry_after=retry_after)
    if status == 529 or (status in (429, 503) and codes & _OVERLOAD_CODES):
        return QuotaSpent(f"{name}: {model_name} is overloaded", retry_after=retry_after)
    if status == 429:
        return RateLimited(f"{name}: {model_name} asks us to slow down", retry_after=retry_after)
    if status in (401, 403):
        return KeyRefused(f"{name}: {model_name} does not accept the key; correct {prefix}_key, then run 'chyme retry'")
    if status in (404, 405):
        return EngineUnavailable(
            f"{name}: {model_name} does not exist (HTTP {status}); correct {prefix}_model or {prefix}_url"
        )
    if status == 408:
        return TimedOut(f"{name}: {model_name} gave up waiting for the texts")
    if status == 413 or (status in (400, 422, 500) and _TOO_LONG.search(answer.text.lower())):
        return EngineUnavailable(
            f"{name}: {model_name} cannot take so much at once (HTTP {status}); "
            f"lower {prefix}_window, then run 'chyme retry'"
        )
    if status >= 500:
        return NetworkFailed(f"{name}: {model_name} failed (HTTP {status})", retry_after=retry_after)
    if status < 400:
        return wrong_service_error(name, endpoint, f" (HTTP {status})")
    return EngineUnavailable(
        f"{name}: {model_name} rejects the request (HTTP {status}); {prefix}_model must be a model that embeds texts, "
        f"and {prefix}_dimension, where it is set, one that it can give"
    )


def wrong_service_error(name: str, endpoint: Endpoint, status: str = "") -> EngineUnavailable:
    """Something answers at that address, but it does not embed texts."""
    return EngineUnavailable(
        f"{name}: {_model_name(endpoint)} answers otherwise than it should{status}; "
        f"correct {endpoint.prefix}_url (redirects are not followed)"
    )


def invalid_answer_error(name: str, endpoint: Endpoint, what: str) -> InvalidAnswer:
    """The service answers, but not what was asked."""
    return InvalidAnswer(f"{name}: {_model_name(endpoint)} {what}; another {endpoint.prefix}_model may do better")


def _model_name(endpoint: Endpoint) -> str:
    return f"the model {endpoint.model} at {endpoint.host}"


def _error_codes(answer: httpx2.Response) -> set[str]:
    """The service's codes for the error."""
    try:
        payload = json.loads(answer.content)
    except (ValueError, RecursionError):
        return set()
    error = payload.get("error", payload) if isinstance(payload, dict) else None
    if not isinstance(error, dict):
        return set()
    return {value for value in (error.get("code"), error.get("type")) if isinstance(value, str)}

"""What can go wrong at a service behind HTTP, and our error for it: one table for models that answer, embed or
transcribe; and how long it asks us to wait. A message has the service's own text only where the caller removed the
key from it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Set
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import TYPE_CHECKING

from chyme.errors import (
    ContentBlocked,
    DigestError,
    EngineUnavailable,
    NetworkFailed,
    QuotaSpent,
    RateLimited,
    TimedOut,
    UnreadableFile,
)
from chyme.models.providers.endpoints import Endpoint

if TYPE_CHECKING:
    import httpx2

BLOCKED_CODES = frozenset({"content_filter", "content_policy_violation", "moderation_blocked"})
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_OVERLOAD_CODES = frozenset({"overloaded", "overloaded_error", "slow_down"})
LONGEST_WAIT = 86_400.0  # seconds a provider may ask us to wait
_DELAY = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s", re.ASCII)


class KeyRefused(EngineUnavailable):
    """The provider does not accept the key, so it will not answer any question."""


class InvalidAnswer(UnreadableFile):
    """The model's answer does not fit the schema, even when asked again. A third attempt would not help."""


class Fault(Enum):
    """Each fault with our error and its text; callers of `service_error` fill in what differs between services."""

    TIMED_OUT = (TimedOut, "{model} did not answer within {seconds} seconds; {prefix}_{setting} allows more")
    UNREACHABLE = (NetworkFailed, "{model} cannot be reached or {broken}{status}")
    BLOCKED = (ContentBlocked, "{model} refused this {takes}")
    QUOTA_SPENT = (QuotaSpent, "the quota of {model} is spent")
    OVERLOADED = (QuotaSpent, "{model} is overloaded")
    RATE_LIMITED = (RateLimited, "{model} asks us to slow down")
    KEY_REFUSED = (KeyRefused, "{model} does not accept the key; correct {prefix}_key, then run 'chyme retry'")
    NOT_FOUND = (EngineUnavailable, "{model} does not exist{status}; correct {prefix}_model or {prefix}_url")
    UPLOAD_TIMED_OUT = (TimedOut, "{model} gave up waiting for the {sent}")
    TOO_LARGE = (EngineUnavailable, "{model} cannot take so much at once{status}; lower {lower}")
    FAILED = (NetworkFailed, "{model} failed{status}{excerpt}")
    REJECTED = (EngineUnavailable, "{model} rejects the {asked}{status}{excerpt}; {prefix}_model must {needed}")
    INVALID_ANSWER = (InvalidAnswer, "{model} {answers}; another {prefix}_model may do better")
    WRONG_SERVICE = (
        EngineUnavailable,
        "{model} answers otherwise than it should{status}; correct {prefix}_url (redirects are not followed)",
    )


def service_error(
    fault: Fault,
    name: str,
    endpoint: Endpoint,
    *,
    status: int | None = None,
    retry_after: float | None = None,
    **words: str,
) -> DigestError:
    """Our error for a fault that concerns the file `name`; `words` go into its text."""
    kind: type[DigestError]
    kind, text = fault.value
    values = {
        "model": model_name(endpoint),
        "prefix": endpoint.prefix,
        "takes": endpoint.takes,
        "setting": "seconds",
        "broken": "broke off its answer",
        "status": f" (HTTP {status})" if status else "",
        "excerpt": "",
    }
    waits = issubclass(kind, QuotaSpent | RateLimited | NetworkFailed)
    return kind(f"{name}: {text.format_map(values | words)}", retry_after=retry_after if waits else None)


def model_name(endpoint: Endpoint) -> str:
    """The model as messages name it."""
    return f"the local model {endpoint.model}" if endpoint.own else f"the model {endpoint.model} at {endpoint.host}"


def fault_of_response(status: int, codes: Set[str]) -> Fault:
    """What an unsuccessful response means, by its status and the service's codes for the error."""
    if codes & BLOCKED_CODES:
        return Fault.BLOCKED
    if status == 402 or (status in (400, 403, 429) and codes & _QUOTA_CODES):
        return Fault.QUOTA_SPENT
    if status == 529 or (status in (429, 503) and codes & _OVERLOAD_CODES):
        return Fault.OVERLOADED
    if status >= 500:
        return Fault.FAILED
    if status < 400:
        return Fault.WRONG_SERVICE
    return _BY_STATUS.get(status, Fault.REJECTED)


_BY_STATUS = {
    401: Fault.KEY_REFUSED,
    403: Fault.KEY_REFUSED,
    404: Fault.NOT_FOUND,
    405: Fault.NOT_FOUND,
    408: Fault.UPLOAD_TIMED_OUT,
    413: Fault.TOO_LARGE,
    429: Fault.RATE_LIMITED,
}


def transport_error(
    error: Exception, name: str, endpoint: Endpoint, seconds: float, setting: str = "seconds"
) -> DigestError | None:
    """Our error when no response came within `seconds`, which `setting` allows; None if the service is not to blame."""
    import httpx2

    match error:
        case DigestError():
            return error
        case TimeoutError() | httpx2.TimeoutException():
            return service_error(Fault.TIMED_OUT, name, endpoint, seconds=f"{seconds:.3g}", setting=setting)
        case httpx2.TransportError():
            return service_error(Fault.UNREACHABLE, name, endpoint)
        case httpx2.HTTPError() | httpx2.InvalidURL():
            return service_error(Fault.WRONG_SERVICE, name, endpoint)
    return None


def error_details(answer: httpx2.Response) -> tuple[set[str], str]:
    """The service's codes for the error, and its message, which may quote the key."""
    try:
        message = json.loads(answer.content)
    except (ValueError, RecursionError):
        message = answer.text if not answer.text.lstrip().startswith("<") else ""
    codes: set[str] = set()
    if isinstance(message, dict):
        error = message.get("error", message)
        if isinstance(error, dict):
            codes = {value for value in (error.get("code"), error.get("type")) if isinstance(value, str)}
            message = error.get("message") or error.get("detail") or error.get("msg")
        else:
            message = error
    return codes, message if isinstance(message, str) else ""


def parse_retry_after(headers: Mapping[str, str], body: object = None) -> float | None:
    """Seconds from Retry-After (a number or a date), from retry-after-ms, or from Google's RetryInfo in the body."""
    retry_headers = {
        name.lower(): value.strip() for name, value in headers.items() if name.lower().startswith("retry-after")
    }
    wait = _parse_number(retry_headers.get("retry-after-ms", ""), 0.001)
    if wait is None:
        wait = _parse_number(retry_headers.get("retry-after", ""), 1.0)
    if wait is None:
        wait = _parse_date(retry_headers.get("retry-after", ""))
    if wait is None:
        wait = _parse_retry_info(body)
    return None if wait is None else min(LONGEST_WAIT, max(0.0, wait))


def _parse_number(text: str, unit: float) -> float | None:
    try:
        wait = float(text) * unit
    except ValueError:
        return None
    return None if math.isnan(wait) else wait


def _parse_date(text: str) -> float | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return ((date if date.tzinfo else date.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()


def _parse_retry_info(body: object) -> float | None:
    error = body.get("error", body) if isinstance(body, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and (match := _DELAY.fullmatch(delay)):
            return float(match[1])
    return None

"""What a provider's fault means for a digest. The only place that looks at a client's errors."""

from __future__ import annotations

from pydantic_ai import exceptions as theirs
from pydantic_core import PydanticSerializationError

from chyme.errors import (
    ContentBlocked,
    DigestError,
    EngineUnavailable,
    NetworkFailed,
    QuotaSpent,
    RateLimited,
    TimedOut,
)
from chyme.model import CallEnd
from chyme.models.providers.endpoints import Endpoint
from chyme.models.providers.health_reports import KeyRefused
from chyme.models.providers.invalid_answer import InvalidAnswer
from chyme.models.providers.retry_after import parse_retry_after

_BLOCKED_CODES = frozenset({"content_filter", "content_policy_violation", "moderation_blocked"})
_TOO_LONG = "exceed_context_size_error"  # as llama.cpp calls it


class NoCompletion(Exception):
    """Something answers at that address, but it is no model."""


def translate_error(error: Exception, name: str, endpoint: Endpoint, last: CallEnd | None) -> DigestError | None:
    """Our error for theirs, without a word of theirs: they may quote the key. None when it is no provider's fault."""
    who = f"the model {endpoint.model} at {endpoint.host}" if not endpoint.own else f"the local model {endpoint.model}"
    prefix = endpoint.prefix
    wait = _wait(error)
    match error:
        case TimeoutError() | theirs.ModelTimeoutError() | theirs.ModelRequestTimeout():
            return TimedOut(
                f"{name}: {who} did not answer within {endpoint.seconds:g} seconds; {prefix}_seconds allows more"
            )
        case theirs.ContentFilterError():
            return ContentBlocked(f"{name}: {who} refused this {endpoint.takes}")
        case theirs.ModelQuotaExceededError():
            return QuotaSpent(f"{name}: the quota of {who} is spent", retry_after=wait)
        case theirs.ModelOverloadedError():
            return QuotaSpent(f"{name}: {who} is overloaded", retry_after=wait)
        case theirs.ModelRateLimitError():
            return RateLimited(f"{name}: {who} asks us to slow down", retry_after=wait)
        case theirs.ModelRequestRejectedError():
            return _rejected(error, name, who, endpoint)
        case theirs.ModelConnectionError() | theirs.ModelServerError() | theirs.ModelUnavailableError():
            return NetworkFailed(f"{name}: {who} cannot be reached or failed{_status(error)}", retry_after=wait)
        case theirs.UnexpectedModelBehavior():
            return _misfit(name, who, prefix)
        case PydanticSerializationError() | UnicodeError() if (
            last is not None
        ):  # half a letter in an answer cannot even be sent back
            return _misfit(name, who, prefix)
    if last is None and not isinstance(error, theirs.ModelAPIError | theirs.UserError | NoCompletion):
        return None
    return EngineUnavailable(  # also for whatever their clients stumble over in an answer
        f"{name}: {who} answers otherwise than it should{_status(error)}; "
        f"correct {prefix}_url (redirects are not followed)"
    )


def _misfit(name: str, who: str, prefix: str) -> InvalidAnswer:
    return InvalidAnswer(
        f"{name}: {who} answers in a shape that does not fit, also when asked again; "
        f"another {prefix}_model may do better"
    )


def _rejected(
    error: theirs.ModelRequestRejectedError, name: str, who: str, endpoint: Endpoint
) -> ContentBlocked | EngineUnavailable:
    """Whoever asks this again is answered the same: the settings are wrong, or what is in the file."""
    prefix = endpoint.prefix
    if error.provider_error_code in _BLOCKED_CODES:
        return ContentBlocked(f"{name}: {who} refused this {endpoint.takes}")
    if isinstance(error, theirs.ModelAuthenticationError):
        return KeyRefused(f"{name}: {who} does not accept the key; correct {prefix}_key, then run 'chyme retry'")
    if isinstance(error, theirs.ModelNotFoundError):
        way_out = f"does not exist; correct {prefix}_model or {prefix}_url"
    elif isinstance(error, theirs.ModelContextWindowExceededError) or _kind(error.body) == _TOO_LONG:
        lower = "local_characters" if endpoint.own else f"{prefix}_characters or name another {prefix}_model"
        way_out = f"cannot take so much at once; lower {lower}"
    else:
        way_out = (
            f"rejects the question{_status(error)}; "
            f"{prefix}_model must take a {endpoint.takes} and answer by a JSON schema"
        )
    return EngineUnavailable(f"{name}: {who} {way_out}")


def _kind(body: object) -> object:
    fault = body.get("error", body) if isinstance(body, dict) else None
    return fault.get("type") if isinstance(fault, dict) else None


def _wait(error: Exception) -> float | None:
    if not isinstance(error, theirs.ModelAPIError):
        return None
    headers = error.headers if isinstance(error, theirs.ModelHTTPError) else None
    return parse_retry_after(headers or {}, error.body)


def _status(error: Exception) -> str:
    status = getattr(error, "status_code", None) or getattr(error.__cause__, "status_code", None)
    return f" (HTTP {status})" if isinstance(status, int) else ""

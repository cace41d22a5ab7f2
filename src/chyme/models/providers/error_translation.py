"""Translate a provider's errors into digest errors. The only place that inspects a client library's errors."""

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
_TOO_LONG = "exceed_context_size_error"  # llama.cpp's name for it


class NoCompletion(Exception):
    """Something answers at that address, but it is not a model."""


def translate_error(error: Exception, name: str, endpoint: Endpoint, last: CallEnd | None) -> DigestError | None:
    """Our error for theirs, without their text, which may quote the key. None if the provider is not to blame."""
    model_name = (
        f"the model {endpoint.model} at {endpoint.host}" if not endpoint.own else f"the local model {endpoint.model}"
    )
    prefix = endpoint.prefix
    retry_after = _retry_after(error)
    match error:
        case TimeoutError() | theirs.ModelTimeoutError() | theirs.ModelRequestTimeout():
            return TimedOut(
                f"{name}: {model_name} did not answer within {endpoint.seconds:g} seconds; {prefix}_seconds allows more"
            )
        case theirs.ContentFilterError():
            return ContentBlocked(f"{name}: {model_name} refused this {endpoint.takes}")
        case theirs.ModelQuotaExceededError():
            return QuotaSpent(f"{name}: the quota of {model_name} is spent", retry_after=retry_after)
        case theirs.ModelOverloadedError():
            return QuotaSpent(f"{name}: {model_name} is overloaded", retry_after=retry_after)
        case theirs.ModelRateLimitError():
            return RateLimited(f"{name}: {model_name} asks us to slow down", retry_after=retry_after)
        case theirs.ModelRequestRejectedError():
            return _translate_rejection(error, name, model_name, endpoint)
        case theirs.ModelConnectionError() | theirs.ModelServerError() | theirs.ModelUnavailableError():
            return NetworkFailed(
                f"{name}: {model_name} cannot be reached or failed{_describe_status(error)}", retry_after=retry_after
            )
        case theirs.UnexpectedModelBehavior():
            return _invalid_answer(name, model_name, prefix)
        case PydanticSerializationError() | UnicodeError() if (
            last is not None
        ):  # half a character in an answer cannot even be sent back
            return _invalid_answer(name, model_name, prefix)
    if last is None and not isinstance(error, theirs.ModelAPIError | theirs.UserError | NoCompletion):
        return None
    return EngineUnavailable(  # also for anything their clients cannot handle in an answer
        f"{name}: {model_name} answers otherwise than it should{_describe_status(error)}; "
        f"correct {prefix}_url (redirects are not followed)"
    )


def _invalid_answer(name: str, model_name: str, prefix: str) -> InvalidAnswer:
    return InvalidAnswer(
        f"{name}: {model_name} answers in the wrong format, even when asked again; another {prefix}_model may do better"
    )


def _translate_rejection(
    error: theirs.ModelRequestRejectedError, name: str, model_name: str, endpoint: Endpoint
) -> ContentBlocked | EngineUnavailable:
    """Repeating this question gives the same result: the settings are wrong, or the file's content."""
    prefix = endpoint.prefix
    if error.provider_error_code in _BLOCKED_CODES:
        return ContentBlocked(f"{name}: {model_name} refused this {endpoint.takes}")
    if isinstance(error, theirs.ModelAuthenticationError):
        return KeyRefused(f"{name}: {model_name} does not accept the key; correct {prefix}_key, then run 'chyme retry'")
    if isinstance(error, theirs.ModelNotFoundError):
        way_out = f"does not exist; correct {prefix}_model or {prefix}_url"
    elif isinstance(error, theirs.ModelContextWindowExceededError) or _error_type(error.body) == _TOO_LONG:
        lower = "local_characters" if endpoint.own else f"{prefix}_characters or name another {prefix}_model"
        way_out = f"cannot take so much at once; lower {lower}"
    else:
        way_out = (
            f"rejects the question{_describe_status(error)}; "
            f"{prefix}_model must take a {endpoint.takes} and answer by a JSON schema"
        )
    return EngineUnavailable(f"{name}: {model_name} {way_out}")


def _error_type(body: object) -> object:
    error = body.get("error", body) if isinstance(body, dict) else None
    return error.get("type") if isinstance(error, dict) else None


def _retry_after(error: Exception) -> float | None:
    if not isinstance(error, theirs.ModelAPIError):
        return None
    headers = error.headers if isinstance(error, theirs.ModelHTTPError) else None
    return parse_retry_after(headers or {}, error.body)


def _describe_status(error: Exception) -> str:
    status = getattr(error, "status_code", None) or getattr(error.__cause__, "status_code", None)
    return f" (HTTP {status})" if isinstance(status, int) else ""

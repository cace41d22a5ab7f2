"""Translate a provider's errors into digest errors. The only place that inspects a client library's errors."""

from __future__ import annotations

import httpx2
from pydantic_ai import exceptions as theirs
from pydantic_core import PydanticSerializationError

from chyme.errors import DigestError
from chyme.model import CallEnd
from chyme.models.providers.endpoints import Endpoint
from chyme.models.providers.service_call import BROKEN
from chyme.models.providers.service_faults import BLOCKED_CODES, Fault, parse_retry_after, service_error

_TOO_LONG = "exceed_context_size_error"  # llama.cpp's name for it


class NoCompletion(Exception):
    """Something answers at that address, but it is not a model."""


def translate_error(error: Exception, name: str, endpoint: Endpoint, last: CallEnd | None) -> DigestError | None:
    """Our error for theirs, without their text, which may quote the key. None if the provider is not to blame."""
    fault = _fault_of(error, last)
    if fault is None:
        return None
    prefix = endpoint.prefix
    return service_error(
        fault,
        name,
        endpoint,
        status=_status(error) if fault in (Fault.UNREACHABLE, Fault.REJECTED, Fault.WRONG_SERVICE) else None,
        retry_after=_retry_after(error),
        seconds=f"{endpoint.seconds:g}",
        broken="failed",
        lower="local_characters" if endpoint.own else f"{prefix}_characters or name another {prefix}_model",
        asked="question",
        needed=f"take a {endpoint.takes} and answer by a JSON schema",
        answers="answers in the wrong format, even when asked again",
    )


def _fault_of(error: Exception, last: CallEnd | None) -> Fault | None:
    match error:
        case TimeoutError() | theirs.ModelTimeoutError() | theirs.ModelRequestTimeout():
            return Fault.TIMED_OUT
        case theirs.ContentFilterError():
            return Fault.BLOCKED
        case theirs.ModelQuotaExceededError():
            return Fault.QUOTA_SPENT
        case theirs.ModelOverloadedError():
            return Fault.OVERLOADED
        case theirs.ModelRateLimitError():
            return Fault.RATE_LIMITED
        case theirs.ModelRequestRejectedError():
            return _fault_of_rejection(error)
        case theirs.ModelConnectionError() | theirs.ModelServerError() | theirs.ModelUnavailableError():
            return Fault.UNREACHABLE
        case httpx2.TransportError() if last is not None and last.outcome == BROKEN:  # in the middle of a stream
            return Fault.UNREACHABLE
        case theirs.UnexpectedModelBehavior():
            return Fault.INVALID_ANSWER
        case PydanticSerializationError() | UnicodeError() if (
            last is not None
        ):  # half a character in an answer cannot even be sent back
            return Fault.INVALID_ANSWER
    if last is None and not isinstance(error, theirs.ModelAPIError | theirs.UserError | NoCompletion):
        return None
    return Fault.WRONG_SERVICE  # also for anything their clients cannot handle in an answer


def _fault_of_rejection(error: theirs.ModelRequestRejectedError) -> Fault:
    """Repeating this question gives the same result: the settings are wrong, or the file's content."""
    if error.provider_error_code in BLOCKED_CODES:
        return Fault.BLOCKED
    if isinstance(error, theirs.ModelAuthenticationError):
        return Fault.KEY_REFUSED
    if isinstance(error, theirs.ModelNotFoundError):
        return Fault.NOT_FOUND
    if isinstance(error, theirs.ModelContextWindowExceededError) or _error_type(error.body) == _TOO_LONG:
        return Fault.TOO_LARGE
    return Fault.REJECTED


def _error_type(body: object) -> object:
    error = body.get("error", body) if isinstance(body, dict) else None
    return error.get("type") if isinstance(error, dict) else None


def _retry_after(error: Exception) -> float | None:
    if not isinstance(error, theirs.ModelAPIError):
        return None
    headers = error.headers if isinstance(error, theirs.ModelHTTPError) else None
    return parse_retry_after(headers or {}, error.body)


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None) or getattr(error.__cause__, "status_code", None)
    return status if isinstance(status, int) else None

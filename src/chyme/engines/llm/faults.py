"""What a provider's fault means for a digest. The only place that looks at a client's errors."""

from __future__ import annotations

from pydantic_ai import exceptions as theirs

from chyme.engines.llm.misfit import Misfit
from chyme.engines.llm.settings import Endpoint
from chyme.errors import (
    ContentBlocked,
    DigestError,
    EngineUnavailable,
    NetworkFailed,
    QuotaSpent,
    RateLimited,
    TimedOut,
)

_BLOCKED_CODES = frozenset({"content_filter", "content_policy_violation", "moderation_blocked"})


class NoCompletion(Exception):
    """Something answers at that address, but it is no model."""


def translated(error: Exception, name: str, endpoint: Endpoint) -> DigestError | None:
    """Our error for theirs, without a word of theirs: they may quote the key. None when it is no provider's fault."""
    who = f"the model {endpoint.model} at {endpoint.host}"
    prefix = endpoint.prefix
    wait = error.retry_after if isinstance(error, theirs.ModelAPIError) else None
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
        case theirs.ModelAuthenticationError():
            return EngineUnavailable(
                f"{name}: {who} does not accept the key; correct {prefix}_key, then run 'chyme retry'"
            )
        case theirs.ModelNotFoundError():
            return EngineUnavailable(f"{name}: {who} does not exist; correct {prefix}_model or {prefix}_url")
        case theirs.ModelRequestRejectedError():
            if error.provider_error_code in _BLOCKED_CODES:
                return ContentBlocked(f"{name}: {who} refused this {endpoint.takes}")
            return EngineUnavailable(
                f"{name}: {who} rejects the question{_status(error)}; "
                f"{prefix}_model must take a {endpoint.takes} and answer by a JSON schema"
            )
        case theirs.ModelConnectionError() | theirs.ModelServerError() | theirs.ModelUnavailableError():
            return NetworkFailed(f"{name}: {who} cannot be reached or failed{_status(error)}", retry_after=wait)
        case theirs.UnexpectedModelBehavior():
            return Misfit(
                f"{name}: {who} answers in a shape that does not fit, also when asked again; "
                f"another {prefix}_model may do better"
            )
        case theirs.ModelAPIError() | theirs.UserError() | NoCompletion():
            return EngineUnavailable(
                f"{name}: {who} answers otherwise than it should{_status(error)}; "
                f"correct {prefix}_url (redirects are not followed)"
            )
    return None


def _status(error: Exception) -> str:
    status = getattr(error, "status_code", None) or getattr(error.__cause__, "status_code", None)
    return f" (HTTP {status})" if isinstance(status, int) else ""

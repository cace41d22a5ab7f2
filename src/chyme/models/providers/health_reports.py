"""How a provider is, told to whoever keeps watch over it."""

from __future__ import annotations

from chyme.digester import Calls
from chyme.errors import DigestError, EngineUnavailable, NetworkFailed, QuotaSpent, RateLimited, TimedOut
from chyme.model import CallEnd
from chyme.models.providers.endpoints import Endpoint

ANSWERED, REFUSED, UNREACHABLE, BROKEN, CANCELLED = "answered", "refused", "unreachable", "broken", "cancelled"
_AWAY = frozenset({429, 502, 503, 504, 529})  # it would answer anybody so, whatever they asked
_NOT_FOR_US = frozenset({401, 403, 404, 405})  # the key, the address or the model's name is wrong, whatever was asked
_QUESTION_FAULTS = range(400, 500)  # it lives, and says what it does not like about this question


class KeyRefused(EngineUnavailable):
    """The provider does not know the key: whatever is asked, it will not answer."""


def report_health(calls: Calls, endpoint: Endpoint, fault: DigestError | None, last: CallEnd | None) -> None:
    """Tell whoever keeps watch how the provider is, by how the last call ended that was really made."""
    if last is None:
        return
    if isinstance(fault, RateLimited | QuotaSpent | NetworkFailed | TimedOut):
        quota = isinstance(fault, RateLimited | QuotaSpent)
        calls.failed(endpoint.prefix, fault, quota or last.outcome == UNREACHABLE or last.status in _AWAY)
    elif isinstance(fault, EngineUnavailable) and (isinstance(fault, KeyRefused) or not _lives(last)):
        calls.failed(endpoint.prefix, fault, True)
    else:
        calls.answered(endpoint.prefix)


def _lives(last: CallEnd) -> bool:
    """Whether a model was there to refuse this question. Behind a success or a redirect that is no answer is none."""
    return last.status in _QUESTION_FAULTS and last.status not in _NOT_FOR_US

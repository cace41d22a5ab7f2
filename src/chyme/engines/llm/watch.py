"""How a provider is, told to whoever keeps watch over it."""

from __future__ import annotations

from chyme.digester import Calls
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
from chyme.model import CallEnd

ANSWERED, REFUSED, UNREACHABLE, BROKEN, CANCELLED = "answered", "refused", "unreachable", "broken", "cancelled"
_AWAY = frozenset({429, 502, 503, 504, 529})  # it would answer anybody so, whatever they asked
_NOT_FOR_US = frozenset({401, 403, 404})  # the key or the model's name is wrong, whatever was asked


def report(calls: Calls, endpoint: Endpoint, fault: DigestError | None, last: CallEnd | None) -> None:
    """Tell whoever keeps watch how the provider is, by how the last call ended that was really made."""
    if last is None:
        return
    if isinstance(fault, RateLimited | QuotaSpent | NetworkFailed | TimedOut):
        quota = isinstance(fault, RateLimited | QuotaSpent)
        calls.failed(endpoint.prefix, fault, quota or last.outcome == UNREACHABLE or last.status in _AWAY)
    elif isinstance(fault, EngineUnavailable) and last.status in _NOT_FOR_US:
        calls.failed(endpoint.prefix, fault, True)
    elif isinstance(fault, ContentBlocked) or (last.outcome == ANSWERED and not isinstance(fault, EngineUnavailable)):
        calls.answered(endpoint.prefix)

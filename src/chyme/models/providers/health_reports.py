"""Report the health of a provider to the call ledger."""

from __future__ import annotations

from chyme.digester import Calls
from chyme.errors import DigestError, EngineUnavailable, NetworkFailed, QuotaSpent, RateLimited, TimedOut
from chyme.model import CallEnd
from chyme.models.providers.endpoints import Endpoint

ANSWERED, REFUSED, UNREACHABLE, BROKEN, CANCELLED = "answered", "refused", "unreachable", "broken", "cancelled"
_OUTAGES = frozenset({429, 502, 503, 504, 529})  # it would answer any question like this
_WRONG_SETTINGS = frozenset({401, 403, 404, 405})  # key, address or model name is wrong, whatever was asked
_QUESTION_FAULTS = range(400, 500)  # it works, and says what is wrong with this question


class KeyRefused(EngineUnavailable):
    """The provider does not accept the key, so it will not answer any question."""


def report_health(calls: Calls, endpoint: Endpoint, fault: DigestError | None, last: CallEnd | None) -> None:
    """Report the provider's health, judged by the end of the last call that was really made."""
    if last is None:
        return
    if isinstance(fault, RateLimited | QuotaSpent | NetworkFailed | TimedOut):
        is_quota = isinstance(fault, RateLimited | QuotaSpent)
        calls.failed(endpoint.prefix, fault, is_quota or last.outcome == UNREACHABLE or last.status in _OUTAGES)
    elif isinstance(fault, EngineUnavailable) and (isinstance(fault, KeyRefused) or not _model_refused(last)):
        calls.failed(endpoint.prefix, fault, True)
    else:
        calls.answered(endpoint.prefix)


def _model_refused(last: CallEnd) -> bool:
    """Whether a model was there to refuse this question. A success or redirect without an answer means no."""
    return last.status in _QUESTION_FAULTS and last.status not in _WRONG_SETTINGS

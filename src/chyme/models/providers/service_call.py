"""Make the calls of one conversation with a service, and report its health to the call ledger."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from chyme.digester import Calls
from chyme.errors import DigestError, EngineUnavailable, NetworkFailed, QuotaSpent, RateLimited, TimedOut
from chyme.model import CallEnd
from chyme.models.providers.cancellation import CallStopped, run_in_own_loop
from chyme.models.providers.endpoints import Endpoint
from chyme.models.providers.service_faults import KeyRefused

if TYPE_CHECKING:
    from chyme.models.providers.metered_transport import MeteredTransport

ANSWERED, REFUSED, UNREACHABLE, BROKEN, CANCELLED = "answered", "refused", "unreachable", "broken", "cancelled"
_OUTAGES = frozenset({429, 502, 503, 504, 529})  # it would answer any question like this
_WRONG_SETTINGS = frozenset({401, 403, 404, 405})  # key, address or model name is wrong, whatever was asked
_QUESTION_FAULTS = range(400, 500)  # it works, and says what is wrong with this question
Result = TypeVar("Result")


def call_service(
    endpoint: Endpoint,
    calls: Calls,
    converse: Callable[[MeteredTransport], Coroutine[Any, Any, Result]],
    translate: Callable[[Exception, CallEnd | None], DigestError | None],
    *,
    streamed: bool = False,
) -> Result:
    """Return what `converse` returns, or raise a DigestError. Blocks the calling thread, which must not run a loop.

    `translate` returns our error for a client library's, or None if the service is not to blame; it also gets the end
    of the last call that was really made. Errors raised by `calls` pass through unchanged. `streamed`: replies are
    passed on as they arrive.
    """
    from chyme.models.providers.metered_stream import StreamingTransport
    from chyme.models.providers.metered_transport import MeteredTransport

    transport = (StreamingTransport if streamed else MeteredTransport)(endpoint, calls)
    try:
        result = run_in_own_loop(converse(transport), getattr(calls, "ledger", None))
    except CallStopped:
        raise
    except Exception as error:
        if transport.stopped is None:
            translated = translate(error, transport.ended)
            if translated is None:
                raise
            report_health(calls, endpoint, translated, transport.ended)
            raise translated from None  # their message may quote the key
    if transport.stopped is not None:
        raise transport.stopped
    report_health(calls, endpoint, None, transport.ended)
    return result


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

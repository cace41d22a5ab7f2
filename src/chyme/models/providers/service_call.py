"""Make the calls of one conversation with a service, and report the service's health."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from chyme.digester import Calls
from chyme.errors import DigestError
from chyme.model import CallEnd
from chyme.models.providers.cancellation import CallStopped, run_in_own_loop
from chyme.models.providers.endpoints import Endpoint
from chyme.models.providers.health_reports import report_health

if TYPE_CHECKING:
    from chyme.models.providers.metered_transport import MeteredTransport

Result = TypeVar("Result")


def call_service(
    endpoint: Endpoint,
    calls: Calls,
    converse: Callable[[MeteredTransport], Coroutine[Any, Any, Result]],
    translate: Callable[[Exception, CallEnd | None], DigestError | None],
) -> Result:
    """Return what `converse` returns, or raise a DigestError. Blocks the calling thread, which must not run a loop.

    `translate` returns our error for a client library's, or None if the service is not to blame; it also gets the end
    of the last call that was really made. Errors raised by `calls` pass through unchanged.
    """
    from chyme.models.providers.metered_transport import MeteredTransport

    transport = MeteredTransport(endpoint, calls)
    try:
        result = run_in_own_loop(converse(transport))
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

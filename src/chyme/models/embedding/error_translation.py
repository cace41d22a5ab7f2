"""Translate unsuccessful responses of an embedding service into digest errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from chyme.errors import DigestError
from chyme.models.providers.endpoints import Endpoint
from chyme.models.providers.retry_after import parse_retry_after
from chyme.models.providers.service_faults import Fault, error_details, fault_of_response, service_error

if TYPE_CHECKING:
    import httpx2

_TOO_LONG = re.compile(r"context.{0,20}(length|size|window)|too (large|long)|input length|maximum.{0,20}tokens")


def response_error(answer: httpx2.Response, name: str, endpoint: Endpoint) -> DigestError:
    """Our error for an unsuccessful response."""
    codes, _ = error_details(answer)
    status, prefix = answer.status_code, endpoint.prefix
    fault = fault_of_response(status, codes)
    is_unclear = fault in (Fault.REJECTED, Fault.FAILED) and status in (400, 422, 500)
    if is_unclear and _TOO_LONG.search(answer.text.lower()):
        fault = Fault.TOO_LARGE
    return service_error(
        fault,
        name,
        endpoint,
        status=status,
        retry_after=parse_retry_after(answer.headers),
        sent="texts",
        lower=f"{prefix}_window, then run 'chyme retry'",
        asked="request",
        needed=f"be a model that embeds texts, and {prefix}_dimension, where it is set, one that it can give",
    )

"""Parse how long a provider asks us to wait."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_WAIT = 86_400.0  # seconds a provider may ask us to wait
_DELAY = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s", re.ASCII)


def parse_retry_after(headers: Mapping[str, str], body: object = None) -> float | None:
    """Seconds from Retry-After (a number or a date), from retry-after-ms, or from Google's RetryInfo in the body."""
    retry_headers = {
        name.lower(): value.strip() for name, value in headers.items() if name.lower().startswith("retry-after")
    }
    wait = _parse_number(retry_headers.get("retry-after-ms", ""), 0.001)
    if wait is None:
        wait = _parse_number(retry_headers.get("retry-after", ""), 1.0)
    if wait is None:
        wait = _parse_date(retry_headers.get("retry-after", ""))
    if wait is None:
        wait = _parse_retry_info(body)
    return None if wait is None else min(LONGEST_WAIT, max(0.0, wait))


def _parse_number(text: str, unit: float) -> float | None:
    try:
        wait = float(text) * unit
    except ValueError:
        return None
    return None if math.isnan(wait) else wait


def _parse_date(text: str) -> float | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return ((date if date.tzinfo else date.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()


def _parse_retry_info(body: object) -> float | None:
    error = body.get("error", body) if isinstance(body, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and (match := _DELAY.fullmatch(delay)):
            return float(match[1])
    return None

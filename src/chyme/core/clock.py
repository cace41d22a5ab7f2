"""The one clock of a running chyme; everything below is told the time."""

from datetime import UTC, datetime


def now() -> datetime:
    return datetime.now(UTC)

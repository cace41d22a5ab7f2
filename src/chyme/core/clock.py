"""The only clock of a running chyme; other code gets the time as an argument."""

from datetime import UTC, datetime


def now() -> datetime:
    return datetime.now(UTC)

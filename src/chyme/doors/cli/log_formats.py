"""How the log looks: for people, or as one JSON object a line for programs."""

from __future__ import annotations

import json
import logging
import re
import sys
from datetime import UTC, datetime

from chyme.errors import UsageError

FORMATS = ("text", "json")
FIELDS = (
    *("vault", "path", "digester", "outcome", "category", "attempt", "run", "job", "seconds", "error"),
    *("method", "route", "status", "ms", "visitor"),
)
QUIET_LOGGERS = (
    "httpx",
    "httpx2",
    "httpcore",
    "httpcore2",
    "openai",
    "anthropic",
    "google_genai",
)  # they tell of every call

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class TextFormatter(logging.Formatter):
    """For people. What comes from names of files can neither begin a line of its own nor speak to the terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return _CONTROL.sub(_shown, super().format(record)).replace("\n", "\n    ")


class JsonFormatter(logging.Formatter):
    """For programs: every record is one line, and everything in it is escaped."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        told |= {name: getattr(record, name) for name in FIELDS if getattr(record, name, None) is not None}
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return json.dumps(told, default=str)


def _shown(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def set_up(form: str, verbose: bool, quiet: bool = False) -> None:
    """Begin to log to standard error; called again, in another form. `quiet`: failures are told otherwise."""
    if form not in FORMATS:
        raise UsageError(f"setting log_format must be one of {', '.join(FORMATS)}, not {form!r}")
    programs = form == "json"
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if programs else TextFormatter("%(levelname)s %(message)s"))
    logging.basicConfig(level=logging.INFO if verbose or programs else logging.WARNING, handlers=[handler], force=True)
    for name in QUIET_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    hushed = quiet and not (verbose or programs)
    logging.getLogger("chyme.core.pipeline.progress.attempt_results").setLevel(
        logging.ERROR if hushed else logging.NOTSET
    )
    logging.getLogger("chyme.core.store.sqlite.damage").setLevel(logging.CRITICAL if hushed else logging.NOTSET)

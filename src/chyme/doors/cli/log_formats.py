"""The formats of the log: text for people, or one JSON object per line for programs."""

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
)  # they log every call

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class TextFormatter(logging.Formatter):
    """The format for people. Text from file names can neither start a new line nor control the terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return _CONTROL.sub(_escape, super().format(record)).replace("\n", "\n    ")


class JsonFormatter(logging.Formatter):
    """The format for programs: each record is one line, and everything in it is escaped."""

    def format(self, record: logging.LogRecord) -> str:
        payload: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        payload |= {name: getattr(record, name) for name in FIELDS if getattr(record, name, None) is not None}
        if record.exc_info:
            payload["trace"] = self.formatException(record.exc_info)
        return json.dumps(payload, default=str)


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def set_up(form: str, verbose: bool, quiet: bool = False) -> None:
    """Start logging to standard error, or change the format. `quiet`: the command reports failures itself."""
    if form not in FORMATS:
        raise UsageError(f"setting log_format must be one of {', '.join(FORMATS)}, not {form!r}")
    for_programs = form == "json"
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if for_programs else TextFormatter("%(levelname)s %(message)s"))
    logging.basicConfig(
        level=logging.INFO if verbose or for_programs else logging.WARNING, handlers=[handler], force=True
    )
    for name in QUIET_LOGGERS:
        logging.getLogger(name).setLevel(logging.WARNING)
    muted = quiet and not (verbose or for_programs)
    logging.getLogger("chyme.core.pipeline.attempt").setLevel(logging.ERROR if muted else logging.NOTSET)
    logging.getLogger("chyme.core.store.sqlite.damage").setLevel(logging.CRITICAL if muted else logging.NOTSET)

"""Rendering of templates, and the filters they use."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from chyme import __version__
from chyme.text.display import format_time, printable

STATIC = Path(__file__).parent / "static"
_UNITS = ("B", "KB", "MB", "GB", "TB")


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a page or a fragment. `base` leads to this vault, `visitor` is None where no login is needed."""
    context = {
        "base": base_of(request),
        "request": request,
        "visitor": getattr(request.state, "visitor", None),
        "vault_name": getattr(request.state, "vault_name", None),
        "vaults": getattr(request.state, "vaults", ()),
        "may_write": getattr(request.state, "may_write", True),
        "may_save": may_save_searches(request),
        "newest": getattr(request.state, "newest", ""),
        "upload_bytes": getattr(request.state, "upload_bytes", 0),
        **values,
    }
    return HTMLResponse(_templates.get_template(template).render(context), status)


def may_save_searches(request: Request) -> bool:
    """Whether the visitor may save searches: who is signed in has their own, whatever else they may do."""
    visitor = getattr(request.state, "visitor", None)
    signed_in = visitor is not None and visitor.session_id is not None
    return signed_in or bool(getattr(request.state, "may_write", True))


def base_of(request: Request) -> str:
    """Return the prefix of this vault's addresses: empty when it is the only one."""
    return str(request.scope.get("root_path", ""))


def encode_path(path: str) -> str:
    """Encode a file's path as part of an address."""
    return quote(path, safe="/")


def size(number: float) -> str:
    """Format a number of bytes."""
    for unit in _UNITS:
        if number < 1000 or unit == _UNITS[-1]:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 10 else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError


def format_age(timestamp: str | None) -> str:
    """Format how long ago a timestamp of the database was."""
    if not timestamp:
        return ""
    seconds = (datetime.now(UTC) - datetime.fromisoformat(timestamp)).total_seconds()
    for length, unit in ((86400 * 365, "year"), (86400 * 30, "month"), (86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def mark_matches(text: str, marks: Sequence[Sequence[int]]) -> Markup:
    """Return a snippet with its matches in <mark>, everything else escaped."""
    pieces, position = [], 0
    for start, end in marks:
        pieces += [escape(text[position:start]), Markup("<mark>"), escape(text[start:end]), Markup("</mark>")]
        position = end
    return Markup("").join([*pieces, escape(text[position:])])


def format_count(count: int, what: str) -> str:
    """Format a count with its noun: 1 file, 2,000 files."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def format_duration(seconds: float) -> str:
    """Format a rough duration."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h" if seconds < 36000 else f"{round(seconds / 3600):,} h"


def format_time_left(seconds: float) -> str:
    """Format the remaining time for people who wait; the script of the page formats it alike."""
    if seconds < 50:
        return "under a minute"
    if seconds < 5400:
        return f"about {max(1, round(seconds / 60))} min"
    return f"about {round(seconds / 3600)} h" if seconds < 36 * 3600 else f"about {round(seconds / 86400)} days"


def format_dollars(cost: float | None) -> str:
    """Format a price; small ones with more digits, so that nothing looks free that is not."""
    if cost is None:
        return "price unknown"
    return f"${cost:,.2f}" if cost == 0 or cost >= 0.1 else f"${cost:.4f}"


def _fingerprint() -> str:
    """Return a short hash of scripts and styles."""
    hasher = hashlib.sha256()
    for path in sorted(path for path in STATIC.rglob("*") if path.is_file()):
        hasher.update(path.read_bytes())
    return hasher.hexdigest()[:10]


# Part of the address of scripts and styles, so that browsers cache them until it changes. It is a folder in the path
# and not a query: a relative import in a script then leads to the same version.
STATIC_VERSION = _fingerprint()

_templates = Environment(
    loader=PackageLoader("chyme.doors.page"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters.update(
    encode_path=encode_path,
    size=size,
    clock=lambda seconds: format_time(seconds or 0),
    ago=format_age,
    printable=printable,
)
_templates.globals.update(
    format_count=format_count,
    format_duration=format_duration,
    format_time_left=format_time_left,
    format_dollars=format_dollars,
    marked=mark_matches,
    static=f"/static/{STATIC_VERSION}",
    release=__version__,
)

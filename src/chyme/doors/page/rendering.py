"""Templates, and the words and links they use."""

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
from chyme.text.control_characters import printable

STATIC = Path(__file__).parent / "static"
_UNITS = ("B", "KB", "MB", "GB", "TB")


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A page or a fragment. `base` leads to this vault, `visitor` tells who looks (None where nobody has to say)."""
    told = {
        "base": base_of(request),
        "request": request,
        "visitor": getattr(request.state, "visitor", None),
        "vault_name": getattr(request.state, "vault_name", None),
        "vaults": getattr(request.state, "vaults", ()),
        "may_write": getattr(request.state, "may_write", True),
        "newest": getattr(request.state, "newest", ""),
        "upload_bytes": getattr(request.state, "upload_bytes", 0),
        **values,
    }
    return HTMLResponse(_templates.get_template(template).render(told), status)


def base_of(request: Request) -> str:
    """What stands before the addresses of this vault: empty where it is the only one."""
    return str(request.scope.get("root_path", ""))


def encode_path(path: str) -> str:
    """A file's path as part of an address."""
    return quote(path, safe="/")


def size(number: float) -> str:
    """Bytes in words."""
    for unit in _UNITS:
        if number < 1000 or unit == _UNITS[-1]:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 10 else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError


def format_time(seconds: float | None) -> str:
    """Seconds as on a player: 1:02:03."""
    whole = int(seconds or 0)
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def format_age(moment: str | None) -> str:
    """How long ago a moment of the database was."""
    if not moment:
        return ""
    seconds = (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    for length, unit in ((86400 * 365, "year"), (86400 * 30, "month"), (86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def mark_matches(text: str, marks: Sequence[Sequence[int]]) -> Markup:
    """A snippet with its matching words in <mark>, everything escaped."""
    pieces, here = [], 0
    for start, end in marks:
        pieces += [escape(text[here:start]), Markup("<mark>"), escape(text[start:end]), Markup("</mark>")]
        here = end
    return Markup("").join([*pieces, escape(text[here:])])


def _fingerprint() -> str:
    """What the scripts and styles are, in a few letters: browsers keep them until these change."""
    told = hashlib.sha256()
    for path in sorted(STATIC.iterdir()):
        told.update(path.read_bytes())
    return told.hexdigest()[:10]


_templates = Environment(
    loader=PackageLoader("chyme.doors.page"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters.update(at=encode_path, size=size, clock=format_time, ago=format_age, printable=printable)
_templates.globals.update(marked=mark_matches, version=_fingerprint(), release=__version__)

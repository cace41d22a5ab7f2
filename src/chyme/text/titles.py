"""Titles that a text gives itself."""

from __future__ import annotations

import json
import re

_HEADING = re.compile(r"^#{1,2}[ \t]+(\S.*?)[ \t#]*$", re.MULTILINE)
_CODE = re.compile(r"^(`{3,}|~{3,}).*?(?:^\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_MARKUP = re.compile(r"[*_`]+|!?\[([^\]]*)\]\([^)]*\)")
TITLE_WITHIN = 4000  # characters at the top of a text
TITLE_LENGTH = 200


def heading_title(markdown: str | None) -> str | None:
    """The first heading near the top of a text, without its markup; not a comment in a block of code."""
    found = _HEADING.search(_CODE.sub("", markdown[:TITLE_WITHIN])) if markdown else None
    if found is None:
        return None
    return clean_title(_MARKUP.sub(lambda m: m[1] or "", found[1]))


def clean_title(title: object) -> str | None:
    """The title in one line, not too long; None where there is none."""
    return " ".join(title.split())[:TITLE_LENGTH] or None if isinstance(title, str) else None


def title_from_json(content: str | None) -> str | None:
    """The title in a JSON content that has one."""
    try:
        fields = json.loads(content) if content else None
    except (ValueError, RecursionError):
        return None
    return clean_title(fields.get("title")) if isinstance(fields, dict) else None

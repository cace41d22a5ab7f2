"""Read the metadata of web pages, e-mails, RTF and markdown from their first lines."""

from __future__ import annotations

import re
from dataclasses import replace
from email.parser import BytesHeaderParser
from email.utils import parseaddr
from typing import BinaryIO

from chyme.documents.properties.reader import HEAD_BYTES, Properties, clean_properties
from chyme.text.decoding import decode

PAGE_BYTES = 1024 * 1024  # pages often have their scripts and styles before what they say about themselves
FRONT_MATTER_BYTES = 16_384  # front matter must end within these
_FENCES = {"---": ("---", "..."), "+++": ("+++",)}
_FIELD = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,39})[ \t]*[:=][ \t]*(.*)")
_RTF_TEXT = {
    name: re.compile(rf"\{{\\(?:\*\\)?{name}[ \n]((?:[^{{}}\\]|\\[^\n]){{1,1000}})\}}")
    for name in ("title", "author", "subject", "keywords", "doccomm")
}
_RTF_TIME = r"\\yr(\d{1,4})\\mo(\d{1,2})\\dy(\d{1,2})"
_RTF_ESCAPE = re.compile(r"\\u(-?\d{1,5}) ?(?:\\'[0-9a-fA-F]{2}|\?)?|\\'([0-9a-fA-F]{2})|\\[a-z]{1,32}-?\d{0,10} ?")


def page_properties(stream: BinaryIO, size: int) -> Properties:
    """The properties of a web page that is a file."""
    from chyme.documents.html.metadata import metadata_of
    from chyme.documents.html.reader import page_text
    from chyme.documents.html.tree import Page

    metadata = metadata_of(Page(page_text(stream.read(PAGE_BYTES))), "", {}, "")
    found = clean_properties(
        title=metadata.title or "",
        authors=[metadata.author or ""],
        description=metadata.description or "",
        keywords=metadata.keywords,
        created=metadata.published_date or "",
        modified=metadata.modified_date or "",
        language=metadata.language or "",
    )
    return replace(found, dateline=metadata.dateline or "")


def mail_properties(stream: BinaryIO, size: int) -> Properties:
    """The properties of an e-mail: its subject, its sender and its date."""
    from chyme.documents.conversion.email import header_text

    message = BytesHeaderParser().parsebytes(stream.read(HEAD_BYTES))
    name, address = parseaddr(header_text(message, "From")[:1000])
    return clean_properties(
        title=header_text(message, "Subject")[:2000],
        authors=[name or address],
        keywords=header_text(message, "Keywords")[:2000].split(","),
        created=header_text(message, "Date")[:100],
        language=header_text(message, "Content-Language")[:100],
    )


def rtf_properties(stream: BinaryIO, size: int) -> Properties:
    """The properties of an RTF document: its group `info`."""
    head = stream.read(HEAD_BYTES).decode("latin-1")
    start = head.find("{\\info")
    if start < 0:
        return Properties()
    info = head[start : start + 20_000]
    fields = {name: _decode_rtf(found[1]) for name, pattern in _RTF_TEXT.items() if (found := pattern.search(info))}
    matches = {name: re.search(rf"\\{name}{_RTF_TIME}", info) for name in ("creatim", "revtim")}
    dates = {
        name: f"{int(pattern[1]):04}-{int(pattern[2]):02}-{int(pattern[3]):02}"
        for name, pattern in matches.items()
        if pattern
    }
    return clean_properties(
        title=fields.get("title", ""),
        authors=[fields.get("author", "")],
        subject=fields.get("subject", ""),
        description=fields.get("doccomm", ""),
        keywords=fields.get("keywords", "").split(","),
        created=dates.get("creatim", ""),
        modified=dates.get("revtim", ""),
    )


def front_matter(stream: BinaryIO, size: int) -> Properties:
    """The properties of a text that begins with fields between two lines of dashes or pluses."""
    lines = decode(stream.read(FRONT_MATTER_BYTES), FRONT_MATTER_BYTES).text.split("\n")
    closing = _FENCES.get(lines[0].rstrip())
    if closing is None:
        return Properties()
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() in closing), None)
    fields = _parse_fields(lines[1:end]) if end is not None else {}

    def first(*names: str) -> str:
        return next((fields[name][0] for name in names if fields.get(name)), "")

    return clean_properties(
        title=first("title"),
        authors=(fields.get("author") or fields.get("authors") or [])[:10],
        subject=first("subject"),
        description=first("description", "summary", "abstract", "excerpt"),
        keywords=[*fields.get("tags", ()), *fields.get("keywords", ()), *fields.get("categories", ())],
        created=first("date", "created", "published", "publishdate"),
        modified=first("updated", "modified", "lastmod"),
        language=first("lang", "language"),
    )


def _parse_fields(lines: list[str]) -> dict[str, list[str]]:
    """Fields with one value or a plain list; deeper structures are ignored."""
    fields: dict[str, list[str]] = {}
    open_field = ""
    for line in lines:
        field = _FIELD.match(line)
        if field:
            open_field = field[1].lower()
            fields[open_field] = _parse_values(field[2])
        elif open_field and line.strip().startswith("- "):
            fields[open_field].append(_unquote(line.strip()[2:]))
        elif open_field and line.startswith(" ") and fields[open_field] in ([">"], ["|"], [">-"], ["|-"]):
            fields[open_field] = [line.strip()]
        elif open_field and line.startswith(" ") and len(fields[open_field]) == 1 and ":" not in line:
            fields[open_field] = [f"{fields[open_field][0]} {line.strip()}"]
    return fields


def _parse_values(text: str) -> list[str]:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return [value for part in text[1:-1].split(",") if (value := _unquote(part))]
    value = _unquote(text)
    return [value] if value else []


def _unquote(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _decode_rtf(text: str) -> str:
    def decode_escape(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1]) % 65_536)
        return bytes.fromhex(match[2]).decode("cp1252", "replace") if match[2] else ""

    return _RTF_ESCAPE.sub(decode_escape, text)

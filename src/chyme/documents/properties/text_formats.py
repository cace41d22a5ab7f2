"""What pages, e-mails, RTF and markdown say of themselves in their first lines."""

from __future__ import annotations

import re
from email.parser import BytesHeaderParser
from email.utils import parseaddr
from typing import BinaryIO

from chyme.documents.properties.reader import HEAD_BYTES, Properties, clean_properties
from chyme.text.decoding import decode

MATTER = 16_384  # bytes in which front matter must end
_FENCES = {"---": ("---", "..."), "+++": ("+++",)}
_FIELD = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,39})[ \t]*[:=][ \t]*(.*)")
_RTF_TEXT = {
    name: re.compile(rf"\{{\\(?:\*\\)?{name}[ \n]((?:[^{{}}\\]|\\[^\n]){{1,1000}})\}}")
    for name in ("title", "author", "subject", "keywords", "doccomm")
}
_RTF_TIME = r"\\yr(\d{1,4})\\mo(\d{1,2})\\dy(\d{1,2})"
_RTF_ESCAPE = re.compile(r"\\u(-?\d{1,5}) ?(?:\\'[0-9a-fA-F]{2}|\?)?|\\'([0-9a-fA-F]{2})|\\[a-z]{1,32}-?\d{0,10} ?")


def page_properties(stream: BinaryIO, size: int) -> Properties:
    """Of a web page that is a file."""
    from chyme.documents.conversion.html import page_text
    from chyme.documents.html.metadata import metadata_of

    known = metadata_of(page_text(stream.read(HEAD_BYTES)), "", {}, "")
    return clean_properties(
        title=known.title or "",
        authors=[known.author or ""],
        description=known.description or "",
        keywords=known.keywords,
        created=known.published_date or "",
        modified=known.modified_date or "",
        language=known.language or "",
    )


def mail_properties(stream: BinaryIO, size: int) -> Properties:
    """Of an e-mail: what its subject says, who sent it and when."""
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
    """Of an RTF document: its group `info`."""
    head = stream.read(HEAD_BYTES).decode("latin-1")
    start = head.find("{\\info")
    if start < 0:
        return Properties()
    info = head[start : start + 20_000]
    fields = {name: _rtf_words(found[1]) for name, one in _RTF_TEXT.items() if (found := one.search(info))}
    moments = {name: re.search(rf"\\{name}{_RTF_TIME}", info) for name in ("creatim", "revtim")}
    dates = {name: f"{int(one[1]):04}-{int(one[2]):02}-{int(one[3]):02}" for name, one in moments.items() if one}
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
    """Of a text that begins with fields between two lines of dashes (or pluses), as notes and sites have them."""
    lines = decode(stream.read(MATTER), MATTER).text.split("\n")
    closing = _FENCES.get(lines[0].rstrip())
    if closing is None:
        return Properties()
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() in closing), None)
    fields = _fields(lines[1:end]) if end is not None else {}

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


def _fields(lines: list[str]) -> dict[str, list[str]]:
    """Fields of one value or a plain list; anything deeper is left alone."""
    found: dict[str, list[str]] = {}
    open_field = ""
    for line in lines:
        field = _FIELD.match(line)
        if field:
            open_field = field[1].lower()
            found[open_field] = _values(field[2])
        elif open_field and line.strip().startswith("- "):
            found[open_field].append(_bare(line.strip()[2:]))
        elif open_field and line.startswith(" ") and found[open_field] in ([">"], ["|"], [">-"], ["|-"]):
            found[open_field] = [line.strip()]
        elif open_field and line.startswith(" ") and len(found[open_field]) == 1 and ":" not in line:
            found[open_field] = [f"{found[open_field][0]} {line.strip()}"]
    return found


def _values(text: str) -> list[str]:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return [value for part in text[1:-1].split(",") if (value := _bare(part))]
    value = _bare(text)
    return [value] if value else []


def _bare(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _rtf_words(text: str) -> str:
    def letter(found: re.Match[str]) -> str:
        if found[1]:
            return chr(int(found[1]) % 65_536)
        return bytes.fromhex(found[2]).decode("cp1252", "replace") if found[2] else ""

    return _RTF_ESCAPE.sub(letter, text)

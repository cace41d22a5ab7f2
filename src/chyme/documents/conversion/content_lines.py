"""Parse the lines of calendars and contacts (RFC 5545, RFC 6350, vCard 2.1): unfolded, unescaped, decoded."""

from __future__ import annotations

import base64
import binascii
import quopri
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from chyme.text.decoding import decode, decode_declared

VALUE_CHARS = 100_000  # of one value; longer ones are pictures or attacks
FILE_BYTES = 64 * 1024 * 1024  # without pictures and files in it; what follows is left out
_FOLD = re.compile(rb"\r?\n[ \t]")
_BINARY = re.compile(rb"^(?:[\w-]{1,100}\.)?(?:PHOTO|LOGO|SOUND|KEY|ATTACH)[;:]", re.I | re.M)
_VALUE_END = re.compile(rb"\n(?![ \t])")  # the next line is no continuation
_ESCAPE = re.compile(r"\\([\\;,nN:])")
_SEPARATORS = {",": re.compile(r"(?<!\\),"), ";": re.compile(r"(?<!\\);")}
_NAME_AND_PARAMETERS = re.compile(r"([^:\"]{0,2000}(?:\"[^\"]{0,2000}\"[^:\"]{0,2000}){0,50}):")
_PARAMETER = re.compile(r";([^;=\":]{1,100})(?:=((?:\"[^\"]*\"|[^;\"])*))?")
_NAME = re.compile(r"(?:([A-Za-z0-9-]{1,100})\.)?([A-Za-z0-9-]{1,100})(?=[;:]|\Z)")


@dataclass(frozen=True, slots=True)
class ContentLine:
    """One property: its name in capitals, its parameters, and its raw value (still escaped)."""

    name: str
    value: str
    parameters: Mapping[str, str]
    group: str = ""

    @property
    def text(self) -> str:
        """The value as a text."""
        return unescape(self.value).strip()

    def parts(self, separator: str) -> list[str]:
        """The values between separators that are not escaped."""
        return [unescape(part).strip() for part in _SEPARATORS[separator].split(self.value)]

    @property
    def types(self) -> list[str]:
        """What the parameter TYPE says, such as work or cell, in small letters."""
        return [part.strip().lower() for part in self.parameters.get("TYPE", "").split(",") if part.strip()]


def without_attachments(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """A file without the pictures and files in it, up to a limit, and the note that says so."""
    data = b"".join(_outside_attachments(data))
    if len(data) <= FILE_BYTES:
        return data, ()
    return data[:FILE_BYTES], (f"only the first {FILE_BYTES // 1024**2} MB are read",)


def _outside_attachments(data: bytes) -> Iterator[bytes]:
    position = 0
    while found := _BINARY.search(data, position):
        yield data[position : found.start()]
        end = _VALUE_END.search(data, found.end())
        position = end.end() if end else len(data)
    yield data[position:]


def parse_content_lines(data: bytes) -> Iterator[ContentLine]:
    """The properties of a file, in order; lines that are none are left out."""
    # Folds may be inside a character, so they go first. vCard 2.1 folds quoted-printable values in its own way.
    unfolded = _FOLD.sub(b"", data)
    lines = iter(decode(unfolded, len(unfolded)).text.split("\n"))
    for line in lines:
        head = _NAME_AND_PARAMETERS.match(line)
        named = _NAME.match(line)
        if head is None or named is None:
            continue
        parameters = _parameters(head[1][named.end() :])
        value = line[head.end() :]
        if parameters.get("ENCODING") == "QUOTED-PRINTABLE":
            value = _joined_lines(value, lines)
        yield ContentLine(named[2].upper(), _decoded(value, parameters), parameters, (named[1] or "").lower())


def _joined_lines(value: str, lines: Iterator[str]) -> str:
    """A quoted-printable value with the lines that follow a `=` at the end of one."""
    parts, length = [value], len(value)
    while parts[-1].endswith("=") and (following := next(lines, None)) is not None:
        parts[-1] = parts[-1][:-1]
        length += len(following)
        parts.append(following if length < VALUE_CHARS else following[-1:])  # of the rest, only where it ends counts
    return "".join(parts)


def unescape(value: str) -> str:
    """A value without the marks that let it hold commas, semicolons and line ends."""
    return _ESCAPE.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)


def _parameters(text: str) -> dict[str, str]:
    """Parameters by name in capitals. Those of vCard 2.1 without a name (`TEL;CELL`) are types."""
    found: dict[str, str] = {}
    for name, value in _PARAMETER.findall(text):
        key, worth = name.strip().upper(), value.replace('"', "")
        if not value:
            key, worth = ("ENCODING", key) if key in ("QUOTED-PRINTABLE", "BASE64") else ("TYPE", key)
        if key == "ENCODING":
            worth = worth.upper()
        found[key] = f"{found[key]},{worth}" if key == "TYPE" and key in found else worth
    return found


def _decoded(value: str, parameters: Mapping[str, str]) -> str:
    """The value without its transfer encoding, in the character set that the line names."""
    encoding = parameters.get("ENCODING", "")
    if encoding == "QUOTED-PRINTABLE":
        data = quopri.decodestring(value[:VALUE_CHARS].encode("utf-8", "surrogateescape"))
    elif encoding in ("B", "BASE64"):
        try:
            data = base64.b64decode(value[:VALUE_CHARS].strip()[: VALUE_CHARS // 4 * 4])
        except (binascii.Error, ValueError):
            return ""
    else:
        return value[:VALUE_CHARS]
    return decode_declared(data, parameters.get("CHARSET", ""))

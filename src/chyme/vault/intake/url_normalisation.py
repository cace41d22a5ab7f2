"""Checks and normalises the addresses of web pages that users enter."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, quote, urlsplit

from chyme.errors import UsageError
from chyme.text.markdown_lines import clean_line, shorten_text

MAX_LENGTH = 8000  # bytes: together with the rest of a shortcut file, it must still be read as a link
_SHOWN_CHARS = 80
_SURROUNDING = " \t\r\n\u200b\u200e\u200f\u2060\ufeff\xa0"  # what copying often adds
_FORBIDDEN = re.compile("[\\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffd\ud800-\udfff]")
_USER = re.compile(r"//[^/?#]*@")
_HOST = re.compile(r"(?=.*[a-z0-9])[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\]")
_PORTS = {"http": 80, "https": 443}
_UNESCAPED = "%/:@!$&'()*+,;=~-._"  # not escaped in a path; a percent sign is part of an escape already


def address_of(typed: str) -> str:
    """Return the normalised address, in ASCII; raises UsageError that says what is wrong with it."""
    text = typed.strip(_SURROUNDING)
    if text.startswith("<") and text.endswith(">"):
        text = text[1:-1].strip()
    if not text:
        raise UsageError("an empty address leads nowhere; give one like https://example.org/page")
    if len(text) > MAX_LENGTH:
        raise _refusal(text, f"is longer than {MAX_LENGTH:,} characters; leave out what the page does not need")
    if _FORBIDDEN.search(text):
        raise _refusal(text, "has blanks or unprintable characters in it; write a blank as %20")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise _refusal(text, f"is no address ({clean_line(str(error))})") from error
    if parts.scheme not in _PORTS:
        raise _refusal(text, "is not the address of a web page; those begin with https:// or http://")
    if "@" in parts.netloc:
        raise _refusal(text, "holds a user name or password, which would be kept in plain text; leave it out")
    host = _normalise_host(text, parts)
    if port is not None and port != _PORTS[parts.scheme]:
        host += f":{port}"
    address = f"{parts.scheme}://{host}{quote(parts.path, _UNESCAPED) or '/'}"
    address += f"?{quote(parts.query, _UNESCAPED + '?[]|')}" if parts.query else ""
    address += f"#{quote(parts.fragment, _UNESCAPED + '?[]|')}" if parts.fragment else ""
    if len(address) > MAX_LENGTH:
        raise _refusal(text, f"is longer than {MAX_LENGTH:,} characters; leave out what the page does not need")
    return address


def _normalise_host(text: str, parts: SplitResult) -> str:
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    elif not host.isascii():
        import idna

        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except UnicodeError:  # IDNAError is a subclass
            host = ""
    if not _HOST.fullmatch(host):
        raise _refusal(text, "names no host; an address is like https://example.org/page")
    return host


def _refusal(text: str, reason: str) -> UsageError:
    """Return an error that shows the address on one line, without its secrets."""
    return UsageError(f"{shorten_text(clean_line(_USER.sub('//…@', text[:1000])), _SHOWN_CHARS)}: {reason}")

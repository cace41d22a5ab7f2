"""Whether what somebody typed is the address of a web page, and how it is written down."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, quote, urlsplit

from chyme.errors import UsageError
from chyme.text.markdown_lines import clean_line, shorten_text

LONGEST = 8000  # bytes: with what a shortcut says around it, it must still be read as a link
_SHOWN = 80
_AROUND = " \t\r\n\u200b\u200e\u200f\u2060\ufeff\xa0"  # what copying brings along
_NEVER = re.compile("[\\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffd\ud800-\udfff]")
_USER = re.compile(r"//[^/?#]*@")
_HOST = re.compile(r"(?=.*[a-z0-9])[a-z0-9._-]{1,253}|\[[0-9a-f:.]{2,45}\]")
_PORTS = {"http": 80, "https": 443}
_KEPT = "%/:@!$&'()*+,;=~-._"  # stands for itself in a path; a percent sign belongs to an escape already


def address_of(typed: str) -> str:
    """The address in one spelling, ASCII throughout; UsageError says what is wrong with it."""
    text = typed.strip(_AROUND)
    if text.startswith("<") and text.endswith(">"):
        text = text[1:-1].strip()
    if not text:
        raise UsageError("an empty address leads nowhere; give one like https://example.org/page")
    if len(text) > LONGEST:
        raise _refused(text, f"is longer than {LONGEST:,} characters; leave out what the page does not need")
    if _NEVER.search(text):
        raise _refused(text, "has blanks or unprintable characters in it; write a blank as %20")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise _refused(text, f"is no address ({clean_line(str(error))})") from error
    if parts.scheme not in _PORTS:
        raise _refused(text, "is not the address of a web page; those begin with https:// or http://")
    if "@" in parts.netloc:
        raise _refused(text, "holds a user name or password, which would be kept in plain text; leave it out")
    host = _host(text, parts)
    if port is not None and port != _PORTS[parts.scheme]:
        host += f":{port}"
    address = f"{parts.scheme}://{host}{quote(parts.path, _KEPT) or '/'}"
    address += f"?{quote(parts.query, _KEPT + '?[]|')}" if parts.query else ""
    address += f"#{quote(parts.fragment, _KEPT + '?[]|')}" if parts.fragment else ""
    if len(address) > LONGEST:
        raise _refused(text, f"is longer than {LONGEST:,} characters; leave out what the page does not need")
    return address


def _host(text: str, parts: SplitResult) -> str:
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    elif not host.isascii():
        import idna

        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except UnicodeError:  # which is what an IDNAError is
            host = ""
    if not _HOST.fullmatch(host):
        raise _refused(text, "names no host; an address is like https://example.org/page")
    return host


def _refused(text: str, why: str) -> UsageError:
    """Names the address without its secrets, in one line."""
    return UsageError(f"{shorten_text(clean_line(_USER.sub('//…@', text[:1000])), _SHOWN)}: {why}")

"""Read e-mails: the header people look at, the body, the names of the attachments."""

from __future__ import annotations

import email
import re
from collections.abc import Iterator
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message

from chyme.documents.conversion.html import markdown_of, page_text
from chyme.documents.conversion.results import (
    ConversionLimits,
    ConversionResult,
    broken_file_error,
    build_unpaged_result,
    count_words,
)
from chyme.documents.conversion.xberg import read_with_xberg
from chyme.errors import LimitReached
from chyme.text.decoding import clean, decode

HEADER_FIELDS = ("From", "To", "Cc", "Date", "Subject")
_SPACES = re.compile(r"\s+")


def convert_eml(name: str, data: bytes, limits: ConversionLimits) -> ConversionResult:
    """The text of an e-mail as mail programs save it."""
    try:
        message = email.message_from_bytes(data)
        lines = list(_message(name, message, limits, depth=0))
    except RecursionError as error:
        raise _too_deep(name, limits) from error
    return build_unpaged_result("\n\n".join(part for part in lines if part.strip()))


def convert_msg(name: str, data: bytes, mime: str) -> ConversionResult:
    """The text of an e-mail as Outlook saves it."""
    found = read_with_xberg(name, "Outlook message", data, mime)
    if not found.markdown:
        raise broken_file_error(name, "Outlook message")
    return found


def _message(name: str, message: Message, limits: ConversionLimits, depth: int) -> Iterator[str]:
    if depth > limits.nesting:
        raise _too_deep(name, limits)
    yield "  \n".join(f"**{field}:** {text}" for field in HEADER_FIELDS if (text := header_text(message, field)))
    plain: list[str] = []
    pages: list[str] = []
    inner: list[Message] = []
    attached: list[str] = []
    for part in _leaves(name, message, limits, depth):
        kind = part.get_content_type()
        file = _filename(part)
        if kind == "message/rfc822":
            held = part.get_payload()
            inner += [one for one in held if isinstance(one, Message)] if isinstance(held, list) else []
        elif file or part.get_content_disposition() == "attachment" or part.get_content_maintype() != "text":
            attached.append(file or kind)
        elif kind == "text/html":
            pages.append(markdown_of(_source_of(part)))
        else:
            plain.append(_text_of(part))
    written, shown = "\n\n".join(plain).strip(), "\n\n".join(pages).strip()
    # Programs that write HTML often leave a stub ("open this in a browser") as plain text.
    yield shown if 2 * count_words(written) < count_words(shown) else written
    for one in inner:
        yield "---"
        yield from _message(name, one, limits, depth + 1)
    if attached:
        yield "Attachments:\n\n" + "\n".join(f"- {file}" for file in attached)


def _leaves(name: str, message: Message, limits: ConversionLimits, depth: int) -> Iterator[Message]:
    """The parts that hold something, without those of messages inside."""
    if depth > limits.nesting:
        raise _too_deep(name, limits)
    held = message.get_payload()
    if message.get_content_type() == "message/rfc822" and depth:
        yield message
    elif isinstance(held, list):
        for part in held:
            if isinstance(part, Message):
                yield from _leaves(name, part, limits, depth + 1)
    else:
        yield message


def header_text(message: Message, field: str) -> str:
    """A header field as people read it, on one line."""
    raw = message.get(field)
    if raw is None:
        return ""
    try:
        text = str(make_header(decode_header(str(raw))))
    except (HeaderParseError, LookupError, UnicodeError, ValueError):
        text = str(raw)
    return _SPACES.sub(" ", clean(text)).strip()


def _filename(part: Message) -> str:
    try:
        file = part.get_filename() or ""
        text = str(make_header(decode_header(file)))
    except (HeaderParseError, LookupError, UnicodeError, ValueError, TypeError):
        text = ""
    return _SPACES.sub(" ", clean(text)).strip()


def _bytes_of(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _text_of(part: Message) -> str:
    data = _bytes_of(part)
    told = part.get_content_charset()
    if told:
        try:
            return clean(data.decode(told))
        except (LookupError, UnicodeDecodeError):
            pass  # the letters know better than the header
    return decode(data, len(data)).text


def _source_of(part: Message) -> str:
    return _text_of(part) if part.get_content_charset() else page_text(_bytes_of(part))


def _too_deep(name: str, limits: ConversionLimits) -> LimitReached:
    return LimitReached(
        f"{name}: e-mail holds more than {limits.nesting} parts inside each other; raise nesting to read it"
    )

"""Convert e-mails: the main headers, the body, and the names of the attachments."""

from __future__ import annotations

import email
from collections.abc import Iterator
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from email.policy import Compat32

from chyme.documents.conversion.results import (
    ConversionLimits,
    ConversionResult,
    broken_file_error,
    build_unpaged_result,
    count_words,
)
from chyme.documents.conversion.xberg import read_with_xberg
from chyme.documents.html.reader import page_text, read_page
from chyme.documents.html.tree import Page
from chyme.errors import LimitReached
from chyme.text.decoding import clean, decode_declared

FIELD_CHARS = 10_000  # of one header field; longer lists of recipients are cut
HEADER_FIELDS = ("From", "To", "Cc", "Date", "Subject")


def convert_eml(name: str, data: bytes, limits: ConversionLimits) -> ConversionResult:
    """The text of an e-mail in the format that mail programs save."""
    try:
        message = parse_message(data)
        lines = list(message_blocks(name, message, limits))
    except RecursionError as error:
        raise nesting_error(name, limits) from error
    return build_unpaged_result("\n\n".join(part for part in lines if part.strip()))


def parse_message(data: bytes) -> Message:
    """The parts of an e-mail; of a header field the beginning."""
    return email.message_from_bytes(data, policy=_BoundedHeaders())


class _BoundedHeaders(Compat32):
    """The usual policy, with a limit: the time for some fields grows with the square of their length."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:FIELD_CHARS]


def convert_msg(name: str, data: bytes, mime: str) -> ConversionResult:
    """The text of an e-mail in Outlook's format."""
    result = read_with_xberg(name, "Outlook message", data, mime)
    if not result.markdown:
        raise broken_file_error(name, "Outlook message")
    return result


def message_blocks(
    name: str, message: Message, limits: ConversionLimits, fields: tuple[str, ...] = HEADER_FIELDS, depth: int = 0
) -> Iterator[str]:
    """The paragraphs of an e-mail: these header fields, the body, forwarded mails, the names of attachments."""
    if depth > limits.nesting:
        raise nesting_error(name, limits)
    yield "  \n".join(f"**{field}:** {text}" for field in fields if (text := header_text(message, field)))
    plain_texts: list[str] = []
    html_texts: list[str] = []
    inner_messages: list[Message] = []
    attachments: list[str] = []
    for part in _leaf_parts(name, message, limits, depth):
        kind = part.get_content_type()
        file = _filename(part)
        if kind == "message/rfc822":
            payload = part.get_payload()
            if isinstance(payload, list):
                inner_messages += [inner_message for inner_message in payload if isinstance(inner_message, Message)]
        elif file or part.get_content_disposition() == "attachment" or part.get_content_maintype() != "text":
            attachments.append(file or kind)
        elif kind == "text/html":
            html_texts.append(read_page(Page(_source_of(part)), "", ConversionLimits()).markdown)
        else:
            plain_texts.append(_text_of(part))
    plain_text, html_text = "\n\n".join(plain_texts).strip(), "\n\n".join(html_texts).strip()
    # Programs that write HTML often leave a stub ("open this in a browser") as plain text.
    yield html_text if 2 * count_words(plain_text) < count_words(html_text) else plain_text
    for inner_message in inner_messages:
        yield "---"
        yield from message_blocks(name, inner_message, limits, depth=depth + 1)
    if attachments:
        yield "Attachments:\n\n" + "\n".join(f"- {file}" for file in attachments)


def _leaf_parts(name: str, message: Message, limits: ConversionLimits, depth: int) -> Iterator[Message]:
    """The parts with content, without those of nested messages."""
    if depth > limits.nesting:
        raise nesting_error(name, limits)
    payload = message.get_payload()
    if message.get_content_type() == "message/rfc822" and depth:
        yield message
    elif isinstance(payload, list):
        for part in payload:
            if isinstance(part, Message):
                yield from _leaf_parts(name, part, limits, depth + 1)
    else:
        yield message


def header_text(message: Message, field: str) -> str:
    """A decoded header field, on one line."""
    raw = str(message.get(field) or "")
    try:
        return _decode_words(raw)
    except (HeaderParseError, LookupError, UnicodeError, ValueError):
        return _one_line(raw)


def _filename(part: Message) -> str:
    try:
        return _decode_words(part.get_filename() or "")
    except (HeaderParseError, LookupError, UnicodeError, ValueError, TypeError):
        return ""


def _decode_words(text: str) -> str:
    return _one_line(str(make_header(decode_header(text))))


def _one_line(text: str) -> str:
    return " ".join(clean(text).split())


def _bytes_of(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _text_of(part: Message) -> str:
    data = _bytes_of(part)
    return decode_declared(data, part.get_content_charset() or "")


def _source_of(part: Message) -> str:
    return _text_of(part) if part.get_content_charset() else page_text(_bytes_of(part))


def nesting_error(name: str, limits: ConversionLimits) -> LimitReached:
    """The error for parts inside parts inside parts."""
    return LimitReached(
        f"{name}: e-mail holds more than {limits.nesting} parts inside each other; raise nesting to read it"
    )

"""Convert mailboxes in the mbox formats: each e-mail is a part of its own, with its headers and attachments by name."""

from __future__ import annotations

import email
import re
from collections.abc import Iterator
from email.message import Message

from chyme.documents.conversion.email import header_text, message_blocks, nesting_error
from chyme.documents.conversion.numbered_parts import Part, join_parts
from chyme.documents.conversion.results import MB, ConversionLimits, ConversionResult, broken_file_error
from chyme.errors import DigestError
from chyme.files.machine_names import without_extension

MAIL_BYTES = 50 * MB  # of one mail; what follows are attachments, which are only named
MAIL_FIELDS = ("From", "To", "Cc", "Date")
_SEPARATOR = re.compile(
    rb"From [^\r\n]{0,300}?\d{1,2}:\d\d[^\r\n]{0,40}\d{4}[^\r\n]{0,60}\r?\n(?:[!-9;-~]{1,80}:|>From )"
)
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
_CONTENT_LENGTH = re.compile(rb"^content-length:[ \t]{0,8}(\d{1,12})", re.MULTILINE | re.IGNORECASE)
_HEADER_BYTES = 256 * 1024


def convert_mailbox(name: str, data: bytes, limits: ConversionLimits) -> ConversionResult:
    """The mails of a mailbox, in order, with notes about those that were left out."""
    notes: list[str] = []
    if len(data) > limits.document_bytes:
        data = data[: limits.document_bytes]
        notes.append(f"the first {limits.document_bytes // MB:,} MB are read; raise document_bytes to read more")
    spans = list(mail_spans(data))
    if not spans:
        raise broken_file_error(name, "mailbox")
    result = join_parts(
        without_extension(name) or name,
        f"A mailbox with {len(spans):,} {'e-mail' if len(spans) == 1 else 'e-mails'}.",
        _mails(name, data, spans, limits),
        ("e-mail", "e-mails"),
        limits,
    )
    return ConversionResult(result.markdown, result.places, (*result.notes, *notes))


def mail_spans(data: bytes) -> Iterator[tuple[int, int]]:
    """Where each mail begins, after its separator line, and where it ends."""
    position = data.find(b"From ", 0, 4096)
    while 0 <= position < len(data):
        begin = data.find(b"\n", position) + 1
        if not begin:
            return
        following = _next_separator(data, _end_by_length(data, begin) or begin)
        yield begin, following if following >= 0 else len(data)
        position = following


def _next_separator(data: bytes, position: int) -> int:
    """Where the next separator line begins, from here on; -1 if there is none."""
    if position > 0:
        position -= 1
    while (position := data.find(b"\nFrom ", position)) >= 0:
        if _SEPARATOR.match(data, position + 1):
            return position + 1
        position += 1
    return -1


def _end_by_length(data: bytes, begin: int) -> int | None:
    """Where the mail ends by its Content-Length, if another mail or nothing follows there."""
    head = data[begin : begin + _HEADER_BYTES]
    blank = re.search(rb"\r?\n\r?\n", head)
    claimed = _CONTENT_LENGTH.search(head, 0, blank.start()) if blank else None
    if blank is None or claimed is None:
        return None
    end = begin + blank.end() + int(claimed[1])
    rest = data[end : end + 400].lstrip(b"\r\n")
    return end if end <= len(data) and (not rest or _SEPARATOR.match(rest)) else None


def _mails(name: str, data: bytes, spans: list[tuple[int, int]], limits: ConversionLimits) -> Iterator[Part]:
    for begin, end in spans:
        yield _mail(name, _ESCAPED.sub(rb"\1", data[begin : min(end, begin + MAIL_BYTES)]), limits)


def _mail(name: str, data: bytes, limits: ConversionLimits) -> Part:
    message = email.message_from_bytes(data)
    heading = header_text(message, "Subject") or _unnamed(message)
    try:
        blocks = list(message_blocks(name, message, limits, MAIL_FIELDS))
    except RecursionError:
        blocks = [f"> {nesting_error(name, limits)}"]
    except DigestError as error:  # the other mails can be read all the same
        blocks = [f"> {error}"]
    return Part(heading, "\n\n".join(block for block in blocks if block.strip()))


def _unnamed(message: Message) -> str:
    sender = header_text(message, "From")
    return f"E-mail from {sender}" if sender else "E-mail without subject"

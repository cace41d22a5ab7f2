"""Convert mailboxes in the mbox formats: each e-mail is a part of its own, with its headers and attachments by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.message import Message

from chyme.documents.conversion.email import header_text, message_blocks, nesting_error, parse_message
from chyme.documents.conversion.numbered_parts import Part, join_parts, title_from_name
from chyme.documents.conversion.results import MB, ConversionLimits, ConversionResult, broken_file_error
from chyme.errors import DigestError

MAIL_BYTES = 50 * MB  # of one mail; what follows are attachments, which are only named
MAIL_FIELDS = ("From", "To", "Cc", "Date")
_SEPARATOR = re.compile(  # with the month and the time that mail programs write
    rb"From (?=[^\r\n]{0,300}?[\s,-](?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[\s,-])"
    rb"[^\r\n]{0,300}?\d{1,2}:\d\d[^\r\n]{0,40}\d{4}[^\r\n]{0,60}\r?\n(?:[!-9;-~]{1,80}:|>From )"
)
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
_CONTENT_LENGTH = re.compile(rb"^content-length:[ \t]{0,8}(\d{1,12})", re.MULTILINE | re.IGNORECASE)
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_HEADER_BYTES = 256 * 1024


def convert_mailbox(name: str, data: bytes, limits: ConversionLimits) -> ConversionResult:
    """The mails of a mailbox, in order, with notes about those that were left out."""
    notes: list[str] = []
    if len(data) > limits.document_bytes:
        data = data[: limits.document_bytes]
        notes.append(f"the first {limits.document_bytes // MB:,} MB are read; raise document_bytes to read more")
    count = sum(1 for _ in mail_spans(data))
    if not count:
        raise broken_file_error(name, "mailbox")
    result = join_parts(
        title_from_name(name),
        f"A mailbox with {count:,} {'e-mail' if count == 1 else 'e-mails'}.",
        _mails(name, data, limits),
        count,
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
        following = _next_separator(data, begin)
        claimed_end = _end_by_length(data, begin, following)
        if claimed_end is not None and 0 <= following < claimed_end:
            following = _next_separator(data, claimed_end)
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


def _end_by_length(data: bytes, begin: int, following: int) -> int | None:
    """Where the mail ends by its Content-Length, if another mail or nothing follows there.

    `following` is where the next separator stands: the headers end before it.
    """
    until = begin + _HEADER_BYTES if following < 0 else min(following, begin + _HEADER_BYTES)
    blank = _BLANK_LINE.search(data, begin, until)
    claimed = _CONTENT_LENGTH.search(data, begin, blank.start()) if blank else None
    if blank is None or claimed is None:
        return None
    end = blank.end() + int(claimed[1])
    rest = data[end : end + 400].lstrip(b"\r\n")
    return end if end <= len(data) and (not rest or _SEPARATOR.match(rest)) else None


def _mails(name: str, data: bytes, limits: ConversionLimits) -> Iterator[Part]:
    for begin, end in mail_spans(data):
        yield _mail(name, _ESCAPED.sub(rb"\1", data[begin : min(end, begin + MAIL_BYTES)]), limits)


def _mail(name: str, data: bytes, limits: ConversionLimits) -> Part:
    message = parse_message(data)
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

"""What of a message becomes files: the message itself, and each of its attachments."""

from __future__ import annotations

import email
import mimetypes
from collections.abc import Iterator
from dataclasses import dataclass
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.policy import Compat32
from email.utils import parsedate_to_datetime

from chyme.text.decoding import clean
from chyme.vault.file_names import safe_name
from chyme.vault.intake.stored_files import NewFile

MAX_ATTACHMENTS = 100
STEM_BYTES = 90
FIELD_CHARACTERS = 10_000  # of a header field: the time for some grows with the square of their length
SIGNATURES = ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")
# What the standard library may raise for a hostile message.
_ERRORS = (
    MessageError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
    AssertionError,
    OverflowError,
)


@dataclass(frozen=True, slots=True)
class MessageFiles:
    """The files of a message, itself first, and what could not be read in it."""

    files: tuple[NewFile, ...]
    problem: str | None = None


class _BoundedHeaders(Compat32):
    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:FIELD_CHARACTERS]


def split_message(data: bytes) -> MessageFiles:
    """Return the message as an .eml file and its attachments beside it. The same message always has the same names."""
    try:
        message = email.message_from_bytes(data, policy=_BoundedHeaders())
        stem = _stem_of(message)
    except _ERRORS:
        return MessageFiles((NewFile("message.eml", data),), "the message cannot be read; it was kept as it is")
    files, problem = [NewFile(f"{stem}.eml", data)], None
    try:
        for attachment in _attachments(message):
            if len(files) > MAX_ATTACHMENTS:
                problem = f"only the first {MAX_ATTACHMENTS} attachments were taken out; all are in the .eml file"
                break
            files.append(NewFile(f"{stem} - {attachment.name}", attachment.data))
    except _ERRORS:
        problem = "its attachments cannot all be read; they are in the .eml file"
    return MessageFiles(tuple(files), problem)


def _stem_of(message: Message) -> str:
    subject = safe_name(_header(message, "Subject"), STEM_BYTES) or "message"
    try:
        day = parsedate_to_datetime(_header(message, "Date")).date().isoformat()
    except _ERRORS:
        return subject  # without today's date: after an interruption the name must be the same
    return f"{day} {subject}"


def _attachments(message: Message) -> Iterator[NewFile]:
    stack = [message]
    while stack:
        part = stack.pop()
        kind, payload = part.get_content_type(), part.get_payload()
        if kind == "message/rfc822" and part is not message and isinstance(payload, list):
            for inner in payload[:1]:
                if isinstance(inner, Message):
                    name = safe_name(_header(inner, "Subject"), STEM_BYTES) or "forwarded message"
                    yield NewFile(f"{name}.eml", inner.as_bytes())
        elif isinstance(payload, list):
            stack += [inner for inner in reversed(payload) if isinstance(inner, Message)]
        elif kind not in SIGNATURES:
            file = _attached_file(part, kind)
            if file is not None:
                yield file


def _attached_file(part: Message, kind: str) -> NewFile | None:
    """Return the file in a part; None for text of the message, and for pictures that stand inside that text."""
    name = _decode(part.get_filename() or "").replace("\\", "/").rpartition("/")[2].lstrip(".")
    is_attached = part.get_content_disposition() == "attachment"
    is_inside = part.get("Content-ID") is not None and kind.startswith("image/")
    if not is_attached and (not name or is_inside):
        return None
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes) or not data:
        return None
    return NewFile(name or f"attachment{mimetypes.guess_extension(kind) or ''}", data)


def _header(message: Message, field: str) -> str:
    return _decode(str(message.get(field) or ""))


def _decode(raw: str) -> str:
    try:
        text = str(make_header(decode_header(raw)))
    except _ERRORS:
        text = raw
    return " ".join(clean(text).split())

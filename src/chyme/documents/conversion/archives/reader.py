"""Convert archives: every file is listed by name, and the readable ones follow as text, each under its path."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from chyme.documents.conversion.archives.crash_marks import CrashMarks
from chyme.documents.conversion.archives.member_text import MEMBER_BYTES, is_worth_unpacking, read_member
from chyme.documents.conversion.archives.members import (
    DamagedArchive,
    EncryptedArchive,
    Member,
    OutOfReach,
    UnpackLimit,
    path_in_markdown,
)
from chyme.documents.conversion.archives.opening import is_package, open_archive, type_name
from chyme.documents.conversion.numbered_parts import one_line, title_from_name
from chyme.documents.conversion.results import (
    ConversionLimits,
    ConversionResult,
    broken_file_error,
    encrypted_file_error,
    truncate,
)
from chyme.documents.conversion.zip_packages import ALWAYS_ALLOWED_BYTES
from chyme.errors import DigestError, UnreadableFile
from chyme.model import Place
from chyme.text.display import format_size

MOST_NOTES = 10


@dataclass(slots=True)
class _Contents:
    """What was found so far: the lines of the listing, the texts of files with their places, and notes."""

    lines: list[str] = field(default_factory=list)
    texts: list[tuple[str, ConversionResult]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unpacked: int = 0
    encrypted: int = 0
    not_reached: int = 0  # readable files for which bytes, characters or time did not suffice
    length: int = 0
    is_cut: bool = False


def convert_archive(
    name: str,
    stream: BinaryIO,
    size: int,
    mime: str,
    limits: ConversionLimits,
    progress: Callable[[float], None] = lambda _: None,
    scratch: Path | None = None,
    *,
    listing_only: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> ConversionResult:
    """The listing of an archive and the text of its files, within the limits of bytes, characters and time.

    `scratch` remembers a file whose reader took the process down, so that another attempt leaves it out.
    """
    what = type_name(mime)
    contents = _Contents()
    try:
        members: Iterable[Member] = open_archive(name, stream, size, mime, limits)
        if not listing_only and is_package(name, mime):
            listing_only = True
            contents.notes.append("it is the package of a program, so its files are only listed")
        members, refusal = _check_claims(members, size, limits)
        contents.notes += [refusal] if refusal else []
        reader = _MemberReader(limits, contents, CrashMarks(scratch), clock() + limits.archive_seconds, clock)
        read = None if listing_only or refusal else reader.read
        _collect(members, read, contents, limits, lambda: progress(min(0.95, stream.tell() / max(size, 1))))
    except EncryptedArchive as error:
        raise encrypted_file_error(name, what) from error
    except UnpackLimit as error:
        contents.notes.append(str(error))
        contents.is_cut = True
    except DamagedArchive as error:
        if not contents.lines:
            raise broken_file_error(name, what) from error
        contents.notes.append("the archive is damaged or incomplete; what is listed could be read")
        contents.is_cut = True
    return truncate(_join(name, what, contents, limits), limits.text_chars)


def _check_claims(
    members: Iterable[Member], size: int, limits: ConversionLimits
) -> tuple[Iterable[Member], str | None]:
    """The members, and why they must not be unpacked, as far as a directory tells it before anything is unpacked."""
    if isinstance(members, Iterator):
        return members, None  # of a stream, which checks itself
    listed: deque[Member] = deque()
    end: Exception | None = None
    try:
        listed.extend(islice(members, limits.archive_entries + 1))
    except (DamagedArchive, UnpackLimit) as error:
        end = error
    unpacked = sum(member.size or 0 for member in listed)
    refusal = None
    if unpacked > ALWAYS_ALLOWED_BYTES and unpacked > size * limits.archive_ratio:
        refusal = (
            f"it unpacks to more than {limits.archive_ratio} times its size, like a bomb, so its files are only "
            "listed; raise archive_ratio if you trust it"
        )
    return _hand_out(listed, end), refusal


def _hand_out(listed: deque[Member], end: Exception | None) -> Iterator[Member]:
    """The members one by one, then the error that ended the directory. What one unpacked is released with it."""
    while listed:
        yield listed.popleft()
    if end is not None:
        raise end


def _collect(
    members: Iterable[Member],
    read: Callable[[int, Member], str] | None,
    contents: _Contents,
    limits: ConversionLimits,
    report: Callable[[], None],
) -> None:
    """List the members, and read those that `read` can read."""
    for number, member in enumerate(members, 1):
        if number > limits.archive_entries:
            contents.notes.append(
                f"only the first {limits.archive_entries:,} files are listed; raise archive_entries to list more"
            )
            contents.is_cut = True
            return
        contents.lines.append(_line(member, member.remark))
        contents.encrypted += member.remark == "encrypted"
        contents.unpacked += member.size or 0
        if read is not None and not member.remark:
            contents.lines[-1] = _line(member, read(number, member))
            report()


@dataclass(slots=True)
class _MemberReader:
    """Reads members while bytes, characters and time are left."""

    limits: ConversionLimits
    contents: _Contents
    marks: CrashMarks
    deadline: float
    clock: Callable[[], float]
    bytes_read: int = 0

    def read(self, number: int, member: Member) -> str:
        """Add the text of a member to the contents. Returns why it has none; empty if there is nothing to say."""
        if member.read is None or not is_worth_unpacking(member.path):
            return ""
        contents, limits = self.contents, self.limits
        room = min(MEMBER_BYTES, limits.archive_bytes - self.bytes_read)
        chars = limits.text_chars - contents.length
        if room <= 0 or chars <= 0 or self.clock() > self.deadline:
            contents.not_reached += 1
            return ""
        if self.marks.has_crashed(number):
            return "not read: its reader crashed or took too long"
        try:
            with self.marks.mark(number):
                result = read_member(replace(member, read=self._counted(member.read)), room, chars, limits)
        except OutOfReach:
            contents.not_reached += 1
            return ""
        except DamagedArchive:
            return "not read: damaged"
        except DigestError as error:
            return f"not read: {_reason(error, member)}"
        if result is None:
            return ""
        contents.notes += [f"{member.path}: {note}" for note in result.notes]
        if result.markdown:
            contents.texts.append((member.path, result))
            contents.length += len(result.markdown)
        return "" if result.markdown else "it has no text"

    def _counted(self, read: Callable[[int], bytes]) -> Callable[[int], bytes]:
        """Unpacks as before and counts, also what is thrown away because of an error."""

        def read_on(count: int) -> bytes:
            data = read(count)
            self.bytes_read += len(data)
            return data

        return read_on


def _reason(error: DigestError, member: Member) -> str:
    message = str(error)
    if isinstance(error, UnreadableFile) and "is encrypted" in message:
        return "encrypted"
    return message.removeprefix(f"{member.path.rpartition('/')[2]}: ")


def _line(member: Member, remark: str) -> str:
    size = f", {format_size(member.size)}" if member.size is not None else ""
    return f"- {path_in_markdown(member.path) or '(without a name)'}{size}" + (f" ({remark})" if remark else "")


def _join(name: str, what: str, contents: _Contents, limits: ConversionLimits) -> ConversionResult:
    title = title_from_name(name)
    count = len(contents.lines)
    more = "more than " if contents.is_cut else ""
    intro = f"{_article(what)} {what} with {more}{count:,} {'file' if count == 1 else 'files'}"
    intro += f", {format_size(contents.unpacked)} unpacked." if contents.unpacked else "."
    head = "\n\n".join(filter(None, [f"# {title}", intro, "\n".join(contents.lines)]))
    texts, places = [head], [Place(0, len(head), heading=title)]
    length = len(head)
    for path, result in contents.texts:
        heading = one_line(path)
        start = length + 2
        beginning = f"## {path_in_markdown(heading)}\n\n"
        texts.append(beginning + result.markdown)
        length = start + len(texts[-1])
        places += _member_places(result.places, (start, start + len(beginning), length), heading)
    return ConversionResult("\n\n".join(texts), tuple(places), _notes(contents, limits))


def _article(what: str) -> str:
    return "An" if what[0] in "aeiouRx" else "A"


def _member_places(places: Sequence[Place], span: tuple[int, int, int], heading: str) -> Iterator[Place]:
    """The places of a member, which has at least one page: no passage is cut from two members.

    `span`: where its heading begins, where its text begins, and where it ends.
    """
    start, shift, end = span
    begins_with_page = any(_is_first_page(place) for place in places)
    if not begins_with_page:
        yield Place(start, end, page=1, heading=heading)
    for place in places:
        begin = start if _is_first_page(place) else place.start + shift
        yield replace(place, start=begin, end=place.end + shift, heading=heading)


def _is_first_page(place: Place) -> bool:
    return place.page is not None and place.start == 0 and place.box is None


def _notes(contents: _Contents, limits: ConversionLimits) -> tuple[str, ...]:
    notes = list(dict.fromkeys(contents.notes))
    if len(notes) > MOST_NOTES:
        notes = [*notes[:MOST_NOTES], f"{len(notes) - MOST_NOTES:,} more notes about single files are left out"]
    if contents.not_reached:
        notes.append(
            f"{contents.not_reached:,} more files are listed, not read, because one archive may take "
            f"{format_size(limits.archive_bytes)}, {limits.text_chars:,} characters and {limits.archive_seconds:g} s; "
            "raise archive_bytes, text_chars or archive_seconds, or unpack it"
        )
    if contents.encrypted:
        notes.append(f"encrypted files: {contents.encrypted:,}; unpack them with their password to have them read")
    return tuple(notes)

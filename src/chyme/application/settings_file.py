"""Changes settings.toml as a person would: comments, order and everything that is not changed stay as they are."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import secrets
import stat
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from chyme.core.files.permissions import FILE_MODE, OTHERS
from chyme.errors import UsageError

LOCK = ".chyme-settings.lock"
MAX_BYTES = 1 << 20
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
Value = str | int | float | bool


def etag_of(content: bytes) -> str:
    """Return what changes when the file does."""
    return hashlib.sha256(content).hexdigest()[:32]


def read_content(path: Path) -> bytes:
    """Return the bytes of the file; none if there is no file."""
    with suppress(FileNotFoundError):
        return path.read_bytes()
    return b""


def edit(content: bytes, changes: Mapping[str, Value | None]) -> bytes:
    """Return the content with these settings set, or removed where the value is None.

    UsageError if the result would mean anything else than that.
    """
    before = tomllib.loads(content.decode())
    ending = "\r\n" if b"\r\n" in content else "\n"
    pieces: list[str] = []
    left = dict(changes)
    for name, statement in _statements(content.decode()):
        if name is None or name not in changes:
            pieces.append(statement)
        elif (value := left.pop(name, None)) is not None:
            pieces.append(f"{name} = {to_toml(value)}{_comment_after(statement)}{ending}")
    added = [f"{name} = {to_toml(value)}{ending}" for name, value in left.items() if value is not None]
    if added and pieces and not pieces[-1].endswith("\n"):
        pieces.append(ending)
    edited = "".join([*pieces, *added]).encode()
    expected = {name: value for name, value in {**before, **changes}.items() if value is not None}
    if len(edited) > MAX_BYTES or tomllib.loads(edited.decode()) != expected:
        raise UsageError("settings.toml is written in a way that cannot be changed here; change it by hand")
    return edited


def to_toml(value: Value) -> str:
    """Return the value as TOML, always on one line."""
    return json.dumps(value, ensure_ascii=False)  # for these four types, JSON is valid TOML


def _statements(text: str) -> Iterator[tuple[str | None, str]]:
    """Yield the parts of the file in order, each with the name of the setting that it sets, if it sets one."""
    statement = ""
    for line in _LINES.findall(text):
        statement += line
        try:
            found: dict[str, Any] = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue  # the value goes on in the next line
        yield next(iter(found), None), statement
        statement = ""
    if statement:
        yield None, statement


def _comment_after(statement: str) -> str:
    """Return the comment at the end of a statement, with the blanks before it."""
    value = tomllib.loads(statement)
    start = -1
    while (start := statement.find("#", start + 1)) >= 0:
        with suppress(tomllib.TOMLDecodeError):
            if tomllib.loads(statement[:start]) == value:
                return "  " + statement[start:].rstrip("\r\n")
    return ""


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Let one process at a time change files of this folder."""
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def replace_file(path: Path, content: bytes, default_mode: int = FILE_MODE, forbidden: int = OTHERS) -> None:
    """Replace the file as a whole, so that a crash leaves the old or the new one. A link is followed.

    The file keeps its mode without the `forbidden` bits; a new one gets `default_mode`.
    """
    target = path.resolve()
    with suppress(FileNotFoundError):
        default_mode = stat.S_IMODE(target.stat().st_mode) & ~forbidden
    temporary = target.with_name(f".chyme-{secrets.token_hex(8)}.part")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    try:
        with open(handle, "wb") as stream:
            stream.write(content)
            os.fchmod(stream.fileno(), default_mode)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

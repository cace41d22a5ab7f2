"""Which files no model may see: those that .chymeprivate names (gitignore syntax), in the vault's folder."""

from __future__ import annotations

import hashlib
import re
import stat
import threading
import unicodedata
from pathlib import Path
from typing import Literal

import pathspec

FILE_NAME = ".chymeprivate"
LARGEST = 1 << 20  # bytes; nobody writes down a million patterns
_FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")  # one name may be spelt in either
_LINES = re.compile(r"\r\n|\r|\n")
_SHOWN = 60  # characters of a line in a message
_UNTIL = "until that is put right, every file is private"


class _Unclear(Exception):
    """Nobody can tell from this file what is private."""


class PrivateFiles:
    """Asked before every call of a model. The patterns are read again whenever their file changes."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._path = root / FILE_NAME
        self._guard = threading.Lock()
        self._seen: tuple[int, ...] | None = None
        self._specs: tuple[pathspec.GitIgnoreSpec, ...] = ()
        self._problem: str | None = None

    def __call__(self, path: str) -> bool:
        """Whether the file at this path, or a folder above it, is private. All are while nobody can tell."""
        with self._guard:
            self._look_again()
            return self._problem is not None or any(
                spec.match_file(unicodedata.normalize(form, path))
                for form, spec in zip(_FORMS, self._specs, strict=False)
            )

    @property
    def has_patterns(self) -> bool:
        """Whether there may be private files at all."""
        with self._guard:
            self._look_again()
            return self._problem is not None or any(spec.patterns for spec in self._specs)

    @property
    def patterns(self) -> int:
        """How many patterns there are, for people; none while there is a problem."""
        with self._guard:
            self._look_again()
            return len(self._specs[0].patterns) if self._specs else 0

    @property
    def problem(self) -> str | None:
        """Why nobody can tell what is private, so that every file is, and what to put right."""
        with self._guard:
            self._look_again()
            return self._problem

    @property
    def fingerprint(self) -> str:
        """What changes when other files become private."""
        problem = self.problem
        if problem is not None:
            return problem
        try:
            return hashlib.sha256(self._path.read_bytes()).hexdigest()
        except FileNotFoundError:
            return ""

    def _look_again(self) -> None:
        try:
            seen = self._stamp()
            if seen is not None and seen == self._seen:
                return
            self._specs, self._problem, self._seen = (), None, None
            if seen is not None:
                self._specs = _read(self._path)
                self._seen = seen
        except OSError as error:
            self._unclear(f"{FILE_NAME} cannot be read ({error.strerror or error}); {_UNTIL}")
        except _Unclear as error:
            self._unclear(f"{FILE_NAME} {error}; {_UNTIL}")

    def _unclear(self, problem: str) -> None:
        self._specs, self._problem, self._seen = (), problem, None

    def _stamp(self) -> tuple[int, ...] | None:
        """What changes when the file does; None when there is none."""
        try:
            found = self._path.lstat()
        except FileNotFoundError:
            self._root.stat()  # where the vault is not there, its patterns are not gone
            return None
        if stat.S_ISLNK(found.st_mode):
            found = self._path.stat()  # a link to nothing is no absence of patterns
        if not stat.S_ISREG(found.st_mode):
            raise _Unclear("is no file")
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _read(path: Path) -> tuple[pathspec.GitIgnoreSpec, ...]:
    with path.open("rb") as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise _Unclear(f"is larger than {LARGEST:,} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:  # UTF-16 has one beside every letter
        raise _Unclear("is not written in UTF-8; save it as UTF-8")
    lines: list[str] = []
    for number, line in enumerate(_LINES.split(text), 1):
        if line.strip() and not line.startswith("#"):
            _check(number, line)
            lines.append(line)
    return tuple(
        pathspec.GitIgnoreSpec.from_lines([unicodedata.normalize(form, line) for line in lines]) for form in _FORMS
    )


def _check(number: int, line: str) -> None:
    """A line that names nothing is a slip, and what it was to name would be sent."""
    try:
        names_something = all(one.include is not None for one in pathspec.GitIgnoreSpec.from_lines([line]).patterns)
    except ValueError:
        names_something = False
    if not names_something:
        raise _Unclear(f"has no pattern in line {number}, {line[:_SHOWN]!r}")

"""Decides which files no model may see: those named in .chymeprivate (gitignore syntax) in the vault's folder."""

from __future__ import annotations

import hashlib
import re
import stat
import threading
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pathspec

FILE_NAME = ".chymeprivate"
MAX_BYTES = 1 << 20  # far more than real pattern files have
_FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")  # a name may be spelled in either
_LINES = re.compile(r"\r\n|\r|\n")
_SHOWN_CHARS = 60  # of a line in a message
_ALL_PRIVATE = "until that is put right, every file is private"


class UnclearPatterns(Exception):
    """The file does not say clearly what is private."""


@dataclass(frozen=True, slots=True)
class Patterns:
    """The patterns of one text, for either way of spelling a name."""

    specs: tuple[pathspec.GitIgnoreSpec, ...] = ()

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.specs[0].patterns) if self.specs else 0

    def match(self, path: str) -> bool:
        """Whether the file at this path, or a folder above it, is private."""
        return any(
            spec.match_file(unicodedata.normalize(form, path)) for form, spec in zip(_FORMS, self.specs, strict=False)
        )


class PrivateFiles:
    """Consulted before every model call. The patterns are read again whenever their file changes."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._path = root / FILE_NAME
        self._guard = threading.Lock()
        self._read_stamp: tuple[int, ...] | None = None
        self._patterns = Patterns()
        self._problem: str | None = None

    def __call__(self, path: str) -> bool:
        """Whether the file at this path, or a folder above it, is private. All are while the patterns are unclear."""
        with self._guard:
            self._refresh()
            return self._problem is not None or self._patterns.match(path)

    @property
    def has_patterns(self) -> bool:
        """Whether there may be private files at all."""
        with self._guard:
            self._refresh()
            return self._problem is not None or self._patterns.count > 0

    @property
    def patterns(self) -> int:
        """The number of patterns, for display; 0 while there is a problem."""
        with self._guard:
            self._refresh()
            return self._patterns.count

    @property
    def problem(self) -> str | None:
        """Why the patterns are unclear, so that every file is private, and how to fix it."""
        with self._guard:
            self._refresh()
            return self._problem

    @property
    def fingerprint(self) -> str:
        """A value that changes when other files become private."""
        problem = self.problem
        if problem is not None:
            return problem
        try:
            return hashlib.sha256(self._path.read_bytes()).hexdigest()
        except FileNotFoundError:
            return ""

    def _refresh(self) -> None:
        try:
            stamp = self._stamp()
            if stamp is not None and stamp == self._read_stamp:
                return
            self._patterns, self._problem, self._read_stamp = Patterns(), None, None
            if stamp is not None:
                self._patterns = _read(self._path)
                self._read_stamp = stamp
        except OSError as error:
            self._set_problem(f"{FILE_NAME} cannot be read ({error.strerror or error}); {_ALL_PRIVATE}")
        except UnclearPatterns as error:
            self._set_problem(f"{FILE_NAME} {error}; {_ALL_PRIVATE}")

    def _set_problem(self, problem: str) -> None:
        self._patterns, self._problem, self._read_stamp = Patterns(), problem, None

    def _stamp(self) -> tuple[int, ...] | None:
        """Return a value that changes when the file does; None if there is no file."""
        try:
            status = self._path.lstat()
        except FileNotFoundError:
            self._root.stat()  # raises if the vault is missing: its patterns are not gone then
            return None
        if stat.S_ISLNK(status.st_mode):
            status = self._path.stat()  # raises for a dangling link: it does not mean that there are no patterns
        if not stat.S_ISREG(status.st_mode):
            raise UnclearPatterns("is no file")
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _read(path: Path) -> Patterns:
    with path.open("rb") as stream:
        return parse_patterns(stream.read(MAX_BYTES + 1))


def parse_patterns(data: bytes) -> Patterns:
    """Return the patterns of this content; UnclearPatterns if it does not say clearly what is private."""
    if len(data) > MAX_BYTES:
        raise UnclearPatterns(f"is larger than {MAX_BYTES:,} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:  # UTF-16 has one next to every letter
        raise UnclearPatterns("is not written in UTF-8; save it as UTF-8")
    lines: list[str] = []
    for number, line in enumerate(_LINES.split(text), 1):
        if line.strip() and not line.startswith("#"):
            _check_line(number, line)
            lines.append(line)
    return Patterns(
        tuple(
            pathspec.GitIgnoreSpec.from_lines([unicodedata.normalize(form, line) for line in lines]) for form in _FORMS
        )
    )


def _check_line(number: int, line: str) -> None:
    """Refuse a line without a pattern: it is a mistake, and the files it was meant for would be sent."""
    try:
        names_something = all(
            pattern.include is not None for pattern in pathspec.GitIgnoreSpec.from_lines([line]).patterns
        )
    except ValueError:
        names_something = False
    if not names_something:
        raise UnclearPatterns(f"has no pattern in line {number}, {line[:_SHOWN_CHARS]!r}")

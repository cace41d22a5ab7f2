"""Read from a damaged database what cannot be recreated from the files."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chyme.core.store.artifacts import path_hash
from chyme.core.store.rescue.page_reader import PageReader, Pages, Row, Value
from chyme.model import Kind, Place, Status

LARGEST_ARTIFACT = 256 << 20  # bytes; a few hundred compressed bytes can unpack to any number of zeros
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
_ARTIFACT = re.compile(r"[0-9a-f]{16}/[^/]+/.+", re.DOTALL)
_KINDS = frozenset(map(str, Kind))
_STATUSES = frozenset(map(str, Status))
_FIELDS = frozenset({"title", "date", "tags"})


@dataclass(frozen=True, slots=True)
class OldFile:
    """A file as the damaged database knew it. The hash is empty if only a digest mentions the file."""

    path: str
    hash: str = ""


@dataclass(frozen=True, slots=True)
class OldDigest:
    """An output that was captured and might not be obtainable again."""

    digester: str
    content: str | None
    content_hash: str | None
    recipe: str
    input_hash: str


@dataclass(slots=True)
class SalvagedData:
    """Everything that could be read, by the ids of the damaged database."""

    pages: Pages
    identity: str | None = None
    files: dict[int, OldFile] = field(default_factory=dict)
    edits: dict[tuple[int, str], tuple[str, str]] = field(default_factory=dict)  # (file, field) → JSON, when
    tag_rules: dict[str, tuple[str | None, str]] = field(default_factory=dict)  # name → becomes, when
    people: dict[int, Row] = field(default_factory=dict)
    voice_groups: dict[int, Row] = field(default_factory=dict)
    voices: dict[int, Row] = field(default_factory=dict)
    renames: dict[int, Row] = field(default_factory=dict)
    ai_calls: dict[int, Row] = field(default_factory=dict)
    captures: dict[tuple[int, str], OldDigest] = field(default_factory=dict)  # (file, output)
    places: dict[tuple[int, str], dict[int, Place]] = field(default_factory=dict)
    # first two parts of an artifact's name → last part → row, size, stored bytes
    artifacts: dict[str, dict[str, tuple[int, int, bytes]]] = field(default_factory=dict)

    def artifacts_of(self, path: str, output: str) -> dict[str, bytes]:
        """filename → bytes of one output's artifacts. zlib.error where one is damaged."""
        stored = self.artifacts.get(f"{path_hash(path)}/{output}", {})
        in_order = sorted(stored.items(), key=lambda item: item[1][0])
        return {name: _unpack(size, data) for name, (_, size, data) in in_order}


def salvage(path: Path, captures: frozenset[str]) -> SalvagedData:
    """Read the damaged database page by page, without changing it. `captures`: outputs worth keeping."""
    with closing(PageReader(path)) as reader:
        salvaged = SalvagedData(reader.pages)
        sorter = _RowSorter(salvaged, captures)
        for rowid, row in reader.rows():
            sorter.add_row(rowid, row)
    return salvaged


class _RowSorter:
    """Recognises a row's table by the shape of the row, because the start of a table may be damaged."""

    def __init__(self, salvaged: SalvagedData, captures: frozenset[str]) -> None:
        self._salvaged = salvaged
        self._captures = captures
        self._handlers: Mapping[tuple[bool, int], tuple[Callable[[int, Row], Any], ...]] = {
            (True, 16): (self._file,),
            (True, 17): (self._ai_call,),
            (True, 8): (self._voice,),
            (True, 5): (self._artifact, self._person, self._rename),
            (True, 4): (self._voice_group,),
            (False, 4): (self._edit,),
            (False, 3): (self._tag_rule,),
            (False, 2): (self._identity,),
            (False, 11): (self._place,),
        }

    def add_row(self, rowid: int | None, row: Row) -> None:
        if rowid is not None and len(row) >= 24:
            self._digest(row)
            return
        for handle in self._handlers.get((rowid is not None, len(row)), ()):
            handle(rowid or 0, row)

    def _file(self, rowid: int, row: Row) -> None:
        if (
            row[0] is None
            and row[5] in _KINDS
            and _are_texts(row, 1, 2, 3, 6, 9, 10, 11)
            and _are_timestamps(row, 14, 15)
        ):
            self._salvaged.files[rowid] = OldFile(str(row[1]), str(row[11]))

    def _digest(self, row: Row) -> None:
        file_id, path, name = row[1], row[2], row[3]
        if (
            row[4] not in _STATUSES
            or not isinstance(file_id, int)
            or not (_are_texts(row, 0, 2, 3) and _are_timestamps(row, 22))
        ):
            return
        self._salvaged.files.setdefault(file_id, OldFile(str(path)))
        captured = row[18] is not None or row[4] == Status.COMPLETED
        if name in self._captures and captured and _are_texts(row, 16, 17) and _are_texts_or_none(row, 5, 18):
            self._salvaged.captures[file_id, str(name)] = OldDigest(
                str(name), _as_text(row[5]), _as_text(row[18]), str(row[16]), str(row[17])
            )

    def _artifact(self, rowid: int, row: Row) -> None:
        name, size, data = row[0], row[3], row[4]
        if not isinstance(name, str) or not _ARTIFACT.fullmatch(name) or not isinstance(size, int):
            return
        file_hash, output, filename = name.split("/", 2)
        if isinstance(data, bytes) and output in self._captures:
            self._salvaged.artifacts.setdefault(f"{file_hash}/{output}", {})[filename] = (rowid, size, data)

    def _person(self, rowid: int, row: Row) -> None:
        if row[0] is None and _are_texts_or_none(row, 1, 2) and _are_timestamps(row, 3, 4):
            self._salvaged.people[rowid] = row

    def _rename(self, rowid: int, row: Row) -> None:
        fits = row[0] is None and _are_timestamps(row, 1) and isinstance(row[2], int) and _are_texts(row, 3, 4)
        if fits and not _is_json(row[4]):  # otherwise it is the undo data of an edit
            self._salvaged.renames[rowid] = row

    def _voice_group(self, rowid: int, row: Row) -> None:
        if row[0] is None and isinstance(row[1], int) and _are_texts(row, 2) and _is_vector(row[3]):
            self._salvaged.voice_groups[rowid] = row

    def _voice(self, rowid: int, row: Row) -> None:
        has_numbers = isinstance(row[1], int) and isinstance(row[3], int) and isinstance(row[4], int | float)
        if row[0] is None and has_numbers and _are_texts(row, 2, 5) and _is_vector(row[6]) and row[7] in (0, 1):
            self._salvaged.voices[rowid] = row

    def _ai_call(self, rowid: int, row: Row) -> None:
        if row[0] is None and _are_timestamps(row, 1) and _are_texts(row, 2, 3, 4, 5, 7, 8, 9):
            self._salvaged.ai_calls[rowid] = row

    def _edit(self, _rowid: int, row: Row) -> None:
        file_id, name, value = row[0], row[1], row[2]
        fits = name in _FIELDS and isinstance(value, str) and _are_timestamps(row, 3) and _is_json(value)
        if fits and isinstance(file_id, int):
            self._salvaged.edits[file_id, str(name)] = (str(value), str(row[3]))

    def _tag_rule(self, _rowid: int, row: Row) -> None:
        if _are_texts(row, 0) and row[0] and _are_texts_or_none(row, 1) and _are_timestamps(row, 2):
            self._salvaged.tag_rules[str(row[0])] = (_as_text(row[1]), str(row[2]))

    def _identity(self, _rowid: int, row: Row) -> None:
        if row[0] == "identity" and _are_texts(row, 1) and re.fullmatch(r"[0-9a-f]{32}", str(row[1])):
            self._salvaged.identity = str(row[1])

    def _place(self, _rowid: int, row: Row) -> None:
        file_id, name, ordinal, start, end, page, heading, seconds, until, speaker, box = row
        if name not in self._captures or not isinstance(file_id, int) or not isinstance(ordinal, int):
            return
        try:
            edges = tuple(json.loads(str(box))) if box is not None else None
            place: Any = (start, end, page, heading, seconds, until, speaker, edges)
            self._salvaged.places.setdefault((file_id, str(name)), {})[ordinal] = Place(*place)
        except (ValueError, TypeError, RecursionError):
            return


def _unpack(size: int, data: bytes) -> bytes:
    """An artifact as it was. zlib.error where its length differs, or is much larger than any artifact."""
    if len(data) == size:
        return data
    if not 0 <= size <= LARGEST_ARTIFACT:
        raise zlib.error
    unpacked = zlib.decompressobj().decompress(data, size + 1)
    if len(unpacked) != size:
        raise zlib.error
    return unpacked


def _are_texts(row: Row, *columns: int) -> bool:
    return all(isinstance(row[column], str) for column in columns)


def _are_texts_or_none(row: Row, *columns: int) -> bool:
    return all(row[column] is None or isinstance(row[column], str) for column in columns)


def _as_text(value: Value) -> str | None:
    return value if isinstance(value, str) else None


def _are_timestamps(row: Row, *columns: int) -> bool:
    return all(isinstance(row[column], str) and _TIMESTAMP.match(str(row[column])) for column in columns)


def _is_vector(value: Value) -> bool:
    return isinstance(value, bytes) and len(value) > 0 and len(value) % 4 == 0


def _is_json(value: Value) -> bool:
    try:
        json.loads(str(value))
    except (ValueError, RecursionError):
        return False
    return True

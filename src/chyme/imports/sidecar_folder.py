"""Reads a folder or zip of files with sidecars, such as a Google Takeout or what a photo program left."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from itertools import groupby

from chyme.errors import UsageError
from chyme.imports.entries import Entry, Problem, Values
from chyme.imports.export_files import ExportFiles
from chyme.imports.sidecars import MAX_BYTES, is_takeout, read_sidecar
from chyme.vault.file_names import MAX_DEPTH, safe_folder_name

TAKEOUT_SUFFIX = ".supplemental-metadata"
TAKEOUT_LENGTH = 46  # characters of a sidecar's name before .json, as Google Photos cuts it
_NUMBERED = re.compile(r"(.+)(\(\d{1,4}\))(\.[^.]+)")
_EDITED = re.compile(r"-(?:edited|bearbeitet|modifié|editado|modificato)(?=(?:\(\d{1,4}\))?\.[^.]+$)")


def read_sidecar_folder(files: ExportFiles) -> Iterator[Entry | Problem]:
    """Yield every file with what its sidecars say. Sidecars themselves are not imported."""
    for folder, names in groupby(sorted(files.names(), key=_sort_key), lambda name: name.rpartition("/")[0]):
        yield from _read_folder(files, folder, [name.rpartition("/")[2] for name in names])


def _sort_key(name: str) -> tuple[str, str]:
    folder, _, last = name.rpartition("/")
    return folder, last


def _read_folder(files: ExportFiles, folder: str, names: list[str]) -> Iterator[Entry | Problem]:
    by_lower = {name.lower(): name for name in names}
    sidecars = {name: _sidecars_of(name, by_lower) for name in names}
    used = {sidecar for found in sidecars.values() for sidecar in found}
    prefix = f"{folder}/" if folder else ""
    parts = tuple(safe_folder_name(part) for part in folder.split("/") if part not in ("", ".", ".."))[:MAX_DEPTH]
    for name in names:
        if name in used:
            continue
        path = prefix + name
        if _is_lost_sidecar(files, path):
            yield Problem(path, "is about a photo that is not in the export", left_out=True)
            continue
        values = Values()
        for sidecar in sidecars[name]:
            try:
                values = _join(values, _read(files, prefix + sidecar, name))
            except UsageError as error:
                yield Problem(prefix + sidecar, f"{error}; {name} itself is imported")
        yield Entry(path, path, name, partial(files.open, path), values, parts, modified=files.modified(path))


def _sidecars_of(name: str, names: dict[str, str]) -> list[str]:
    """The sidecars of a file among the names of its folder, the richest first."""
    lower = name.lower()
    stem, dot, extension = lower.rpartition(".")
    if not dot or not stem or extension in ("json", "xmp"):
        return []
    candidates = [f"{lower}.xmp", f"{stem}.xmp", f"{lower}.json", *_takeout_names(lower)]
    if extension not in ("md", "yaml", "yml"):
        candidates += [f"{lower}{end}" for end in (".meta.yaml", ".meta.yml", ".yaml", ".yml", ".md")]
    return [names[found] for found in dict.fromkeys(candidates) if found in names]


def _takeout_names(name: str) -> Iterator[str]:
    """Google cuts long names, puts the number of equal names last, and gives edited photos no sidecar of their own."""
    for whole in dict.fromkeys((name, _EDITED.sub("", name))):
        numbered = _NUMBERED.fullmatch(whole)
        base, number = (numbered[1] + numbered[3], numbered[2]) if numbered else (whole, "")
        yield f"{(base + TAKEOUT_SUFFIX)[:TAKEOUT_LENGTH]}{number}.json"
        yield f"{base[:TAKEOUT_LENGTH]}{number}.json"


def _is_lost_sidecar(files: ExportFiles, path: str) -> bool:
    if not path.lower().endswith(".json"):
        return False
    try:
        with files.open(path) as stream:
            return is_takeout(stream.read(64 * 1024))
    except UsageError:
        return False


def _read(files: ExportFiles, path: str, file_name: str) -> Values:
    with files.open(path) as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UsageError(f"has more than {MAX_BYTES // 1024**2} MB, which no sidecar needs")
    return read_sidecar(path, data, file_name)


def _join(first: Values, second: Values) -> Values:
    """What the first sidecar says counts; the second adds to it."""
    known: Collection[str] = first.tags
    return replace(
        first,
        title=first.title or second.title,
        date=first.date or second.date,
        tags=(*first.tags, *(tag for tag in second.tags if tag not in known)),
        properties={**second.properties, **first.properties},
    )

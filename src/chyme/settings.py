"""Every setting, with its default and one line about it. Read once at the edge; nothing below looks at it."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from chyme.errors import UsageError

FILE_NAME = "settings.toml"
PREFIX = "CHYME_"


def _setting(default: Any, told: str) -> Any:
    return field(default=default, metadata={"told": told})


@dataclass(frozen=True)
class Settings:
    """What a person may change: in .chyme/settings.toml, or as CHYME_… in the environment, which wins."""

    state_dir: str = _setting("", "Where the database lives; empty means .chyme in the vault. Must be a local disk.")
    host: str = _setting("127.0.0.1", "The address `serve` listens on. Only loopback addresses are allowed.")
    port: int = _setting(8765, "The port `serve` listens on.")
    concurrency: int = _setting(10, "How many files are in flight at once.")
    parser_children: int = _setting(0, "How many child processes parse documents; 0 means one per core.")
    text_children: int = _setting(0, "How many child processes cut and index text; 0 means one per core.")
    picture_children: int = _setting(0, "How many child processes look at pictures; 0 means one per core.")
    page_children: int = _setting(0, "How many child processes draw first pages; 0 means one per core.")
    media_children: int = _setting(0, "How many child processes listen to recordings and videos; 0 means one per core.")
    parser_memory_mb: int = _setting(2048, "Memory one parser task may use.")
    text_memory_mb: int = _setting(1024, "Memory one text task may use.")
    picture_memory_mb: int = _setting(3072, "Memory one picture task may use.")
    page_memory_mb: int = _setting(2048, "Memory drawing one first page may use.")
    media_memory_mb: int = _setting(1024, "Memory one task on a recording or video may use.")
    child_idle_seconds: float = _setting(60.0, "A child with nothing to do ends after this long.")
    child_uid: int = _setting(65534, "The user children run as when chyme is run by root.")
    scratch_mb: int = _setting(1024, "How much one task may write to its scratch folder.")
    answer_mb: int = _setting(256, "How much one task may answer with.")
    document_seconds: float = _setting(600.0, "How long reading one document may take.")
    document_bytes: int = _setting(500 * 1024 * 1024, "Documents larger than this are not read.")
    archive_ratio: int = _setting(100, "An office file or book may unpack to this many times its size.")
    archive_entries: int = _setting(10_000, "An office file or book may hold this many parts.")
    nesting: int = _setting(100, "How deep elements of a document may stand inside each other.")
    pdf_pages: int = _setting(2_000, "How many pages of a PDF are read; more are noted, not read.")
    html_bytes: int = _setting(50 * 1024 * 1024, "Web pages larger than this are not read.")
    text_chars: int = _setting(10_000_000, "How much text of one document is kept; more is noted, not kept.")
    index_text_mb: int = _setting(5, "How much text of one file is indexed; more is noted, not indexed.")
    rescan_seconds: float = _setting(3600.0, "How often `serve` looks through the whole vault again.")
    purge_after_days: float = _setting(30.0, "Vanished files are forgotten after this long.")
    max_attempts: int = _setting(3, "How often a digest is tried before it counts as failed.")

    def __post_init__(self) -> None:
        for name in ("concurrency", "parser_memory_mb", "text_memory_mb", "max_attempts", "scratch_mb", "pdf_pages"):
            if getattr(self, name) < 1:
                raise UsageError(f"setting {name} must be at least 1, not {getattr(self, name)}")

    @property
    def cores(self) -> int:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def read_settings(folder: Path, environment: Mapping[str, str]) -> Settings:
    """Defaults, overridden by settings.toml in the vault's .chyme, overridden by the environment."""
    path = folder / FILE_NAME
    known = {entry.name: entry for entry in fields(Settings)}
    values: dict[str, Any] = {}
    if path.is_file():
        try:
            values.update(tomllib.loads(path.read_text(encoding="utf-8")))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{path}: is not valid TOML: {error}") from error
    for name in values:
        if name not in known:
            raise UsageError(f"{path}: there is no setting called {name!r}; docs/settings.md lists them all")
    for name in known:
        if (PREFIX + name.upper()) in environment:
            values[name] = environment[PREFIX + name.upper()]
    return Settings(**{name: _converted(name, known[name].default, value) for name, value in values.items()})


def _converted(name: str, default: Any, value: Any) -> Any:
    kind = type(default)
    try:
        if kind is bool:
            return value if isinstance(value, bool) else _YES_OR_NO[str(value).strip().lower()]
        if isinstance(value, bool) or ((kind is str) != isinstance(value, str) and not isinstance(value, str)):
            raise ValueError
        return kind(value)
    except (ValueError, KeyError):
        raise UsageError(f"setting {name} must be {_WORDS[kind]}, not {value!r}") from None


_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
_YES_OR_NO = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}

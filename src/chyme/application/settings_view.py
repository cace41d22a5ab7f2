"""Settings as people may see them: by topic, with where each value comes from; secrets are never told."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from chyme.application.settings import FILE_NAME, PREFIX, Settings, read_settings
from chyme.errors import UsageError

SECRET_PLACEHOLDER = "…"
DEFAULT, IN_FILE, IN_ENVIRONMENT, AT_START = "default", FILE_NAME, "environment", "start"
SECRET = ("_key", "_password", "_token", "_secret")

# The first topic fits whose word the name is, or begins with.
TOPICS = (
    (
        "Server",
        (
            *("host", "hosts", "port", "server", "state_dir", "session", "login", "trusted_proxies", "upload"),
            *("metrics", "connections", "head_seconds", "stall_seconds"),
        ),
    ),
    ("Digestion", ("concurrency", "max_attempts", "rescan_seconds", "purge", "trash", "model_calls", "log")),
    ("Search", ("search", "index", "meaning", "meilisearch", "qdrant")),
    ("Embeddings", ("embedding",)),
    ("Language model", ("llm",)),
    ("Local language model", ("local",)),
    ("Model that sees", ("vision", "heic")),
    ("Speech and voices", ("speech", "voice")),
    ("Recordings and videos", ("media", "video")),
    ("Web pages", ("crawl", "web", "browser", "html")),
    ("Words in pictures", ("ocr",)),
    ("Pictures", ("image", "picture", "preview", "thumbnail", "object", "tell_place")),
    ("Documents", ("document", "archive", "nesting", "pdf", "text", "page", "office", "parser")),
    ("Child processes", ("child", "scratch", "answer", "weights")),
)
REST = "More"
_DEFAULTS = Settings()

Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class SettingView:
    """One setting. A secret has no value: only whether there is one."""

    name: str
    topic: str
    told: str
    value: Value | None
    default: Value
    source: str  # default, settings.toml, environment; or start: given by whoever started chyme
    secret: bool
    given: bool  # whether it is other than the default
    after_restart: Value | None  # where settings.toml and the environment say something else by now
    line: str  # for settings.toml


@dataclass(frozen=True, slots=True)
class SettingsView:
    """All settings, in the order of their topics, and what is wrong with settings.toml by now."""

    file: str
    settings: tuple[SettingView, ...]
    problem: str | None


def view_settings(now: Settings, folder: Path, environment: Mapping[str, str]) -> SettingsView:
    """What a running chyme works with. `folder` holds settings.toml."""
    in_file, problem, later = _read(folder, environment)
    found = [
        _shown(entry.name, entry.metadata["told"], now, getattr(_DEFAULTS, entry.name), in_file, environment, later)
        for entry in fields(Settings)
    ]
    order = [topic for topic, _ in TOPICS]
    found.sort(key=lambda one: order.index(one.topic) if one.topic in order else len(order))
    return SettingsView(str(folder / FILE_NAME), tuple(found), problem)


def is_secret(name: str) -> bool:
    return name.endswith(SECRET)


def without_secrets_of(settings: Settings, text: str) -> str:
    """A sentence in which no secret stands, and no password of an address."""
    for entry in fields(Settings):
        value = getattr(settings, entry.name)
        if is_secret(entry.name) and value:
            text = text.replace(value, SECRET_PLACEHOLDER)
        elif isinstance(value, str) and "://" in value:
            text = text.replace(value, without_password(value))
    return text


def without_password(address: str) -> str:
    """An address without who signs in there, nor anything behind a question mark."""
    try:
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return SECRET_PLACEHOLDER
    netloc = f"{SECRET_PLACEHOLDER}@{host}" if "@" in parts.netloc else host
    return urlunsplit(
        (
            parts.scheme,
            netloc,
            parts.path,
            SECRET_PLACEHOLDER if parts.query else "",
            SECRET_PLACEHOLDER if parts.fragment else "",
        )
    )


def _read(folder: Path, environment: Mapping[str, str]) -> tuple[frozenset[str], str | None, Settings | None]:
    """What settings.toml names, what is wrong with it, and what would be read from it now."""
    path = folder / FILE_NAME
    try:
        named = frozenset(tomllib.loads(path.read_text(encoding="utf-8"))) if path.is_file() else frozenset[str]()
        return named, None, read_settings(folder, environment)
    except (UsageError, ValueError, OSError):  # its words may hold a secret that was written in the wrong place
        wrong = f"{path} cannot be read as it is now, and chyme would not start again; 'chyme doctor' says why"
        return frozenset(), wrong, None


def _shown(
    name: str,
    told: str,
    now: Settings,
    default: Value,
    in_file: frozenset[str],
    environment: Mapping[str, str],
    later: Settings | None,
) -> SettingView:
    value, secret = getattr(now, name), is_secret(name)
    source = DEFAULT if value == default else AT_START
    if later is not None and getattr(later, name) == value:
        source = IN_ENVIRONMENT if PREFIX + name.upper() in environment else IN_FILE if name in in_file else source
    coming = getattr(later, name) if later is not None else value
    return SettingView(
        *(name, _topic(name), told, None if secret else _safe(value), default, source, secret),
        given=value != default,
        after_restart=_safe(coming) if coming != value and not secret else None,
        line=f'{name} = "…"' if secret else f"{name} = {_toml(_safe(value))}",
    )


def _topic(name: str) -> str:
    for topic, words in TOPICS:
        if any(name == word or name.startswith(f"{word}_") for word in words):
            return topic
    return REST


def _safe(value: Any) -> Any:
    return without_password(value) if isinstance(value, str) and "://" in value else value


def _toml(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False)  # of these four kinds, JSON is TOML

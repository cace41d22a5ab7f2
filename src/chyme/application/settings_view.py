"""Settings for display: by topic, with the source of each value; secrets are never shown."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from chyme.application.settings import FILE_NAME, PREFIX, Settings, effects, read_settings
from chyme.application.settings_file import Value, etag_of, read_content, to_toml
from chyme.errors import UsageError

SECRET_PLACEHOLDER = "…"
DEFAULT, IN_FILE, IN_ENVIRONMENT, AT_START = "default", FILE_NAME, "environment", "start"
SECRET = ("_key", "_password", "_token", "_secret")

# A setting belongs to the first topic with a word that its name equals or begins with.
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
    ("Mailbox", ("imap",)),
    ("Web pages", ("crawl", "web", "browser", "html")),
    ("Words in pictures", ("ocr",)),
    ("Pictures", ("image", "picture", "preview", "thumbnail", "object", "tell_place")),
    ("Documents", ("document", "archive", "nesting", "pdf", "text", "page", "office", "parser")),
    ("Child processes", ("child", "scratch", "answer", "weights")),
)
REST = "More"


@dataclass(frozen=True, slots=True)
class SettingView:
    """One setting. The value of a secret is not included, only whether it is set."""

    name: str
    topic: str
    description: str
    value: Value | None
    default: Value
    source: str  # default, settings.toml, environment; or start: passed in when chyme was started
    secret: bool
    given: bool  # whether it differs from the default
    after_restart: Value | None  # if settings.toml or the environment have changed meanwhile
    line: str  # for settings.toml
    effect: str | None  # when it takes effect if it is set from the page; None: it stays in the file
    locked: str | None  # why it cannot be set from the page


@dataclass(frozen=True, slots=True)
class SettingsView:
    """All settings in the order of their topics, and what is wrong with settings.toml, if anything."""

    file: str
    settings: tuple[SettingView, ...]
    problem: str | None
    etag: str  # changes when settings.toml does


def view_settings(current: Settings, folder: Path, environment: Mapping[str, str]) -> SettingsView:
    """Return the settings that a running chyme uses. `folder` contains settings.toml."""
    in_file, problem, later = _read_again(folder, environment)
    settings = [_make_view(setting, current, in_file, environment, later) for setting in fields(Settings)]
    order = [topic for topic, _ in TOPICS]
    settings.sort(key=lambda setting: order.index(setting.topic) if setting.topic in order else len(order))
    etag = etag_of(read_content(folder / FILE_NAME))
    return SettingsView(str(folder / FILE_NAME), tuple(settings), problem, etag)


def why_locked(name: str, environment: Mapping[str, str]) -> str | None:
    """Return why a setting cannot be set from the page; None if it can."""
    if effects().get(name) is None:
        return f"stays in {FILE_NAME}, because it concerns programs, folders or limits of this machine"
    if PREFIX + name.upper() in environment:
        return f"{PREFIX}{name.upper()} in the environment sets it, and wins over {FILE_NAME}"
    return None


def is_secret(name: str) -> bool:
    return name.endswith(SECRET)


def without_secrets_of(settings: Settings, text: str) -> str:
    """Replace secrets, and passwords in addresses, in a text."""
    for entry in fields(Settings):
        value = getattr(settings, entry.name)
        if is_secret(entry.name) and value:
            text = text.replace(value, SECRET_PLACEHOLDER)
        elif isinstance(value, str) and "://" in value:
            text = text.replace(value, without_password(value))
    return text


def without_password(address: str) -> str:
    """Return an address without user name, password, query and fragment."""
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


def _read_again(folder: Path, environment: Mapping[str, str]) -> tuple[frozenset[str], str | None, Settings | None]:
    """Return the names in settings.toml, what is wrong with it, and the settings it gives now."""
    path = folder / FILE_NAME
    try:
        named = frozenset(tomllib.loads(path.read_text(encoding="utf-8"))) if path.is_file() else frozenset[str]()
        return named, None, read_settings(folder, environment)
    except (UsageError, ValueError, OSError):  # the message is not shown: it may contain a misplaced secret
        problem = f"{path} cannot be read as it is now, and chyme would not start again; 'chyme doctor' says why"
        return frozenset(), problem, None


def _make_view(
    setting: Field[Any],
    current: Settings,
    in_file: frozenset[str],
    environment: Mapping[str, str],
    later: Settings | None,
) -> SettingView:
    name: str = setting.name
    default: Any = setting.default
    value, secret = getattr(current, name), is_secret(name)
    source = DEFAULT if value == default else AT_START
    if later is not None and getattr(later, name) == value:
        source = IN_ENVIRONMENT if PREFIX + name.upper() in environment else IN_FILE if name in in_file else source
    later_value = getattr(later, name) if later is not None else value
    return SettingView(
        *(
            name,
            _topic(name),
            setting.metadata["description"],
            None if secret else _hide_password(value),
            default,
            source,
            secret,
        ),
        given=value != default,
        after_restart=_hide_password(later_value) if later_value != value and not secret else None,
        line=f'{name} = "…"' if secret else f"{name} = {to_toml(_hide_password(value))}",
        effect=setting.metadata["effect"],
        locked=why_locked(name, environment),
    )


def _topic(name: str) -> str:
    for topic, words in TOPICS:
        if any(name == word or name.startswith(f"{word}_") for word in words):
            return topic
    return REST


def _hide_password(value: Any) -> Any:
    return without_password(value) if isinstance(value, str) and "://" in value else value

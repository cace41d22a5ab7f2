"""Changes settings that may be set from the page: checked, stored in settings.toml, used at once where possible."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from chyme.application.digester_config import allowances_of, config_of, endpoints_of, providers_of
from chyme.application.settings import FILE_NAME, PREFIX, Effect, Settings, convert, effects, parse_settings
from chyme.application.settings_file import Value, edit, etag_of, lock, read_content, replace_file
from chyme.application.settings_view import SECRET_PLACEHOLDER, is_secret, why_locked
from chyme.core.files.permissions import make_private_folder
from chyme.errors import ChymeError, UsageError
from chyme.models.providers.endpoints import ADDRESSES
from chyme.models.providers.structured_request import check_endpoint

LONGEST_TEXT = 2000
MODELS = ("llm", "vision", "speech", "embedding")
Changes = Mapping[str, Value | None]  # name → value; None: the setting is removed from the file


class RefusedSettings(UsageError):
    """Nothing was stored. `problems` says why for each setting; for several together under an empty name."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {text}" if name else text for name, text in problems.items()))
        self.problems = dict(problems)


class SettingsConflict(UsageError):
    """Somebody else changed the file meanwhile."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What a change did."""

    at_once: tuple[str, ...]
    after_restart: tuple[str, ...]


class SettingsEditor:
    """Changes settings.toml in `folder`. `adopt` makes chyme use other settings from now on."""

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        current: Callable[[], Settings],
        adopt: Callable[[Settings], None],
    ) -> None:
        self._path = folder / FILE_NAME
        self._environment = environment
        self._current = current
        self._adopt = adopt
        self._lock = threading.Lock()
        self._seen = self._read()  # what the file gave when it was last read

    def etag(self) -> str:
        """Return what changes when settings.toml does."""
        return etag_of(read_content(self._path))

    def locked(self, name: str) -> str | None:
        """Return why a setting cannot be set from the page; None if it can."""
        return why_locked(name, self._environment)

    def check(self, changes: Changes, content: bytes | None = None) -> Settings:
        """Return the settings there would be; RefusedSettings if chyme would not start, or not work, with them."""
        content = read_content(self._path) if content is None else content
        try:
            before = parse_settings(self._path, content, self._environment)
        except UsageError:  # its message is not shown: it may contain a misplaced secret
            raise UsageError(f"{self._path} is not valid now; correct it by hand first; 'chyme doctor' helps") from None
        values = self._check_values(changes)
        self._check_stored_keys(before, values)
        try:
            after = parse_settings(self._path, edit(content, values), self._environment)
            config_of(after)
            allowances_of(after)
            providers_of(after)
            for prefix, endpoint in endpoints_of(after).items():
                if any(name.startswith(f"{prefix}_") for name in values):
                    check_endpoint(endpoint, prefix)
        except ChymeError as error:
            text = str(error)
            name = next((name for name in sorted(values, key=len, reverse=True) if name in text), "")
            raise RefusedSettings({name: text}) from None
        return after

    def store(self, changes: Changes, etag: str | None = None) -> Stored:
        """Check and store changes, and use what can be used at once.

        With `etag`, SettingsConflict if the file is another one than that. Nothing is stored if anything is refused.
        """
        make_private_folder(self._path.parent)
        with self._lock, lock(self._path.parent):
            content = read_content(self._path)
            if etag is not None and etag != etag_of(content):
                raise SettingsConflict(f"{FILE_NAME} was changed meanwhile; reload to see how, and try again")
            self.check(changes, content)
            replace_file(self._path, edit(content, self._check_values(changes)))
            applied = self._apply()
        named = [name for name in effects() if name in changes]
        return Stored(
            tuple(name for name in named if name in applied or effects()[name] is Effect.AT_ONCE),
            tuple(name for name in named if effects()[name] is Effect.AFTER_RESTART),
        )

    def reload(self) -> tuple[str, ...]:
        """Use at once what was changed in the file since it was last read. Return the names."""
        with self._lock, lock(self._path.parent):
            return self._apply()

    def _apply(self) -> tuple[str, ...]:
        later, seen = self._read(), self._seen
        if later is None:
            raise UsageError(f"{self._path} cannot be read as it is now; 'chyme doctor' says why")
        at_once = [name for name, effect in effects().items() if effect is Effect.AT_ONCE]
        before = seen or self._current()
        changed = {name: getattr(later, name) for name in at_once if getattr(later, name) != getattr(before, name)}
        self._seen = later
        if changed:
            self._adopt(replace(self._current(), **changed))
        return tuple(changed)

    def _read(self) -> Settings | None:
        try:
            return parse_settings(self._path, read_content(self._path), self._environment)
        except (ChymeError, OSError):
            return None

    def _check_values(self, changes: Changes) -> dict[str, Value | None]:
        values: dict[str, Value | None] = {}
        problems: dict[str, str] = {}
        for name, value in changes.items():
            if name not in effects():
                problems[name[:100]] = "there is no setting of this name"
                continue
            reason = self.locked(name)
            try:
                values[name] = None if value is None else convert(name, value)
            except UsageError as error:
                reason = reason or ("is not of the right type" if is_secret(name) else str(error))
            converted = values.get(name)
            if reason is None and isinstance(converted, str):
                reason = _problem_of_text(name, converted)
            elif reason is None and isinstance(converted, float) and not math.isfinite(converted):
                reason = "must be a finite number"
            if reason is not None:
                problems[name] = reason
        if problems:
            raise RefusedSettings(problems)
        return values

    def _check_stored_keys(self, before: Settings, values: Mapping[str, Value | None]) -> None:
        """A stored key goes only to the host it was entered for: else it could be sent anywhere, and so be read."""
        problems = {}
        for prefix in MODELS:
            provider, url, key = f"{prefix}_provider", f"{prefix}_url", f"{prefix}_key"
            if key in values or not getattr(before, key):
                continue
            old = _origin(getattr(before, provider, ""), getattr(before, url))
            fallback = Settings()
            now = {
                name: getattr(fallback, name) if values[name] is None else values[name]
                for name in (provider, url)
                if name in values
            }
            new = _origin(
                str(now.get(provider, getattr(before, provider, ""))), str(now.get(url, getattr(before, url)))
            )
            if new != old and PREFIX + key.upper() in self._environment:
                problems[key] = f"{PREFIX}{key.upper()} in the environment is for another address; change both there"
            elif new != old:
                problems[key] = "enter the key again, or remove it: the stored one is for another address"
        if problems:
            raise RefusedSettings(problems)


def _problem_of_text(name: str, text: str) -> str | None:
    if len(text) > LONGEST_TEXT:
        return f"is longer than {LONGEST_TEXT:,} characters"
    if not text.isprintable():
        return "contains line breaks or other characters that cannot be shown"
    if is_secret(name) and text == SECRET_PLACEHOLDER:
        return "is the sign that stands for a stored key; enter the key itself"
    return None


def _origin(provider: str, url: str) -> tuple[str, str, int | None]:
    """Return where requests go."""
    try:
        parts = urlsplit(url or ADDRESSES.get(provider, ""))
        return (
            parts.scheme.lower(),
            (parts.hostname or "").lower(),
            parts.port or {"http": 80, "https": 443}.get(parts.scheme),
        )
    except ValueError:
        return url, "", None

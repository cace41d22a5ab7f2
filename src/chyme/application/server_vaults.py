"""The vaults of one server, and their shared authentication."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import threading
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chyme.accounts.authentication import Authenticator
from chyme.application.app import App, open_app
from chyme.application.settings import Settings, read_settings, server_folder
from chyme.core.clock import now
from chyme.core.files.vault_folder import STATE, Vault
from chyme.core.store import vault_properties
from chyme.errors import ChymeError, DatabaseDamaged, UsageError, VaultError, VaultGone
from chyme.vault.watch.pending_files import ScanStopped

IDENTITY = "identity"  # identifies a vault in access rights, wherever its folder is moved
DEFAULT_NAME = "vault"

Notify = Callable[[str], None]


@dataclass(frozen=True)
class ServerVaults:
    """Open vaults. Each has its own App, database and index, so that two cannot be confused."""

    vaults: dict[str, App]  # by their name in URLs
    identities: dict[str, str]  # by the same name
    authenticator: Authenticator
    settings: Settings  # of the server, taken from its first vault
    closed: dict[str, str] = field(default_factory=dict)  # vaults that cannot be opened, by name, and why
    scans: list[threading.Thread] = field(default_factory=list)

    def vault_named(self, name: str) -> tuple[str, str]:
        """Return identity and name of a vault, as rights refer to it."""
        if name not in self.identities:
            raise UsageError(f"there is no vault called {name[:100]!r}")
        return self.identities[name], name

    def preload(self) -> None:
        """Load the models that read questions while the rest of the server starts: the first search needs them."""
        for app in self.vaults.values():
            with contextlib.suppress(ChymeError, sqlite3.Error):  # damage is reported by `start`
                app.search_index.preload_embedder()

    def start(self, notify: Notify) -> None:
        """Begin to digest in every vault. First scans run in the background."""
        for name, app in self.vaults.items():
            try:
                app.start(follow=True)
            except DatabaseDamaged:  # logged, and shown on its pages; the others are served as usual
                continue
            scan = threading.Thread(
                target=_run_first_scan, args=(app, notify), name=f"chyme-first-scan-{name}", daemon=True
            )
            self.scans.append(scan)
            scan.start()

    def notice_engines(self) -> None:
        """Make what waited for engines that have just appeared, in every vault."""
        for app in self.vaults.values():
            with contextlib.suppress(ChymeError, sqlite3.Error):  # damage is reported where vaults are digested
                app.notice_engines()

    def end_scans(self) -> None:
        """Stop running first scans early: they must not read a database that is being closed."""
        with contextlib.ExitStack() as stack:
            for app in self.vaults.values():
                stack.enter_context(app.scanner.interrupt())
            for scan in self.scans:
                scan.join()


@contextlib.contextmanager
def open_server_vaults(roots: Sequence[Path], settings: Settings | None = None) -> Iterator[ServerVaults]:
    """Open several vaults, and close them afterwards."""
    with contextlib.ExitStack() as stack:
        vaults: dict[str, App] = {}
        closed: dict[str, str] = {}
        for root in roots:
            try:
                app = stack.enter_context(_open_identified(root, settings))
            except DatabaseDamaged as error:
                if len(roots) == 1:
                    raise
                closed[address_name(root.resolve().name, [*vaults, *closed])] = str(error)
                continue
            _refuse_duplicate(vaults, app)
            vaults[address_name(app.vault.root.name, [*vaults, *closed])] = app
        if not vaults:
            raise DatabaseDamaged("; ".join(closed.values()))
        first = next(iter(vaults.values())).settings
        authenticator = stack.enter_context(contextlib.closing(Authenticator(server_folder(first), now)))
        with authenticator.explain_damage():
            _ = authenticator.login_required  # a server that cannot check access must not start
        server_vaults = ServerVaults(
            vaults, {name: identity_of(app) for name, app in vaults.items()}, authenticator, first, closed=closed
        )
        stack.callback(server_vaults.end_scans)
        yield server_vaults


@contextlib.contextmanager
def _open_identified(root: Path, settings: Settings | None) -> Iterator[App]:
    """Open a vault, and check that its identity can be read."""
    with open_app(root, settings, create=True) as app:
        identity_of(app)
        yield app


@contextlib.contextmanager
def open_accounts(root: Path) -> Iterator[Authenticator]:
    """Open the accounts of the server that would serve this vault."""
    settings = read_settings(Vault(root).root / STATE, os.environ)
    with (
        contextlib.closing(Authenticator(server_folder(settings), now)) as authenticator,
        authenticator.explain_damage(),
    ):
        yield authenticator


def identity_of(app: App) -> str:
    """Return the identity of an open vault, to which access rights refer."""
    found = vault_properties.value_of(app.database.read(), IDENTITY)
    if not found:
        raise VaultError(f"{app.vault.root}: its database has no identity; 'chyme verify' shows what is wrong with it")
    return found


def address_name(folder: str, taken: Collection[str] = ()) -> str:
    """Return a folder's name as part of a URL, with a number if another vault has it already."""
    plain = unicodedata.normalize("NFKD", folder).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip(".-_") or DEFAULT_NAME
    number = 2
    unique = name
    while unique in taken:
        unique, number = f"{name}-{number}", number + 1
    return unique


def _refuse_duplicate(vaults: dict[str, App], app: App) -> None:
    for other in vaults.values():
        if other.vault.root == app.vault.root:
            raise VaultError(f"{app.vault.root}: is named twice; name each vault once")
        if identity_of(other) == identity_of(app):
            raise VaultError(
                f"{app.vault.root} is a copy of {other.vault.root}, and rights could not tell them apart; "
                "serve only one of them"
            )


def _run_first_scan(app: App, notify: Notify) -> None:
    try:
        app.scan()
    except ScanStopped:
        return
    except (ChymeError, sqlite3.Error) as error:
        reason = app.database.explain(error)
        if not isinstance(reason, DatabaseDamaged | VaultGone):  # logged and shown elsewhere
            notify(f"{app.vault.root} could not be scanned: {reason}")
        return
    app.digestion.scheduler.wake()

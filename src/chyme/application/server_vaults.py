"""The vaults one server shows, and the doors that lead to them."""

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
from chyme.application.settings import Settings, read_settings
from chyme.core.clock import now
from chyme.core.files.vault_folder import STATE, Vault
from chyme.core.store import vault_properties
from chyme.errors import ChymeError, DatabaseDamaged, VaultError, VaultGone
from chyme.vault.watch.pending_files import ScanStopped

IDENTITY = "identity"  # the mark by which rights know a vault, wherever its folder is moved
NAMELESS = "vault"

Notify = Callable[[str], None]


@dataclass(frozen=True)
class ServerVaults:
    """Every vault has its own App, database and index: there is nothing in which two could be confused."""

    vaults: dict[str, App]  # by the name that stands in addresses
    identities: dict[str, str]  # by the same name
    authenticator: Authenticator
    settings: Settings  # of the server: those of its first vault
    closed: dict[str, str] = field(default_factory=dict)  # vaults that cannot be opened, by name, and why
    scans: list[threading.Thread] = field(default_factory=list)

    def start(self, tell: Notify) -> None:
        """Begin to digest in every vault. First scans run in the background, so that nobody waits for them."""
        for name, app in self.vaults.items():
            try:
                app.start(follow=True)
            except DatabaseDamaged:  # logged, and told by its pages; the others are served as ever
                continue
            scan = threading.Thread(target=_scan, args=(app, tell), name=f"chyme-first-scan-{name}", daemon=True)
            self.scans.append(scan)
            scan.start()

    def end_scans(self) -> None:
        """First scans that are under way end early: nobody may read a database that is being closed."""
        with contextlib.ExitStack() as stack:
            for app in self.vaults.values():
                stack.enter_context(app.scanner.interrupt())
            for scan in self.scans:
                scan.join()


@contextlib.contextmanager
def open_server_vaults(roots: Sequence[Path], settings: Settings | None = None) -> Iterator[ServerVaults]:
    """Vaults opened side by side; all are closed again, whatever happens."""
    with contextlib.ExitStack() as stack:
        vaults: dict[str, App] = {}
        closed: dict[str, str] = {}
        for root in roots:
            try:
                app = stack.enter_context(_open_known(root, settings))
            except DatabaseDamaged as error:
                if len(roots) == 1:
                    raise
                closed[address_name(root.resolve().name, [*vaults, *closed])] = str(error)
                continue
            _refuse_twice(vaults, app)
            vaults[address_name(app.vault.root.name, [*vaults, *closed])] = app
        if not vaults:
            raise DatabaseDamaged("; ".join(closed.values()))
        first = next(iter(vaults.values())).settings
        doors = stack.enter_context(contextlib.closing(Authenticator(server_folder(first), now)))
        with doors.explain_damage():
            _ = doors.login_required  # a server that cannot tell who may come in must not begin
        house = ServerVaults(
            vaults, {name: identity_of(app) for name, app in vaults.items()}, doors, first, closed=closed
        )
        stack.callback(house.end_scans)
        yield house


@contextlib.contextmanager
def _open_known(root: Path, settings: Settings | None) -> Iterator[App]:
    """An opened vault whose identity can be read."""
    with open_app(root, settings, create=True) as app:
        identity_of(app)
        yield app


@contextlib.contextmanager
def open_accounts(root: Path) -> Iterator[Authenticator]:
    """The doors of the server that would serve this vault."""
    settings = read_settings(Vault(root).root / STATE, os.environ)
    with contextlib.closing(Authenticator(server_folder(settings), now)) as doors, doors.explain_damage():
        yield doors


def server_folder(settings: Settings) -> Path:
    """Where accounts and tokens are kept."""
    if settings.server_dir:
        return Path(settings.server_dir).expanduser()
    data = os.environ.get("XDG_DATA_HOME", "")
    return (Path(data) if os.path.isabs(data) else Path.home() / ".local/share") / "chyme"


def identity_of(app: App) -> str:
    """By which rights know an opened vault."""
    found = vault_properties.value_of(app.database.read(), IDENTITY)
    if not found:
        raise VaultError(f"{app.vault.root}: its database has no identity; 'chyme verify' tells what is wrong with it")
    return found


def address_name(folder: str, taken: Collection[str] = ()) -> str:
    """A folder's name as part of an address, with a number where another vault has it already."""
    plain = unicodedata.normalize("NFKD", folder).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip(".-_") or NAMELESS
    number = 2
    unique = name
    while unique in taken:
        unique, number = f"{name}-{number}", number + 1
    return unique


def _refuse_twice(vaults: dict[str, App], app: App) -> None:
    for other in vaults.values():
        if other.vault.root == app.vault.root:
            raise VaultError(f"{app.vault.root}: is named twice; name each vault once")
        if identity_of(other) == identity_of(app):
            raise VaultError(
                f"{app.vault.root} is a copy of {other.vault.root}, and rights could not tell them apart; "
                "serve only one of them"
            )


def _scan(app: App, tell: Notify) -> None:
    try:
        app.scan()
    except ScanStopped:
        return
    except (ChymeError, sqlite3.Error) as error:
        why = app.database.explain(error)
        if not isinstance(why, DatabaseDamaged | VaultGone):  # which the log and the pages tell, once
            tell(f"{app.vault.root} could not be scanned: {why}")
        return
    app.digestion.scheduler.wake()

"""The folder of a cluster: keys, certificates, `cluster.json`, and the server's configuration made from it.

`cluster.json` is written before `nats.conf` when someone is added, and after it when someone is removed: after a crash
in between, the server lets in only people who are listed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from chyme.core.files.permissions import make_private_folder
from chyme.core.files.untrusted_files import write_atomically
from chyme.core.files.vault_folder import STATE
from chyme.errors import UsageError
from chyme.workers.certificates import Authority, Issued
from chyme.workers.cluster import Cluster, Person, Role, check_hosts, cluster_json, new_id, parse_cluster
from chyme.workers.names import SERVER, check_person, check_vaults
from chyme.workers.server_config import AUTHORITY, CONFIG, SERVER_CERTIFICATE, SERVER_KEY, server_config
from chyme.workers.server_process import Reload, reload_server

LIST, AUTHORITY_KEY = "cluster.json", "ca.key"
FIRST_COORDINATOR, FIRST_WORKER = "coordinator", "worker-1"


class ClusterFolder:
    """A folder made by `chyme cluster init`. Changes by several processes wait for one another."""

    def __init__(self, folder: Path) -> None:
        """Raises UsageError if the folder has no cluster."""
        self.folder = folder.expanduser().resolve()
        if not (self.folder / LIST).is_file():
            raise UsageError(f"{folder}: there is no {LIST} in this folder; 'chyme cluster init' makes a cluster")

    @classmethod
    def create(
        cls, folder: Path, hosts: Sequence[str], port: int, vaults: Sequence[str], days: int, now: datetime
    ) -> ClusterFolder:
        """Make a cluster with a coordinator and a worker in a folder that is new or empty."""
        checked_hosts, checked_vaults = check_hosts(hosts), check_vaults(vaults)
        if not checked_hosts:
            raise UsageError("name at least one host that coordinators and workers connect to")
        path = folder.expanduser().resolve()
        _refuse_folder(path)
        made = Authority.create(now)
        authority = Authority(made.key, made.certificate)
        server = authority.issue_server(checked_hosts, now, days)
        cluster = Cluster(checked_hosts, port, checked_vaults, server.expires, made.expires)
        make_private_folder(path)
        with _lock(path):
            _refuse_folder(path)  # another process may have been quicker
            write_atomically(path / AUTHORITY_KEY, made.key)
            write_atomically(path / AUTHORITY, made.certificate)
            _write_server(path, server)
            for name, role in ((FIRST_COORDINATOR, Role.COORDINATOR), (FIRST_WORKER, Role.WORKER)):
                cluster = cluster.with_person(_issue(path, authority, name, role, new_id(), checked_vaults, now, days))
            _write_config(path, cluster)
            _write_list(path, cluster)
        return cls(path)

    def read(self) -> Cluster:
        """Return what `cluster.json` says."""
        path = self.folder / LIST
        try:
            return parse_cluster(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
        except (ValueError, UsageError) as error:
            raise UsageError(f"{path}: cannot be used: {error}; restore it from a backup") from error

    def credentials_of(self, name: str) -> Path:
        """The file that a coordinator or worker needs."""
        return self.folder / f"{name}.pem"

    def add(
        self, name: str, role: Role, vaults: Sequence[str] | None, days: int, now: datetime
    ) -> tuple[Person, Reload]:
        """Add a coordinator or worker; without `vaults`, they may use those of the cluster."""
        check_person(name)
        with _lock(self.folder):
            cluster = self.read()
            cluster.refuse_taken(name)
            allowed = cluster.vaults if vaults is None else check_vaults(vaults)
            person = _issue(self.folder, self._authority(), name, role, new_id(), allowed, now, days)
            cluster = cluster.with_person(person)
            _write_list(self.folder, cluster)
            _write_config(self.folder, cluster)
            return person, reload_server(self.folder)

    def remove(self, name: str) -> tuple[Person, Reload]:
        """Remove a coordinator or worker. The server ends their connections when it reads its configuration again."""
        with _lock(self.folder):
            cluster = self.read()
            person = cluster.person(name)
            cluster = cluster.without_person(name)
            _write_config(self.folder, cluster)
            reloaded = reload_server(self.folder)
            _write_list(self.folder, cluster)
            self.credentials_of(name).unlink(missing_ok=True)
            return person, reloaded

    def renew(self, name: str, days: int, now: datetime) -> tuple[datetime, Reload]:
        """Make a new certificate for someone, or for the server. The old one stays valid until it expires."""
        with _lock(self.folder):
            cluster, authority = self.read(), self._authority()
            if name == SERVER:
                issued = authority.issue_server(cluster.hosts, now, days)
                _write_server(self.folder, issued)
                expires = issued.expires
                cluster = dataclasses.replace(cluster, server_expires=expires)
            else:
                old = cluster.person(name)
                person = _issue(self.folder, authority, old.name, old.role, old.id, old.vaults, now, days)
                expires = person.expires
                cluster = cluster.with_person(person)
            _write_list(self.folder, cluster)
            _write_config(self.folder, cluster)
            return expires, reload_server(self.folder)

    def _authority(self) -> Authority:
        key, certificate = self.folder / AUTHORITY_KEY, self.folder / AUTHORITY
        try:
            return Authority(key.read_bytes(), certificate.read_bytes())
        except OSError as error:
            raise UsageError(
                f"{error.filename}: cannot be read: {error.strerror}; certificates are signed with it, so put it back"
            ) from error
        except (ValueError, TypeError) as error:
            raise UsageError(f"{key}: cannot be used with {AUTHORITY}: {error}; restore both from a backup") from error


def _issue(
    folder: Path,
    authority: Authority,
    name: str,
    role: Role,
    person_id: str,
    vaults: tuple[str, ...],
    now: datetime,
    days: int,
) -> Person:
    """Sign a certificate and write it with its key to `NAME.pem`, in place of an older one."""
    person = Person(name, role, person_id, vaults, now)
    issued = authority.issue_person(name, role, person.identity, now, days)
    write_atomically(folder / f"{name}.pem", issued.key + issued.certificate + authority.certificate)
    return dataclasses.replace(person, expires=issued.expires)


def _write_server(folder: Path, issued: Issued) -> None:
    write_atomically(folder / SERVER_KEY, issued.key)
    write_atomically(folder / SERVER_CERTIFICATE, issued.certificate)


def _write_list(folder: Path, cluster: Cluster) -> None:
    text = json.dumps(cluster_json(cluster), indent=2)
    write_atomically(folder / LIST, f"{text}\n".encode())


def _write_config(folder: Path, cluster: Cluster) -> None:
    write_atomically(folder / CONFIG, server_config(cluster, folder).encode())


def _refuse_folder(folder: Path) -> None:
    if not str(folder).isprintable():
        raise UsageError(f"{str(folder)!r}: the name has characters that the server's configuration cannot have")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: is not an empty folder; name a new one")
    for parent in (folder, *folder.parents):
        if (parent / STATE).is_dir():
            raise UsageError(f"{folder}: is in the vault {parent}, where its keys would be digested; choose another")


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)

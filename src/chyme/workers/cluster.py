"""What is known about a cluster: its hosts, and which coordinators and workers may use which vaults."""

from __future__ import annotations

import dataclasses
import ipaddress
import json
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from chyme.errors import NotFound, UsageError
from chyme.workers.names import check_person, check_vaults

_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_LONGEST_HOST = 253
_FORMAT = 1


class Role(StrEnum):
    """What someone does in a cluster."""

    COORDINATOR = "coordinator"
    WORKER = "worker"


@dataclass(frozen=True, slots=True)
class Person:
    """A coordinator or worker. `id` is new for everyone who is added, also under the name of someone removed."""

    name: str
    role: Role
    id: str
    vaults: tuple[str, ...]
    expires: datetime

    @property
    def identity(self) -> str:
        """What stands in the certificate, and what the server knows them by."""
        return f"urn:chyme:{self.role}:{self.name}:{self.id}"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A server with its names and addresses, and everyone who may connect to it. `vaults` are those of new people."""

    hosts: tuple[str, ...]
    port: int
    vaults: tuple[str, ...]
    server_expires: datetime
    authority_expires: datetime
    people: tuple[Person, ...] = ()

    @property
    def url(self) -> str:
        """Where clients connect to: the first host that other machines can reach."""
        host = next((host for host in self.hosts if not is_loopback(host)), self.hosts[0])
        return f"tls://[{host}]:{self.port}" if ":" in host else f"tls://{host}:{self.port}"

    def person(self, name: str) -> Person:
        """Raises NotFound if there is none of this name."""
        for person in self.people:
            if person.name == name:
                return person
        raise NotFound(f"there is no {name!r} in this cluster; 'chyme cluster show DIR' lists everyone")

    def refuse_taken(self, name: str) -> None:
        """Raise UsageError if someone has this name, in small or capital letters: each name is a file."""
        taken = next((person.name for person in self.people if person.name.lower() == name.lower()), None)
        if taken is not None:
            raise UsageError(
                f"there is already {taken!r} in this cluster; choose another name, or use 'chyme cluster renew' for a "
                "new certificate"
            )

    def with_person(self, person: Person) -> Cluster:
        """Add someone, or replace the one of the same name."""
        others = (other for other in self.people if other.name != person.name)
        return dataclasses.replace(self, people=tuple(sorted((*others, person), key=lambda one: (one.role, one.name))))

    def without_person(self, name: str) -> Cluster:
        """Remove someone. The last coordinator stays: without one, workers have nothing to do."""
        removed = self.person(name)
        people = tuple(person for person in self.people if person.name != name)
        if removed.role is Role.COORDINATOR and all(person.role is not Role.COORDINATOR for person in people):
            raise UsageError(f"{name!r} is the last coordinator; add another first ('chyme cluster add-coordinator')")
        return dataclasses.replace(self, people=people)


def new_id() -> str:
    """Make an id that no one had before."""
    return secrets.token_hex(8)


def check_hosts(hosts: Iterable[str]) -> tuple[str, ...]:
    """Return host names and IP addresses as certificates have them, each once and in their order."""
    return tuple(dict.fromkeys(_check_host(host) for host in hosts))


def _check_host(host: str) -> str:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        pass
    else:
        if address.is_unspecified or getattr(address, "scope_id", None):
            raise UsageError(f"{host!r} is no address that others can connect to; name the host or its own address")
        return str(address)
    if len(host) > _LONGEST_HOST or not _HOST.fullmatch(host) or host.rpartition(".")[2].isdigit():
        raise UsageError(f"{host!r} is neither a host name (of letters a to z, digits, '-' and '.') nor an IP address")
    return host.lower()


def is_loopback(host: str) -> bool:
    """Say whether only this machine can connect to a host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def cluster_json(cluster: Cluster) -> dict[str, Any]:
    """The cluster for `cluster.json` and for commands that answer in JSON."""
    return {
        "format": _FORMAT,
        "url": cluster.url,
        "hosts": list(cluster.hosts),
        "port": cluster.port,
        "vaults": list(cluster.vaults),
        "server_expires": cluster.server_expires.isoformat(),
        "authority_expires": cluster.authority_expires.isoformat(),
        "people": [person_json(person) for person in cluster.people],
    }


def person_json(person: Person) -> dict[str, Any]:
    return {
        "name": person.name,
        "role": str(person.role),
        "id": person.id,
        "vaults": list(person.vaults),
        "expires": person.expires.isoformat(),
    }


def parse_cluster(text: str) -> Cluster:
    """Read `cluster.json`. Raises ValueError or UsageError if it is not what `cluster_json` gives."""
    try:
        fields = json.loads(text)
        if fields["format"] != _FORMAT:
            raise ValueError(f"it has format {fields['format']!r}, and this version of chyme knows {_FORMAT}")
        return Cluster(
            hosts=check_hosts(fields["hosts"]),
            port=int(fields["port"]),
            vaults=check_vaults(fields["vaults"]),
            server_expires=datetime.fromisoformat(fields["server_expires"]),
            authority_expires=datetime.fromisoformat(fields["authority_expires"]),
            people=tuple(_parse_person(person) for person in fields["people"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"something is missing or has the wrong type: {error}") from error


def _parse_person(fields: dict[str, Any]) -> Person:
    if not re.fullmatch(r"[0-9a-f]{16}", fields["id"]):
        raise ValueError(f"{fields['id']!r} is no id")
    return Person(
        name=check_person(fields["name"]),
        role=Role(fields["role"]),
        id=fields["id"],
        vaults=check_vaults(fields["vaults"]),
        expires=datetime.fromisoformat(fields["expires"]),
    )

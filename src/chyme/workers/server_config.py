"""The configuration of the NATS server: who may connect, and what each may say and hear."""

from __future__ import annotations

import json
from pathlib import Path

from chyme.workers.cluster import Cluster, Person, Role, is_loopback
from chyme.workers.names import inbox_of

CONFIG, PID_FILE = "nats.conf", "nats.pid"
SERVER_CERTIFICATE, SERVER_KEY, AUTHORITY = "server.pem", "server.key", "ca.pem"

_HEAD = """\
# Written by 'chyme cluster', and written again whenever someone is added, removed or renewed: changes by hand are lost.
"""


def server_config(cluster: Cluster, folder: Path) -> str:
    """Return the text of `nats.conf` for a server whose files are in this folder.

    TLS comes before the first byte of the NATS protocol (`handshake_first`): otherwise somebody between client and
    server could say that there is no TLS, and clients would believe it. A client that vanished is noticed after three
    pings without an answer, within about ten seconds.
    """
    host = _loopback_address(cluster.hosts[0]) if all(map(is_loopback, cluster.hosts)) else "0.0.0.0"
    users = ",\n".join(_user(person) for person in cluster.people)
    return f"""{_HEAD}
host: {_quote(host)}
port: {cluster.port}
pid_file: {_quote(folder / PID_FILE)}
ping_interval: "3s"
ping_max: 2
write_deadline: "10s"
max_payload: 1048576

tls {{
  cert_file: {_quote(folder / SERVER_CERTIFICATE)}
  key_file: {_quote(folder / SERVER_KEY)}
  ca_file: {_quote(folder / AUTHORITY)}
  verify_and_map: true
  handshake_first: true
  min_version: "1.2"
  timeout: 10
}}

authorization {{
  timeout: 10
  users: [
{users}
  ]
}}
"""


def publishes(person: Person) -> list[str]:
    """The subjects someone may publish to; besides, they may answer each request once, within a minute."""
    if person.role is Role.WORKER:
        return [f"chyme.{vault}.ask.*.{person.name}" for vault in person.vaults]
    return [subject for vault in person.vaults for subject in (f"chyme.{vault}.want", f"chyme.{vault}.give.>")]


def subscribes(person: Person) -> list[str]:
    """The subjects someone may subscribe to."""
    inbox = f"{inbox_of(person.name)}.>"
    if person.role is Role.COORDINATOR:
        return [*(f"chyme.{vault}.ask.>" for vault in person.vaults), inbox]
    subjects = [
        subject for vault in person.vaults for subject in (f"chyme.{vault}.want", f"chyme.{vault}.give.{person.name}.>")
    ]
    return [*subjects, inbox]


def _user(person: Person) -> str:
    return f"""\
    {{
      user: {_quote(person.identity)}
      permissions: {{
        publish: {json.dumps(publishes(person))}
        subscribe: {json.dumps(subscribes(person))}
        allow_responses: {{ max: 1, expires: "1m" }}
      }}
    }}"""


def _loopback_address(host: str) -> str:
    return "127.0.0.1" if host == "localhost" else host


def _quote(value: str | Path) -> str:
    """Quote a printable text as the server reads it: in such texts, its escapes are those of JSON."""
    return json.dumps(str(value), ensure_ascii=False)

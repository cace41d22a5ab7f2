"""Names of workers, coordinators and vaults on the NATS server. They are parts of subjects."""

from __future__ import annotations

import re
from collections.abc import Iterable

from chyme.errors import UsageError

ALL_VAULTS = "*"
SERVER = "server"  # not a person, but its certificate is renewed by this name
_PERSON = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_VAULT = re.compile(r"[A-Za-z0-9_-]{1,128}")

# `ca.pem` and `server.pem` are other files. A person called `ask` would have the inbox `chyme.inbox.ask.>`, which looks
# like the requests for a vault called `inbox` (`chyme.inbox.ask.>`): everyone who may use every vault could read it.
_RESERVED_PEOPLE = {"ca", SERVER, "ask", "give", "want"}
_RESERVED_VAULTS = {"inbox"}


def check_person(name: str) -> str:
    """Return the name of a worker or coordinator, if it can be one."""
    if not _PERSON.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a worker or coordinator: use up to 64 letters (a to z), digits, '-' and "
            "'_', beginning with a letter or digit"
        )
    if name.lower() in _RESERVED_PEOPLE:
        raise UsageError(f"{name!r} has another meaning here; choose another name")
    return name


def check_vault(name: str) -> str:
    """Return the name of a vault on the NATS server, if it can be one."""
    if not _VAULT.fullmatch(name):
        raise UsageError(f"{name!r} cannot be the name of a vault here: use letters (a to z), digits, '-' and '_'")
    if name in _RESERVED_VAULTS:
        raise UsageError(f"a vault cannot be called {name!r} here: the word has another meaning; choose another name")
    return name


def check_vaults(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of vaults in order and each once; `*` alone means every vault."""
    unique = tuple(sorted(set(names)))
    if unique == (ALL_VAULTS,):
        return unique
    if not unique:
        raise UsageError("name at least one vault, or '*' for every vault")
    return tuple(check_vault(name) for name in unique)


def inbox_of(name: str) -> str:
    """Return the prefix of the subjects on which a worker or coordinator receives answers."""
    return f"chyme.inbox.{name}"


def is_inbox_of(name: str, subject: str) -> bool:
    """Say whether a subject is in someone's inbox.

    The receiver of a request must check its reply subject with this. The server does not: a worker could name the
    subject of another worker, and have the coordinator send its answer there as if it were a request.
    """
    return subject.startswith(f"{inbox_of(name)}.")

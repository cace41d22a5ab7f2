"""Visitors of the server, and what they may do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from chyme.core.user_reference import UserReference


class Right(StrEnum):
    """A right to a vault; write includes the others. Only tokens may have the right to add and nothing else."""

    READ = "read"
    WRITE = "write"
    ADD = "add"

    def covers(self, other: Right) -> bool:
        return self in (Right.WRITE, other)


@dataclass(frozen=True, slots=True)
class Rights:
    """Rights to every vault, or to some."""

    everything: Right | None = None
    vaults: Mapping[str, Right] = field(default_factory=lambda: MappingProxyType({}))  # by identity

    def allow(self, vault: str, right: Right) -> bool:
        candidates = (self.everything, self.vaults.get(vault))
        return any(granted is not None and granted.covers(right) for granted in candidates)


@dataclass(frozen=True, slots=True)
class Visitor:
    """A client known by a session or a token. With a token, the owner's rights limit access, too."""

    name: str
    rights: tuple[Rights, ...]  # all of them must allow the access
    user_id: int | None = None
    session_id: int | None = None
    token_id: int | None = None
    is_owner: bool = False  # only by session: a token opens vaults, and manages no accounts
    user: UserReference | None = None  # who signed in, or whose token it is

    @property
    def account(self) -> str:
        """The name of a user who signed in; empty for a program with a token."""
        return self.name if self.session_id is not None else ""

    @property
    def key(self) -> str:
        """One key for everything a user does, signed in or with their tokens."""
        return f"user {self.user_id}" if self.user_id is not None else f"token {self.token_id}"

    def may(self, vault: str, right: Right) -> bool:
        """Whether the visitor has this right to the vault with this identity."""
        return all(rights.allow(vault, right) for rights in self.rights)

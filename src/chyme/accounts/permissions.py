"""Somebody who asks for something, and what they may do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType


class Right(StrEnum):
    """Who may change a vault may read it."""

    READ = "read"
    WRITE = "write"

    def covers(self, other: Right) -> bool:
        return self is Right.WRITE or other is Right.READ


@dataclass(frozen=True, slots=True)
class Rights:
    """What is open: every vault, or some."""

    everything: Right | None = None
    vaults: Mapping[str, Right] = field(default_factory=lambda: MappingProxyType({}))  # by identity

    def allow(self, vault: str, right: Right) -> bool:
        given = (self.everything, self.vaults.get(vault))
        return any(one is not None and one.covers(right) for one in given)


@dataclass(frozen=True, slots=True)
class Visitor:
    """Known by a session or a token. What a token opens, its owner must be allowed as well."""

    name: str
    rights: tuple[Rights, ...]  # all of them must allow it
    user_id: int | None = None
    session_id: int | None = None
    token_id: int | None = None

    @property
    def account(self) -> str:
        """The name of somebody who signed in; empty for a program that showed a token."""
        return self.name if self.session_id is not None else ""

    @property
    def key(self) -> str:
        """One for all that somebody does, signed in or by tokens of theirs."""
        return f"user {self.user_id}" if self.user_id is not None else f"token {self.token_id}"

    def may(self, vault: str, right: Right) -> bool:
        """Whether this right to the vault with this identity is theirs."""
        return all(one.allow(vault, right) for one in self.rights)

"""A user of a server, as a vault refers to them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UserReference:
    """Whose something is. Number and name must both fit: on another server the number alone may be somebody else's."""

    id: int
    name: str

"""The address under which a client reaches this server, and whose client it is."""

from __future__ import annotations

from fastapi import Request

from chyme.core.user_reference import UserReference


def server_address(request: Request) -> str:
    """Return the scheme and host of a request; AccessMiddleware has checked that the host is this server's."""
    return f"{request.scope['scheme']}://{request.headers.get('host', '')}"


def user_of(request: Request) -> UserReference | None:
    """Return the user who sends a request; None without accounts, and for tokens that belong to no user."""
    visitor = getattr(request.state, "visitor", None)
    return visitor.user if visitor is not None else None

"""Addresses that hold a secret, of shared files and feeds: the vault they lead to, and the limit for guessing."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import Request

from chyme.accounts.login_throttle import network_key
from chyme.accounts.permissions import Right
from chyme.application.app import App
from chyme.application.server_vaults import ServerVaults
from chyme.core.address_secrets import mark_in, mark_of
from chyme.core.user_reference import UserReference

HEADERS = {"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow, noarchive"}


def vaults_of_secret(server_vaults: ServerVaults, secret: str) -> Iterator[tuple[str, App]]:
    """Return the vaults whose mark the secret begins with, by identity: one, or none. No other vault is asked."""
    mark = mark_in(secret)
    for name, app in server_vaults.vaults.items():
        identity = server_vaults.identities[name]
        if mark is not None and mark_of(identity) == mark:
            yield identity, app


def wait_after_wrong_secret(server_vaults: ServerVaults, request: Request) -> float:
    """Count a wrong secret; return the seconds that its sender must wait. A right one is always accepted."""
    return server_vaults.authenticator.wrong_links.start_attempt([network_key(request.state.client)])


def may_owner_still(
    server_vaults: ServerVaults, request: Request, user: UserReference | None, identity: str, right: Right
) -> bool:
    """Whether who made a link or feed still has this right. What no user made belongs to the vault itself."""
    if user is None or not request.state.closed:
        return True
    return server_vaults.authenticator.may_still(user, identity, right)

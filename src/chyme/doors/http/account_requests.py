"""What routes and pages about accounts share: who may use them, and the limits of wrong guesses."""

from __future__ import annotations

from functools import partial

from fastapi import HTTPException, Request

from chyme.accounts.login_throttle import LoginThrottle, network_key
from chyme.accounts.permissions import Right, Visitor
from chyme.accounts.users import Account, NewSession
from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.password_hashing import PasswordHasher
from chyme.errors import NotFound, UsageError

WRONG_PASSWORD = "this is not your password; nothing was changed"
TOO_MANY = "too many wrong attempts; wait a while, then try again"


def require_session(request: Request) -> Visitor:
    """Return the signed-in visitor. A token opens vaults, not the account it belongs to."""
    visitor: Visitor | None = request.state.visitor
    if visitor is not None and visitor.session_id is None:
        raise NotFound("a token opens vaults and no account; sign in with name and password")
    if visitor is None:
        raise NotFound("there is no account here; 'chyme users add NAME' makes one")
    return visitor


def require_owner(request: Request) -> Visitor:
    """Return the signed-in visitor if they may manage people."""
    visitor = require_session(request)
    if not visitor.is_owner:
        raise HTTPException(403, "only owners manage people and their rights; ask one of them")
    return visitor


def require_other(owner: Visitor, number: int) -> None:
    """Refuse to set one's own password as an owner: that needs the old one, which a stolen session does not know."""
    if owner.user_id == number:
        raise UsageError("change your own password in your account, with the old one")


def user_id_of(visitor: Visitor) -> int:
    if visitor.user_id is None:
        raise NotFound("there is no account here")
    return visitor.user_id


def count_attempt(throttle: LoginThrottle, request: Request, *more: str) -> list[str]:
    """Count an attempt before it is checked; return its keys, for `record_success`. Raises 429 while to wait."""
    keys = [network_key(request.state.client), *more]
    wait = throttle.start_attempt(keys)
    if wait > 0:
        raise HTTPException(429, TOO_MANY, {"Retry-After": str(max(1, round(wait + 0.5)))})
    return keys


async def change_own_password(
    server_vaults: ServerVaults, hasher: PasswordHasher, request: Request, current: str, password: str
) -> None:
    """Change the password of the signed-in visitor, who must know the old one; their other sessions end."""
    visitor, authenticator = require_session(request), server_vaults.authenticator
    keys = count_attempt(authenticator.wrong_passwords, request, f"password of {visitor.user_id}")
    if not await hasher.run(partial(authenticator.accounts.check_password, visitor.name, current)):
        raise HTTPException(403, WRONG_PASSWORD)
    authenticator.wrong_passwords.record_success(keys)
    await hasher.run(partial(authenticator.accounts.change_password, visitor.name, password, visitor.session_id))


async def redeem_invitation(
    server_vaults: ServerVaults, hasher: PasswordHasher, request: Request, code: str, name: str, password: str
) -> str:
    """Make the account of an invited person; return its name."""
    authenticator = server_vaults.authenticator
    if authenticator.invitations.find_open(code) is None:
        count_attempt(authenticator.wrong_codes, request)
    elif hasher.is_full:
        raise HTTPException(503, "too many people sign in at once; try again in a moment", {"Retry-After": "5"})
    return await hasher.run(partial(authenticator.invitations.redeem, code, name, password))


async def sign_in_new(
    server_vaults: ServerVaults, hasher: PasswordHasher, request: Request, name: str, password: str, browser: str
) -> NewSession | None:
    """Sign in the person who has just made this account."""
    days, client = server_vaults.settings.session_days, request.state.client
    return await hasher.run(
        partial(server_vaults.authenticator.accounts.sign_in, name, password, days, browser, client)
    )


def parse_right(text: str | None) -> Right | None:
    """Parse `read` or `write`; nothing or `none` is no right."""
    if not text or text == "none":
        return None
    if text not in (Right.READ, Right.WRITE):
        raise UsageError(f"{text[:20]!r} is no right; there are read and write")
    return Right(text)


def vault_of_account(server_vaults: ServerVaults, account: Account | None, name: str) -> tuple[str, str]:
    """Find a vault by its name, or one that this server does not serve by the identity in a person's rights."""
    for grant in account.grants if account is not None else ():
        if grant.vault == name:
            return grant.vault, grant.vault_name
    return server_vaults.vault_named(name)

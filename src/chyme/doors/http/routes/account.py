"""The routes of one's own account, and the one that redeems an invitation. Those of the account need a session."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, FastAPI, Path, Request
from pydantic import BaseModel, Field

from chyme.accounts.api_tokens import Token
from chyme.accounts.permissions import Right
from chyme.accounts.users import Account, Session
from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.account_requests import change_own_password, redeem_invitation, require_session, user_id_of
from chyme.doors.http.password_hashing import PasswordHasher
from chyme.doors.http.request_bodies import RequestBody
from chyme.errors import NotFound

RightName = Literal["read", "write"]
TokenRightName = Literal["read", "write", "add"]  # only tokens may be for adding alone
Number = Annotated[int, Path(ge=1, le=2**63 - 1)]


class GrantedVault(BaseModel):
    """A right to one vault; `identity` names it wherever its folder is."""

    vault: str
    identity: str
    right: RightName


class Person(BaseModel):
    """A user; `all_vaults` is the right to every vault of the server."""

    number: int
    name: str
    owner: bool
    active: bool
    all_vaults: RightName | None
    vaults: list[GrantedVault]
    created_at: str
    last_used_at: str | None


class SignedIn(BaseModel):
    """A browser in which someone is signed in; `here` is the one that asks."""

    number: int
    user: str
    browser: str
    address: str
    created_at: str
    last_used_at: str
    expires_at: str
    here: bool


class TokenEntry(BaseModel):
    """A token of a program; `vault` null means all vaults, `user` null one that belongs to the server."""

    number: int
    name: str
    user: str | None
    right: TokenRightName
    vault: str | None
    created_at: str
    last_used_at: str | None
    expires_at: str | None


class Sessions(BaseModel):
    sessions: list[SignedIn]


class Tokens(BaseModel):
    tokens: list[TokenEntry]


class MadeToken(BaseModel):
    """A new token; `secret` is not shown again."""

    token: TokenEntry
    secret: str


class Ended(BaseModel):
    """How many were ended, revoked or removed."""

    ended: int


class Named(BaseModel):
    name: str


class PasswordChange(RequestBody):
    current: str = Field(max_length=1024)
    password: str = Field(max_length=1024)


class TokenRequest(RequestBody):
    name: str
    right: TokenRightName = "read"
    vault: str | None = None
    days: int | None = None


class Redemption(RequestBody):
    code: str = Field(max_length=200)
    name: str = Field(max_length=200)
    password: str = Field(max_length=1024)


def add_routes(api: FastAPI, server_vaults: ServerVaults, password_hasher: PasswordHasher) -> None:
    """Add these routes to the server."""
    router = APIRouter(dependencies=[Depends(require_session)])
    _add_account_routes(router, server_vaults, password_hasher)
    api.include_router(router)

    @api.post("/api/invitation", status_code=201)
    async def redeem(request: Request, body: Redemption) -> Named:
        """Make your account with the code of an invitation. Needs no session; then sign in."""
        name = await redeem_invitation(server_vaults, password_hasher, request, body.code, body.name, body.password)
        return Named(name=name)


def _add_account_routes(api: APIRouter, server_vaults: ServerVaults, password_hasher: PasswordHasher) -> None:
    authenticator = server_vaults.authenticator

    @api.get("/api/account")
    def account(request: Request) -> Person:
        """Your account: name, rights, and whether you are an owner."""
        return person_of(authenticator.accounts.by_number(user_id_of(require_session(request))))

    @api.post("/api/account/password")
    async def change_password(request: Request, body: PasswordChange) -> Named:
        """Change your password. Your other sessions end; tokens stay."""
        await change_own_password(server_vaults, password_hasher, request, body.current, body.password)
        return Named(name=require_session(request).name)

    @api.get("/api/account/sessions")
    def sessions(request: Request) -> Sessions:
        """Where you are signed in."""
        visitor = require_session(request)
        listed = authenticator.accounts.sessions(user_id_of(visitor))
        return Sessions(sessions=[session_of(one, visitor.name, visitor.session_id) for one in listed])

    @api.delete("/api/account/sessions")
    def end_other_sessions(request: Request) -> Ended:
        """Sign out everywhere else."""
        visitor = require_session(request)
        return Ended(ended=authenticator.accounts.end_sessions(user_id_of(visitor), visitor.session_id))

    @api.delete("/api/account/sessions/{number}")
    def end_session(request: Request, number: Number) -> Ended:
        """Sign out in one browser."""
        if not authenticator.accounts.end_session(number, user_id_of(require_session(request))):
            raise NotFound("you are not signed in there")
        return Ended(ended=1)

    @api.get("/api/account/tokens")
    def tokens(request: Request) -> Tokens:
        """Your tokens."""
        visitor = require_session(request)
        return Tokens(
            tokens=[token_of(token, visitor.name) for token in authenticator.tokens.of_user(user_id_of(visitor))]
        )

    @api.post("/api/account/tokens", status_code=201)
    def add_token(request: Request, body: TokenRequest) -> MadeToken:
        """Make a token; it never opens more than you may."""
        visitor = require_session(request)
        vault = server_vaults.vault_named(body.vault) if body.vault is not None else None
        made = authenticator.tokens.add_own(visitor, body.name, Right(body.right), vault, body.days)
        return MadeToken(token=token_of(made.token, visitor.name), secret=made.secret)

    @api.delete("/api/account/tokens/{number}")
    def revoke_token(request: Request, number: Number) -> Ended:
        """Revoke one of your tokens."""
        if number not in {token.id for token in authenticator.tokens.of_user(user_id_of(require_session(request)))}:
            raise NotFound("you have no such token")
        return Ended(ended=int(authenticator.tokens.revoke(number)))


def right_name(right: str) -> RightName:
    """The right of a user or an invitation; only tokens have others."""
    return "write" if right == Right.WRITE else "read"


def person_of(account: Account) -> Person:
    """Describe an account."""
    return Person(
        number=account.id,
        name=account.name,
        owner=account.is_owner,
        active=account.is_active,
        all_vaults=right_name(account.everything) if account.everything else None,
        vaults=[
            GrantedVault(vault=grant.vault_name, identity=grant.vault, right=right_name(grant.right))
            for grant in account.grants
        ],
        created_at=account.created_at,
        last_used_at=account.last_used_at,
    )


def session_of(session: Session, user: str, here: int | None) -> SignedIn:
    """Describe a session."""
    return SignedIn(
        number=session.id,
        user=user,
        browser=session.hint,
        address=session.address,
        created_at=session.created_at,
        last_used_at=session.seen_at,
        expires_at=session.expires_at,
        here=session.id == here,
    )


def token_of(token: Token, user: str | None) -> TokenEntry:
    """Describe a token."""
    return TokenEntry(
        number=token.id,
        name=token.name,
        user=user,
        right=Right(token.right).value,
        vault=token.vault_name,
        created_at=token.created_at,
        last_used_at=token.last_used_at,
        expires_at=token.expires_at,
    )

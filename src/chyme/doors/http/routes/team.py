"""The routes by which owners manage people: accounts, rights, invitations, and everyone's sessions and tokens."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Depends, FastAPI, Request
from pydantic import BaseModel, Field

from chyme.accounts.invitations import DEFAULT_DAYS, Invitation
from chyme.accounts.permissions import Right
from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.account_requests import require_other, require_owner, user_id_of, vault_of_account
from chyme.doors.http.password_hashing import PasswordHasher
from chyme.doors.http.request_bodies import RequestBody
from chyme.doors.http.routes.account import (
    Ended,
    GrantedVault,
    Number,
    Person,
    RightName,
    Sessions,
    Tokens,
    person_of,
    right_name,
    session_of,
    token_of,
)
from chyme.errors import NotFound

MAX_VAULTS = 500  # in one request


class People(BaseModel):
    people: list[Person]


class InvitationEntry(BaseModel):
    """An invitation; `state` is open, used, revoked or expired."""

    number: int
    note: str
    state: str
    owner: bool
    all_vaults: RightName | None
    vaults: list[GrantedVault]
    invited_by: str | None
    created_at: str
    expires_at: str
    redeemed_by: str | None


class InvitationList(BaseModel):
    invitations: list[InvitationEntry]


class MadeInvitation(BaseModel):
    """A new invitation; `link` and its `code` are not shown again."""

    invitation: InvitationEntry
    code: str
    link: str


class NewPerson(RequestBody):
    name: str = Field(max_length=200)
    password: str = Field(max_length=1024)
    owner: bool = False
    all_vaults: RightName | None = None
    vaults: dict[str, RightName] = Field(default_factory=dict, max_length=MAX_VAULTS)


class PersonChange(RequestBody):
    """What is absent stays. A vault with null loses its right; `all_vaults` null takes away the right to all."""

    owner: bool | None = None
    active: bool | None = None
    password: str | None = Field(None, max_length=1024)
    all_vaults: RightName | None = None
    vaults: dict[str, RightName | None] = Field(default_factory=dict, max_length=MAX_VAULTS)


class InvitationRequest(RequestBody):
    note: str = ""
    owner: bool = False
    all_vaults: RightName | None = None
    vaults: dict[str, RightName] = Field(default_factory=dict, max_length=MAX_VAULTS)
    days: int = DEFAULT_DAYS


def add_routes(api: FastAPI, server_vaults: ServerVaults, password_hasher: PasswordHasher) -> None:
    """Add these routes to the server. All of them are for owners who are signed in."""
    router = APIRouter(dependencies=[Depends(require_owner)])
    _add_people_routes(router, server_vaults, password_hasher)
    _add_access_routes(router, server_vaults)
    api.include_router(router)


def _add_people_routes(api: APIRouter, server_vaults: ServerVaults, password_hasher: PasswordHasher) -> None:
    accounts = server_vaults.authenticator.accounts

    @api.get("/api/team/people")
    def people(request: Request) -> People:
        """Everyone who has an account, and when they last used it."""
        return People(people=[person_of(account) for account in accounts.list_all()])

    @api.post("/api/team/people", status_code=201)
    async def add_person(request: Request, body: NewPerson) -> Person:
        """Make an account with a password of yours, which its user should change."""
        everything, vaults = _right(body.all_vaults), _parse_vaults(server_vaults, body.vaults)
        account = await password_hasher.run(
            partial(accounts.add, body.name, body.password, everything, owner=body.owner)
        )
        return person_of(accounts.replace_rights(account.name, everything, vaults))

    @api.patch("/api/team/people/{number}")
    async def change_person(request: Request, number: Number, body: PersonChange) -> Person:
        """Change rights, role or password of a person, or keep them from signing in; applies at once."""
        owner, account = require_owner(request), accounts.by_number(number)
        if body.password is not None:
            require_other(owner, number)
        vaults = [(vault_of_account(server_vaults, account, name), _right(to)) for name, to in body.vaults.items()]
        if body.owner is not None:
            accounts.change_owner(account.name, body.owner)
        if body.active is not None:
            accounts.change_active(account.name, body.active)
        if vaults or "all_vaults" in body.model_fields_set:
            changes = "all_vaults" in body.model_fields_set
            everything = _right(body.all_vaults) if changes else account.everything
            accounts.replace_rights(account.name, everything, vaults)
        if body.password is not None:
            await password_hasher.run(partial(accounts.change_password, account.name, body.password))
        return person_of(accounts.by_number(number))

    @api.delete("/api/team/people/{number}")
    def remove_person(request: Request, number: Number) -> Ended:
        """Remove a person with their sessions and tokens."""
        accounts.remove(accounts.by_number(number).name)
        return Ended(ended=1)

    @api.delete("/api/team/people/{number}/sessions")
    def sign_out(request: Request, number: Number) -> Ended:
        """Sign a person out everywhere."""
        return Ended(ended=accounts.end_sessions(accounts.by_number(number).id))


def _add_access_routes(api: APIRouter, server_vaults: ServerVaults) -> None:
    """Routes about invitations, sessions and tokens."""
    authenticator = server_vaults.authenticator
    accounts, invitations, tokens = authenticator.accounts, authenticator.invitations, authenticator.tokens

    @api.get("/api/team/invitations")
    def list_invitations(request: Request) -> InvitationList:
        """All invitations of the last month, the newest first."""
        names = tokens.owners()
        return InvitationList(
            invitations=[_invitation_of(found, state, names) for found, state in invitations.list_all()]
        )

    @api.post("/api/team/invitations", status_code=201)
    def invite(request: Request, body: InvitationRequest) -> MadeInvitation:
        """Invite a person with these rights, by a link that is used once and expires."""
        owner = require_owner(request)
        made = invitations.add(
            body.note,
            _right(body.all_vaults),
            _parse_vaults(server_vaults, body.vaults),
            user_id_of(owner),
            owner=body.owner,
            days=body.days,
        )
        return MadeInvitation(
            invitation=_invitation_of(made.invitation, "open", tokens.owners()),
            code=made.secret,
            link=invitation_link(request, made.secret),
        )

    @api.delete("/api/team/invitations/{number}")
    def revoke_invitation(request: Request, number: Number) -> Ended:
        """Revoke an open invitation."""
        if not invitations.revoke(number):
            raise NotFound("there is no such open invitation")
        return Ended(ended=1)

    @api.get("/api/team/sessions")
    def list_sessions(request: Request) -> Sessions:
        """Where everyone is signed in, the last used first."""
        owner = require_owner(request)
        names = tokens.owners()
        return Sessions(
            sessions=[session_of(one, names.get(one.user_id, ""), owner.session_id) for one in accounts.all_sessions()]
        )

    @api.get("/api/team/tokens")
    def list_tokens(request: Request) -> Tokens:
        """Everyone's tokens, and those of the server; without secrets."""
        names = tokens.owners()
        return Tokens(
            tokens=[
                token_of(one, names.get(one.user_id) if one.user_id is not None else None) for one in tokens.list_all()
            ]
        )

    @api.delete("/api/team/tokens/{number}")
    def revoke_token(request: Request, number: Number) -> Ended:
        """Revoke anyone's token."""
        if not tokens.revoke(number):
            raise NotFound("there is no such token")
        return Ended(ended=1)


def _parse_vaults(server_vaults: ServerVaults, vaults: dict[str, RightName]) -> list[tuple[tuple[str, str], Right]]:
    return [(server_vaults.vault_named(name), Right(right)) for name, right in vaults.items()]


def invitation_link(request: Request, secret: str) -> str:
    """Return the link of an invitation. Its secret follows a #: browsers send that part to no server."""
    return f"{request.url.scheme}://{request.headers['host']}/invitation#{secret}"


def _right(name: str | None) -> Right | None:
    return Right(name) if name is not None else None


def _invitation_of(invitation: Invitation, state: str, names: dict[int, str]) -> InvitationEntry:
    return InvitationEntry(
        number=invitation.id,
        note=invitation.note,
        state=state,
        owner=invitation.owner,
        all_vaults=right_name(invitation.everything) if invitation.everything else None,
        vaults=[
            GrantedVault(vault=grant.vault_name, identity=grant.vault, right=right_name(grant.right))
            for grant in invitation.grants
        ],
        invited_by=names.get(invitation.invited_by) if invitation.invited_by is not None else None,
        created_at=invitation.created_at,
        expires_at=invitation.expires_at,
        redeemed_by=invitation.redeemed_by,
    )

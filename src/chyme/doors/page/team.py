"""The page of owners: people, rights, invitations, everyone's sessions and tokens. Works without JavaScript."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import RedirectResponse, Response

from chyme.accounts.invitations import DEFAULT_DAYS, LONGEST_DAYS, NewInvitation
from chyme.accounts.permissions import Right, Visitor
from chyme.accounts.users import Account
from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.account_requests import parse_right, require_other, require_owner, user_id_of, vault_of_account
from chyme.doors.http.password_hashing import PasswordHasher
from chyme.doors.http.request_bodies import form_of
from chyme.doors.http.routes.account import Number
from chyme.doors.http.routes.team import invitation_link
from chyme.doors.page.account import as_sentence
from chyme.doors.page.rendering import page
from chyme.doors.page.shown_once import ShownOnce
from chyme.errors import NotFound, UsageError

FIELD = "vault:"  # before the identity of a vault, in the name of a form's field
MAX_FIELDS = 500  # one for each vault
DAYS = (1, 3, DEFAULT_DAYS, 14, LONGEST_DAYS)


class TeamPage:
    """Renders the page, and leads back to it after a change."""

    def __init__(self, server_vaults: ServerVaults) -> None:
        self._server_vaults = server_vaults
        self.new_links: ShownOnce[str] = ShownOnce()
        self._done_messages: ShownOnce[str] = ShownOnce()

    def render(self, request: Request, visitor: Visitor, problem: str | None = None) -> Response:
        authenticator, identities = self._server_vaults.authenticator, self._server_vaults.identities
        return page(
            request,
            "team.html",
            400 if problem else 200,
            active="team",
            people=authenticator.accounts.list_all(),
            rights_of=partial(_list_rights, self._server_vaults),
            listed=[(identity, name) for name, identity in identities.items()],
            field=FIELD,
            names=authenticator.tokens.owners(),
            own_id=visitor.user_id,
            session_id=visitor.session_id,
            sessions=authenticator.accounts.all_sessions(),
            tokens=authenticator.tokens.list_all(),
            invitations=authenticator.invitations.list_all(),
            days=DAYS,
            default_days=DEFAULT_DAYS,
            link=None if problem else self.new_links.take(visitor),
            done=None if problem else self._done_messages.take(visitor),
            problem=as_sentence(problem) if problem else None,
        )

    def back(self, visitor: Visitor, done: str) -> Response:
        self._done_messages.put(visitor, done)
        return RedirectResponse("/team", 303)


def add_routes(api: FastAPI, server_vaults: ServerVaults, password_hasher: PasswordHasher) -> None:
    """Add this page to the server."""
    team_page = TeamPage(server_vaults)
    router = APIRouter(dependencies=[Depends(require_owner)], include_in_schema=False)

    @router.get("/team")
    def team(request: Request) -> Response:
        return team_page.render(request, require_owner(request))

    _add_people_routes(router, server_vaults, password_hasher, team_page)
    _add_access_routes(router, server_vaults, team_page)
    api.include_router(router)


def _add_people_routes(
    api: APIRouter, server_vaults: ServerVaults, password_hasher: PasswordHasher, team_page: TeamPage
) -> None:
    accounts, render, back = server_vaults.authenticator.accounts, team_page.render, team_page.back

    @api.post("/team/people/{number}/rights")
    async def change_rights(request: Request, number: Number) -> Response:
        visitor, form = require_owner(request), await form_of(request, MAX_FIELDS)
        account = accounts.by_number(number)
        try:
            vaults = _vaults_in(server_vaults, form, account)
            if ("owner" in form) != account.is_owner:
                accounts.change_owner(account.name, "owner" in form)
            accounts.replace_rights(account.name, parse_right(form.get("all")), vaults)
        except UsageError as error:
            return render(request, visitor, str(error))
        return back(visitor, f"The rights of {account.name} are changed.")

    @api.post("/team/people/{number}/active")
    async def change_active(request: Request, number: Number) -> Response:
        visitor, form = require_owner(request), await form_of(request)
        account, active = accounts.by_number(number), form.get("active") == "yes"
        try:
            accounts.change_active(account.name, active)
        except UsageError as error:
            return render(request, visitor, str(error))
        return back(visitor, f"{account.name} may {'sign in again' if active else 'no longer sign in'}.")

    @api.post("/team/people/{number}/password")
    async def change_password(request: Request, number: Number) -> Response:
        visitor, form = require_owner(request), await form_of(request)
        account = accounts.by_number(number)
        try:
            require_other(visitor, number)
            await password_hasher.run(partial(accounts.change_password, account.name, form.get("password", "")))
        except UsageError as error:
            return render(request, visitor, str(error))
        return back(visitor, f"{account.name} has a new password, and is signed out everywhere.")

    @api.post("/team/people/{number}/sign-out")
    def sign_out(request: Request, number: Number) -> Response:
        visitor, account = require_owner(request), accounts.by_number(number)
        keep = visitor.session_id if number == visitor.user_id else None
        accounts.end_sessions(account.id, keep)
        return back(visitor, f"{account.name} is signed out everywhere{' else' if keep else ''}.")

    @api.post("/team/people/{number}/remove")
    def remove(request: Request, number: Number) -> Response:
        visitor, account = require_owner(request), accounts.by_number(number)
        try:
            accounts.remove(account.name)
        except UsageError as error:
            return render(request, visitor, str(error))
        return back(visitor, f"{account.name} is removed, with all sessions and tokens.")


def _add_access_routes(api: APIRouter, server_vaults: ServerVaults, team_page: TeamPage) -> None:
    """Routes about invitations, sessions and tokens."""
    authenticator, render, back = server_vaults.authenticator, team_page.render, team_page.back

    @api.post("/team/invitations")
    async def invite(request: Request) -> Response:
        visitor, form = require_owner(request), await form_of(request, MAX_FIELDS)
        try:
            made = _invite(server_vaults, visitor, form)
        except UsageError as error:
            return render(request, visitor, str(error))
        team_page.new_links.put(visitor, invitation_link(request, made.secret))
        return RedirectResponse("/team", 303)

    @api.post("/team/invitations/{number}/revoke")
    def revoke_invitation(request: Request, number: Number) -> Response:
        visitor = require_owner(request)
        if not authenticator.invitations.revoke(number):
            raise NotFound("this invitation is not open any more")
        return back(visitor, "The invitation is revoked.")

    @api.post("/team/sessions/{number}/end")
    def end_session(request: Request, number: Number) -> Response:
        visitor = require_owner(request)
        session = next((session for session in authenticator.accounts.all_sessions() if session.id == number), None)
        if session is None or not authenticator.accounts.end_session(number, session.user_id):
            raise NotFound("this session has ended already")
        return back(visitor, "The session is ended.")

    @api.post("/team/tokens/{number}/revoke")
    def revoke_token(request: Request, number: Number) -> Response:
        visitor = require_owner(request)
        if not authenticator.tokens.revoke(number):
            raise NotFound("there is no such token")
        return back(visitor, "The token is revoked.")


def _invite(server_vaults: ServerVaults, visitor: Visitor, form: Mapping[str, str]) -> NewInvitation:
    days = form.get("days", "")
    if not days.isdecimal() or len(days) > 4:
        raise UsageError("how long the invitation is open is a number of days")
    grants = [(vault, right) for vault, right in _vaults_in(server_vaults, form, None) if right is not None]
    return server_vaults.authenticator.invitations.add(
        form.get("note", ""),
        parse_right(form.get("all")),
        grants,
        user_id_of(visitor),
        owner="owner" in form,
        days=int(days),
    )


def _vaults_in(
    server_vaults: ServerVaults, form: Mapping[str, str], account: Account | None
) -> list[tuple[tuple[str, str], Right | None]]:
    """The rights to single vaults in a form, whose fields are called by identity."""
    served = {identity: name for name, identity in server_vaults.identities.items()}
    found = []
    for field, text in form.items():
        if field.startswith(FIELD):
            identity = field.removeprefix(FIELD)
            vault = vault_of_account(server_vaults, account, served.get(identity, identity))
            found.append((vault, parse_right(text)))
    return found


def _list_rights(server_vaults: ServerVaults, account: Account) -> list[tuple[str, str, str]]:
    """Identity, name and right (or an empty text) of all vaults here, and of others the person has rights to."""
    granted = {grant.vault: grant for grant in account.grants}
    rights = [
        (identity, name, granted[identity].right if identity in granted else "")
        for name, identity in server_vaults.identities.items()
    ]
    served = set(server_vaults.identities.values())
    return rights + [
        (grant.vault, grant.vault_name, grant.right) for grant in account.grants if grant.vault not in served
    ]

"""One's own account: the password, where one is signed in, and the tokens of one's programs."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Annotated

from fastapi import FastAPI, Path, Request
from fastapi.responses import RedirectResponse, Response

from chyme.accounts.api_tokens import NewToken
from chyme.accounts.login_throttle import network_key
from chyme.accounts.permissions import Right, Visitor
from chyme.application.server_vaults import ServerVaults
from chyme.doors.http.access_middleware import retry_after
from chyme.doors.http.forms import form_of
from chyme.doors.http.not_found import NotFound
from chyme.doors.page.login import PasswordHasher, vaults_of
from chyme.doors.page.rendering import page
from chyme.errors import UsageError

CHANGED = "Your password is changed. Everywhere else you are signed out; your tokens stay until you revoke them below."
KEPT_SECONDS = 60.0  # of a secret that its maker's browser does not come for
Number = Annotated[int, Path(ge=1, le=2**63 - 1)]


class NewTokens:
    """Tokens that were made and not shown yet: each once, to the session that asked for it, and soon."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._made: dict[int | None, tuple[float, NewToken]] = {}

    def put(self, who: Visitor, made: NewToken) -> None:
        begun = self._clock() - KEPT_SECONDS
        self._made = {session: one for session, one in self._made.items() if one[0] > begun}
        self._made[who.session_id] = (self._clock(), made)

    def take(self, who: Visitor) -> NewToken | None:
        at, made = self._made.pop(who.session_id, (0.0, None))
        return made if self._clock() - at < KEPT_SECONDS else None


def add_routes(api: FastAPI, house: ServerVaults, hashing: PasswordHasher) -> None:
    """Add these pages to the server."""
    doors = house.doors
    fresh = NewTokens()

    def shown(request: Request, who: Visitor, status: int = 200, **told: str | None) -> Response:
        return page(
            request,
            "account.html",
            status,
            active="account",
            name=who.name,
            session_id=who.session_id,
            sessions=doors.accounts.sessions(_user_id(who)),
            tokens=doors.tokens.of_user(_user_id(who)),
            listed=vaults_of(house, request),
            problem=told.get("problem"),
            done=told.get("done"),
            secret=told.get("secret"),
        )

    @api.get("/account", include_in_schema=False)
    def account(request: Request) -> Response:
        who = _person(request)
        made = fresh.take(who)
        if made is None:
            return shown(request, who)
        return shown(request, who, secret=made.secret, done=f"The token “{made.token.name}” is made.")

    @api.get("/account/password", include_in_schema=False)
    @api.get("/account/tokens", include_in_schema=False)
    def back() -> Response:
        return RedirectResponse("/account", 303)  # whoever reloads, or goes back to, what a form was sent to

    @api.post("/account/password", include_in_schema=False)
    async def change_password(request: Request) -> Response:
        who, form = _person(request), await form_of(request)
        keys = [network_key(request.state.client), f"password of {who.user_id}"]
        wait = doors.wrong_passwords.start_attempt(keys)
        if wait > 0:
            answer = shown(request, who, 429, problem="Too many wrong passwords. Wait a while, then try again.")
            answer.headers.update(retry_after(wait))
            return answer
        if not await hashing.run(partial(doors.accounts.check_password, who.name, form.get("current", ""))):
            return shown(request, who, 403, problem="This is not your password; nothing was changed.")
        doors.wrong_passwords.record_success(keys)
        if form.get("password", "") != form.get("again", ""):
            return shown(request, who, 400, problem="The new password was typed in two ways; nothing was changed.")
        try:
            await hashing.run(
                partial(doors.accounts.change_password, who.name, form.get("password", ""), who.session_id)
            )
        except UsageError as error:
            return shown(request, who, 400, problem=_sentence(str(error)))
        return shown(request, who, done=CHANGED)

    @api.post("/account/sessions/{number}/end", include_in_schema=False)
    def end_session(request: Request, number: Number) -> Response:
        who = _person(request)
        if not doors.accounts.end_session(number, _user_id(who)):
            raise NotFound("you are not signed in there")
        return RedirectResponse("/account", 303)

    @api.post("/account/tokens", include_in_schema=False)
    async def add_token(request: Request) -> Response:
        who, form = _person(request), await form_of(request)
        try:
            right = Right.WRITE if form.get("right") == Right.WRITE else Right.READ
            vault = _vault(house, request, form.get("vault", ""))
            made = doors.tokens.add(form.get("name", ""), right, vault, who.name, _days(form.get("days", "")))
        except UsageError as error:
            return shown(request, who, 400, problem=_sentence(str(error)))
        fresh.put(who, made)
        return RedirectResponse("/account", 303)  # a reload makes no second one

    @api.post("/account/tokens/{number}/revoke", include_in_schema=False)
    def revoke_token(request: Request, number: Number) -> Response:
        who = _person(request)
        if number not in {token.id for token in doors.tokens.of_user(_user_id(who))}:
            raise NotFound("you have no such token")
        doors.tokens.revoke(number)
        return RedirectResponse("/account", 303)


def _person(request: Request) -> Visitor:
    """Who signed in. A token opens vaults, not the account it belongs to."""
    who: Visitor | None = request.state.visitor
    if who is None or who.session_id is None:
        raise NotFound("there is no account here; 'chyme users add NAME' makes one")
    return who


def _user_id(who: Visitor) -> int:
    if who.user_id is None:
        raise NotFound("there is no account here")
    return who.user_id


def _vault(house: ServerVaults, request: Request, name: str) -> tuple[str, str] | None:
    if not name:
        return None
    if name not in request.state.vaults:
        raise UsageError(f"there is no vault called {name[:100]!r}")
    return house.identities[name], name


def _days(text: str) -> int | None:
    if not text.strip():
        return None
    if not text.strip().isdecimal() or len(text) > 9:
        raise UsageError("how long a token lives is a number of days")
    return int(text)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."

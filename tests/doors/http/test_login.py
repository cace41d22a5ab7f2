"""Signing in and out, and a user's own account, as plain forms."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from starlette.types import ASGIApp
from two_vaults import ORIGIN, PASSWORD, add_people, answers_of, sign_in, stranger, token_in, two_vaults

from chyme.accounts.login_throttle import LoginThrottle
from chyme.application.server_vaults import ServerVaults
from chyme.application.settings import Settings

pytestmark = pytest.mark.slow

NEW = "another good one"


class Clock:
    moment = datetime(2026, 4, 3, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment


@pytest.fixture
def house(tmp_path: Path) -> Iterator[ServerVaults]:
    settings = Settings(hosts="chyme.example", trusted_proxies="10.0.0.1", session_days=2)
    with two_vaults(tmp_path, settings) as opened:
        add_people(opened)
        yield opened


@pytest.fixture
def answers(house: ServerVaults) -> ASGIApp:
    return answers_of(house)


def cookies(http: TestClient) -> dict[str, str]:
    return dict(http.cookies)


def test_the_form_needs_no_script_and_leads_back(answers: ASGIApp) -> None:
    http = stranger(answers)
    form = http.get("/login?next=/v/photos/%3Fq%3Dx")
    assert form.status_code == 200 and 'name="next" value="/v/photos/?q=x"' in form.text
    answer = http.post("/login", data={"name": "ada", "password": PASSWORD, "next": "/v/photos/?q=x"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/v/photos/?q=x")
    assert http.get("/api/vaults").status_code == 200


@pytest.mark.parametrize("next_", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_the_form_leads_to_no_other_site(answers: ASGIApp, next_: str) -> None:
    http = stranger(answers)
    assert "evil" not in http.get("/login", params={"next": next_}).text
    form = {"name": "ada", "password": PASSWORD, "next": next_}
    assert http.post("/login", data=form).headers["location"] == "/"


def test_scripts_and_other_sites_cannot_use_the_cookie(answers: ASGIApp) -> None:
    answer = stranger(answers).post("/login", data={"name": "ada", "password": PASSWORD})
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("chyme_session=")
    flags = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert {"httponly", "samesite=lax", "path=/", "max-age=172800"} <= flags
    assert "secure" not in flags and not any(flag.startswith("domain") for flag in flags)


def test_behind_a_proxy_with_tls_the_cookie_is_never_sent_unencrypted(answers: ASGIApp) -> None:
    proxy = stranger(answers, "http://chyme.example", peer="10.0.0.1")
    tls = {"X-Forwarded-Proto": "https", "Origin": "https://chyme.example"}
    cookie = proxy.post("/login", data={"name": "ada", "password": PASSWORD}, headers=tls).headers["set-cookie"]
    assert cookie.startswith("__Host-chyme_session=") and "Secure" in cookie
    elsewhere = stranger(answers, "http://chyme.example", peer="203.0.113.9")
    answer = elsewhere.post(
        "/login", data={"name": "ada", "password": PASSWORD}, headers={"X-Forwarded-Proto": "https"}
    )
    assert "Secure" not in answer.headers["set-cookie"]  # a stranger's header is not trusted


def test_wrong_names_and_wrong_passwords_get_the_same_answer(answers: ASGIApp) -> None:
    outcomes = []
    for name, password in (("ada", "wrong"), ("nobody", PASSWORD)):
        answer = stranger(answers).post("/login", data={"name": name, "password": password})
        outcomes.append(
            (answer.status_code, answer.text.replace(f'value="{name}"', ""), "set-cookie" in answer.headers)
        )
    assert outcomes[0] == outcomes[1]
    assert outcomes[0][0] == 401 and "do not belong together" in outcomes[0][1]


def test_after_five_wrong_passwords_even_the_right_one_has_to_wait(house: ServerVaults, answers: ASGIApp) -> None:
    house.authenticator.wrong_passwords = LoginThrottle(5, Clock())  # no wait passes while the machine is slow
    http = stranger(answers)
    codes = [http.post("/login", data={"name": "ada", "password": f"no {n}"}).status_code for n in range(5)]
    assert codes == [401] * 5
    waiting = http.post("/login", data={"name": "ada", "password": PASSWORD})
    assert waiting.status_code == 429 and 0 < int(waiting.headers["retry-after"]) <= 5
    assert "set-cookie" not in waiting.headers
    elsewhere = stranger(answers, peer="127.0.0.9")  # the name has to wait at every address, but not for long
    assert elsewhere.post("/login", data={"name": "ADA", "password": PASSWORD}).status_code == 429
    assert elsewhere.post("/login", data={"name": "bob", "password": PASSWORD}).status_code == 303
    # The first address has to wait, too, whatever the name.
    assert http.post("/login", data={"name": "bob", "password": PASSWORD}).status_code == 429


def test_guesses_of_others_do_not_lock_a_user_out_for_long(house: ServerVaults, answers: ASGIApp) -> None:
    """An attacker guesses from many addresses, at the end of each wait, for as long as they like."""
    clock = Clock()
    house.authenticator.wrong_passwords = LoginThrottle(5, clock)
    for number in range(12):
        guesser = stranger(answers, peer=f"127.0.1.{number}")
        for _ in range(2):
            answer = guesser.post("/login", data={"name": "ada", "password": "wrong"})
            clock.moment += timedelta(seconds=int(answer.headers.get("retry-after", 0)))
            assert answer.status_code == 401 or int(answer.headers["retry-after"]) <= 30
    ada = stranger(answers, peer="127.0.0.77")
    waiting = ada.post("/login", data={"name": "ada", "password": PASSWORD})
    if waiting.status_code == 429:
        assert 0 < int(waiting.headers["retry-after"]) <= 30
        clock.moment += timedelta(seconds=int(waiting.headers["retry-after"]))
        waiting = ada.post("/login", data={"name": "ada", "password": PASSWORD})
    assert waiting.status_code == 303


def test_having_an_account_allows_no_more_guesses_at_another(house: ServerVaults, answers: ASGIApp) -> None:
    clock = Clock()
    house.authenticator.wrong_passwords = LoginThrottle(5, clock)
    http, waits = stranger(answers), []
    for _ in range(20):
        answer = http.post("/login", data={"name": "ada", "password": "wrong"})
        if answer.status_code == 429:
            waits.append(int(answer.headers["retry-after"]))
            clock.moment += timedelta(seconds=waits[-1])
        sign_in(stranger(answers), "bob")  # this clears the address of suspicion
    assert max(waits) > 30


@pytest.mark.parametrize(
    ("body", "kind", "code"),
    [
        (b"", "application/x-www-form-urlencoded", 401),
        (b"name=%00%ff&password=%ed%a0%80", "application/x-www-form-urlencoded", 401),
        (b"\xff=1", "application/x-www-form-urlencoded", 400),
        (b"a=1&" * 100, "application/x-www-form-urlencoded", 400),
        (b"name=" + b"x" * 20_000, "application/x-www-form-urlencoded", 413),
        (b'{"name": "ada"}', "application/json", 415),
        (b"name=ada", "", 415),
    ],
)
def test_odd_forms_are_refused(answers: ASGIApp, body: bytes, kind: str, code: int) -> None:
    assert stranger(answers).post("/login", content=body, headers={"Content-Type": kind}).status_code == code


def test_typed_input_is_shown_as_text(answers: ASGIApp) -> None:
    answer = stranger(answers).post("/login", data={"name": '"><script>alert(1)</script>', "password": "x"})
    assert "<script>alert" not in answer.text


def test_signing_out_ends_the_session_itself(answers: ASGIApp) -> None:
    http = sign_in(stranger(answers), "ada")
    old_cookies = cookies(http)
    assert http.post("/logout", headers=ORIGIN).headers["location"] == "/login"
    assert cookies(http) == {}
    thief = stranger(answers)
    thief.cookies.update(old_cookies)
    assert thief.get("/api/vaults").status_code == 401


def test_signing_in_again_ends_the_previous_session(answers: ASGIApp) -> None:
    http = sign_in(stranger(answers), "ada")
    old_cookies = cookies(http)
    answer = http.post("/login", data={"name": "ada", "password": PASSWORD}, headers=ORIGIN)
    assert answer.status_code == 303 and cookies(http) != old_cookies
    thief = stranger(answers)
    thief.cookies.update(old_cookies)
    assert thief.get("/api/vaults").status_code == 401


def test_changing_the_password_signs_out_everywhere_else(answers: ASGIApp) -> None:
    here, there = sign_in(stranger(answers), "ada"), sign_in(stranger(answers), "ada")

    def change(current: str, new: str, again: str) -> int:
        form = {"current": current, "password": new, "again": again}
        return here.post("/account/password", data=form, headers=ORIGIN).status_code

    assert change("wrong", NEW, NEW) == 403
    assert change(PASSWORD, NEW, "typed otherwise") == 400
    assert change(PASSWORD, "short", "short") == 400
    assert there.get("/api/vaults").status_code == 200
    assert change(PASSWORD, NEW, NEW) == 200
    assert here.get("/account").status_code == 200
    assert there.get("/api/vaults").status_code == 401
    assert stranger(answers).post("/login", data={"name": "ada", "password": PASSWORD}).status_code == 401
    sign_in(stranger(answers), "ada", NEW)


def test_a_new_password_does_not_revoke_tokens_and_says_so(answers: ASGIApp) -> None:
    http = sign_in(stranger(answers), "ada")
    form = {"name": "my script", "vault": "", "right": "read", "days": ""}
    program = stranger(answers)
    assert http.post("/account/tokens", data=form, headers=ORIGIN).status_code == 303
    secret = token_in(http.get("/account").text)
    program.headers["Authorization"] = f"Bearer {secret}"
    assert "Tokens stay valid: revoke below" in http.get("/account").text
    changed = {"current": PASSWORD, "password": NEW, "again": NEW}
    assert "your tokens stay until you revoke them" in http.post("/account/password", data=changed, headers=ORIGIN).text
    assert program.get("/api/vaults").status_code == 200


def test_guessing_the_password_in_an_open_session_is_limited_too(house: ServerVaults, answers: ASGIApp) -> None:
    house.authenticator.wrong_passwords = LoginThrottle(5, Clock())
    http = sign_in(stranger(answers), "ada")
    form = {"current": "wrong", "password": NEW, "again": NEW}
    codes = [http.post("/account/password", data=form, headers=ORIGIN).status_code for _ in range(6)]
    assert codes == [403] * 5 + [429]


def test_users_can_end_their_own_sessions_but_not_those_of_others(house: ServerVaults, answers: ASGIApp) -> None:
    here, there = sign_in(stranger(answers), "ada"), sign_in(stranger(answers), "ada")
    bob = sign_in(stranger(answers), "bob")
    assert there.get("/account").text.count("/end") == 1
    numbers = [session.id for session in house.authenticator.accounts.sessions(1)]
    for number in numbers:
        assert bob.post(f"/account/sessions/{number}/end", headers=ORIGIN).status_code == 404
    mine = min(numbers)
    assert there.post(f"/account/sessions/{mine}/end", headers=ORIGIN).status_code == 303
    assert here.get("/api/vaults").status_code == 401 and there.get("/api/vaults").status_code == 200
    assert there.post(f"/account/sessions/{10**30}/end", headers=ORIGIN).status_code == 422


def test_a_token_is_shown_once_and_opens_no_more_than_its_owner_may(answers: ASGIApp) -> None:
    bob = sign_in(stranger(answers), "bob")
    form = {"name": "my script", "vault": "", "right": "write", "days": "3"}
    made = bob.post("/account/tokens", data=form, headers=ORIGIN)
    assert (made.status_code, made.headers["location"], "chyme_" in made.text) == (303, "/account", False)
    assert "chyme_" not in sign_in(stranger(answers), "ada").get("/account").text  # only its maker may see it
    assert "chyme_" not in sign_in(stranger(answers), "bob").get("/account").text
    secret = token_in(bob.get("/account").text)
    assert "chyme_" not in bob.get("/account").text
    assert bob.get("/account/tokens").headers["location"] == "/account"  # a reload makes no second token
    assert bob.get("/account").text.count("my script") == 2  # once to read, once for screen readers
    program = stranger(answers)
    program.headers["Authorization"] = f"Bearer {secret}"
    assert program.get("/v/photos/api/status").status_code == 200
    assert program.get("/v/diary/api/status").status_code == 404
    assert program.post("/v/photos/api/links", json={"url": "https://example.org/"}).status_code == 403
    assert bob.post("/account/tokens", data={**form, "vault": "diary"}, headers=ORIGIN).status_code == 400
    assert bob.post("/account/tokens", data={**form, "days": "soon"}, headers=ORIGIN).status_code == 400
    ada = sign_in(stranger(answers), "ada")
    assert ada.post("/account/tokens/1/revoke", headers=ORIGIN).status_code == 404
    assert bob.post("/account/tokens/1/revoke", headers=ORIGIN).status_code == 303
    assert program.get("/api/vaults").status_code == 401


def test_the_chooser_shows_only_vaults_that_the_user_may_read(answers: ASGIApp) -> None:
    ada = sign_in(stranger(answers), "ada").get("/").text
    assert "/v/photos/" in ada and "/v/diary/" in ada and "1 file" in ada
    bob = sign_in(stranger(answers), "bob").get("/account").text
    assert "photos" in bob and "diary" not in bob

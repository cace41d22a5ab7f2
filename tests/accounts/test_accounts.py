"""Accounts, tokens and sessions: who has access. Secrets are stored as hashes in a file private to its owner."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from chyme.accounts.authentication import Authenticator
from chyme.accounts.permissions import Right
from chyme.errors import UsageError

pytestmark = pytest.mark.slow

PASSWORD = "correct horse battery"
PHOTOS, DIARY = ("p" * 32, "photos"), ("d" * 32, "diary")


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 4, 3, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def pass_by(self, **span: float) -> None:
        self.moment += timedelta(**span)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def doors(tmp_path: Path, clock: Clock) -> Iterator[Authenticator]:
    with closing(Authenticator(tmp_path / "server", clock)) as opened:
        yield opened


def test_nothing_is_created_before_the_first_user_or_token(doors: Authenticator, tmp_path: Path) -> None:
    assert not doors.login_required
    assert doors.by_session("x") is None and doors.by_token("x") is None
    assert (doors.accounts.list_all(), doors.tokens.list_all(), doors.tokens.revoke(1)) == ([], [], False)
    assert not doors.accounts.check_password("ada", PASSWORD)
    assert list(tmp_path.iterdir()) == []


def test_login_is_required_from_the_first_user_until_the_last_is_removed(doors: Authenticator) -> None:
    doors.accounts.add("Ada", PASSWORD)
    assert doors.login_required
    doors.accounts.remove("ada")
    assert not doors.login_required


def test_login_is_required_while_there_is_a_token(doors: Authenticator) -> None:
    made = doors.tokens.add("ci", Right.READ)
    assert doors.login_required
    assert doors.tokens.revoke(made.token.id)
    assert not doors.login_required


def test_another_process_is_noticed(doors: Authenticator, tmp_path: Path, clock: Clock) -> None:
    assert not doors.login_required
    with closing(Authenticator(tmp_path / "server", clock)) as other:
        other.accounts.add("Ada", PASSWORD)
    assert doors.login_required


def test_only_its_owner_may_read_the_file_and_it_contains_no_secret(doors: Authenticator, tmp_path: Path) -> None:
    doors.accounts.add("Ada", PASSWORD, Right.WRITE)
    token = doors.tokens.add("ci", Right.READ).secret
    session = doors.accounts.sign_in("ada", PASSWORD, 1, "Firefox")
    assert session is not None
    folder = tmp_path / "server"
    assert folder.stat().st_mode & 0o777 == 0o700
    files = list(folder.iterdir())
    assert files and all(file.stat().st_mode & 0o077 == 0 for file in files)
    stored = b"".join(file.read_bytes() for file in files)
    assert b"Firefox" in stored
    for secret in (PASSWORD, token, token.removeprefix("chyme_"), session.secret):
        assert secret.encode() not in stored


@pytest.mark.parametrize(
    "password", ["", "short", "password", "PASSWORD", "changeme", "aaaaaaaaaa", "ada lovelace", "x" * 2000]
)
def test_common_passwords_are_refused(doors: Authenticator, password: str) -> None:
    with pytest.raises(UsageError, match="password is"):
        doors.accounts.add("Ada Lovelace", password)
    assert not doors.login_required


@pytest.mark.parametrize("name", ["", "  ", "a/b", "a\x00b", "a\u202eb", "x" * 65, "a:b"])
def test_names_that_could_deceive_are_refused(doors: Authenticator, name: str) -> None:
    with pytest.raises(UsageError, match="no name"):
        doors.accounts.add(name, PASSWORD)


def test_names_that_look_alike_are_the_same_name(doors: Authenticator) -> None:
    doors.accounts.add("Ada", PASSWORD)
    for alike in ("ada", " ADA ", "\uff21da"):  # the last with a fullwidth A
        with pytest.raises(UsageError, match="already"):
            doors.accounts.add(alike, PASSWORD)


def test_signing_in_needs_name_and_password(doors: Authenticator) -> None:
    doors.accounts.add("Ada", PASSWORD, Right.READ)
    assert doors.accounts.sign_in("ada", "wrong", 1, "") is None
    assert doors.accounts.sign_in("nobody", PASSWORD, 1, "") is None
    signed_in = doors.accounts.sign_in("ADA", PASSWORD, 1, "x" * 5000)
    assert signed_in is not None and signed_in.name == "Ada"
    visitor = doors.by_session(signed_in.secret)
    assert visitor is not None and visitor.account == "Ada"
    assert len(doors.accounts.sessions(signed_in.user_id)[0].hint) == 200


def test_a_session_ends_by_itself(doors: Authenticator, clock: Clock) -> None:
    doors.accounts.add("Ada", PASSWORD)
    signed_in = doors.accounts.sign_in("ada", PASSWORD, 2, "")
    assert signed_in is not None and doors.by_session(signed_in.secret) is not None
    clock.pass_by(days=2)
    assert doors.by_session(signed_in.secret) is None
    assert doors.accounts.sessions(signed_in.user_id) == []


def test_a_new_password_ends_all_sessions_except_the_current_session(doors: Authenticator) -> None:
    doors.accounts.add("Ada", PASSWORD)
    here, there = (doors.accounts.sign_in("ada", PASSWORD, 1, "") for _ in range(2))
    assert here is not None and there is not None
    visitor = doors.by_session(here.secret)
    assert visitor is not None
    doors.accounts.change_password("ada", "another good one", visitor.session_id)
    assert doors.by_session(here.secret) is not None and doors.by_session(there.secret) is None
    assert doors.accounts.sign_in("ada", PASSWORD, 1, "") is None
    doors.accounts.change_password("ada", "a third good one")
    assert doors.by_session(here.secret) is None


def test_a_removed_user_loses_access_at_once(doors: Authenticator) -> None:
    doors.accounts.add("Ada", PASSWORD, Right.WRITE)
    doors.accounts.add("Bob", PASSWORD, Right.WRITE)
    signed_in = doors.accounts.sign_in("ada", PASSWORD, 1, "")
    token = doors.tokens.add("ci", Right.WRITE, owner="ada").secret
    assert signed_in is not None
    visitor = doors.by_session(signed_in.secret)
    assert visitor is not None and doors.refresh(visitor) is not None
    doors.accounts.remove("ada")
    assert doors.by_session(signed_in.secret) is None and doors.by_token(token) is None
    assert doors.refresh(visitor) is None


def test_a_user_cannot_end_the_session_of_another(doors: Authenticator) -> None:
    doors.accounts.add("Ada", PASSWORD)
    doors.accounts.add("Bob", PASSWORD)
    ada, bob = (doors.accounts.sign_in(name, PASSWORD, 1, "") for name in ("ada", "bob"))
    assert ada is not None and bob is not None
    (session,) = doors.accounts.sessions(ada.user_id)
    assert not doors.accounts.end_session(session.id, bob.user_id)
    assert doors.by_session(ada.secret) is not None
    assert doors.accounts.end_session(session.id, ada.user_id)
    assert doors.by_session(ada.secret) is None


def test_rights_are_given_per_vault(doors: Authenticator) -> None:
    doors.accounts.add("Ada", PASSWORD)
    doors.accounts.grant("ada", PHOTOS, Right.WRITE)
    doors.accounts.grant("ada", DIARY, Right.READ)
    signed_in = doors.accounts.sign_in("ada", PASSWORD, 1, "")
    assert signed_in is not None
    visitor = doors.by_session(signed_in.secret)
    assert visitor is not None
    assert visitor.may(PHOTOS[0], Right.WRITE) and visitor.may(PHOTOS[0], Right.READ)
    assert visitor.may(DIARY[0], Right.READ) and not visitor.may(DIARY[0], Right.WRITE)
    assert not visitor.may("another", Right.READ)
    doors.accounts.revoke("ada", DIARY)
    doors.accounts.grant("ada", PHOTOS, Right.READ)
    now = doors.refresh(visitor)
    assert now is not None and not now.may(DIARY[0], Right.READ) and not now.may(PHOTOS[0], Right.WRITE)
    with pytest.raises(UsageError, match="no right of their own"):
        doors.accounts.revoke("ada", DIARY)
    doors.accounts.grant("ada", None, Right.READ)
    everywhere = doors.refresh(visitor)
    assert everywhere is not None and everywhere.may("another", Right.READ)
    doors.accounts.revoke("ada", None)
    least = doors.refresh(visitor)
    assert least is not None and not least.may("another", Right.READ)


def test_a_token_gives_access_to_one_vault_or_all_to_read_or_write(doors: Authenticator) -> None:
    photos_visitor = doors.by_token(doors.tokens.add("one", Right.WRITE, PHOTOS).secret)
    reading_visitor = doors.by_token(doors.tokens.add("all", Right.READ).secret)
    assert photos_visitor is not None and reading_visitor is not None
    assert photos_visitor.may(PHOTOS[0], Right.WRITE) and not photos_visitor.may(DIARY[0], Right.READ)
    assert reading_visitor.may(DIARY[0], Right.READ) and not reading_visitor.may(DIARY[0], Right.WRITE)
    assert photos_visitor.account == ""  # a program has no account page


def test_a_token_never_opens_more_than_its_owner_may(doors: Authenticator) -> None:
    doors.accounts.add("Ada", PASSWORD)
    doors.accounts.grant("ada", PHOTOS, Right.READ)
    visitor = doors.by_token(doors.tokens.add("all", Right.WRITE, owner="Ada").secret)
    assert visitor is not None
    assert visitor.may(PHOTOS[0], Right.READ)
    assert not visitor.may(PHOTOS[0], Right.WRITE) and not visitor.may(DIARY[0], Right.READ)


def test_a_token_expires_after_its_days_and_login_is_still_required(doors: Authenticator, clock: Clock) -> None:
    secret = doors.tokens.add("ci", Right.READ, days=3).secret
    assert doors.by_token(secret) is not None
    clock.pass_by(days=3)
    assert doors.by_token(secret) is None and doors.login_required


def test_the_last_use_of_a_token_is_recorded_once_a_minute(doors: Authenticator, clock: Clock) -> None:
    secret = doors.tokens.add("ci", Right.READ).secret
    doors.by_token(secret)
    doors.tokens.add("flushes what was submitted", Right.READ)
    first = doors.tokens.list_all()[0].last_used_at
    assert first is not None
    clock.pass_by(seconds=59)
    doors.by_token(secret)
    doors.tokens.add("flushes again", Right.READ)
    assert doors.tokens.list_all()[0].last_used_at == first
    clock.pass_by(seconds=1)
    doors.by_token(secret)
    doors.tokens.add("and again", Right.READ)
    assert doors.tokens.list_all()[0].last_used_at != first


@pytest.mark.parametrize("days", [0, -1, 10**9])
def test_an_impossible_lifetime_of_a_token_is_refused(doors: Authenticator, days: int) -> None:
    with pytest.raises(UsageError, match="days"):
        doors.tokens.add("ci", Right.READ, days=days)


def test_the_schema_refuses_invalid_rows(doors: Authenticator) -> None:
    doors.accounts.add("Ada", PASSWORD)
    with closing(sqlite3.connect(doors.path)) as db:
        for statement in (
            "UPDATE users SET password = 'in plain'",
            "UPDATE users SET everything = 'admin'",
            "INSERT INTO tokens (name, hash, \"right\", created_at) VALUES ('x', 'short', 'read', '')",
            "INSERT INTO grants VALUES (1, '', 'x', 'read')",
        ):
            with pytest.raises(sqlite3.IntegrityError):
                db.execute(statement)

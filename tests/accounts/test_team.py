"""Owners, invitations, the first owner, and last use."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from chyme.accounts import passwords
from chyme.accounts.authentication import Authenticator
from chyme.accounts.first_owner import FirstOwner
from chyme.accounts.permissions import Right
from chyme.core.store.sqlite.copies import remove_sessions
from chyme.errors import NotFound, UsageError

pytestmark = pytest.mark.slow

PASSWORD = "correct horse battery"
PHOTOS, DIARY = ("p" * 32, "photos"), ("d" * 32, "diary")


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 4, 3, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hashing takes 64 MB and a core, by design; test_accounts.py really does that."""
    monkeypatch.setattr(passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    passwords._dummy_hash.cache_clear()
    yield
    passwords._dummy_hash.cache_clear()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def doors(tmp_path: Path, clock: Clock) -> Iterator[Authenticator]:
    with closing(Authenticator(tmp_path / "server", clock)) as opened:
        yield opened


def test_the_last_owner_is_never_removed_demoted_or_deactivated(doors: Authenticator) -> None:
    accounts = doors.accounts
    accounts.add("Ada", PASSWORD, Right.WRITE, owner=True)
    accounts.add("Bob", PASSWORD, Right.WRITE)
    for attempt in (
        lambda: accounts.remove("ada"),
        lambda: accounts.change_owner("ada", False),
        lambda: accounts.change_active("ada", False),
    ):
        with pytest.raises(UsageError, match="last owner"):
            attempt()
    accounts.change_owner("bob", True)
    accounts.change_active("ada", False)
    with pytest.raises(UsageError, match="last owner"):  # an owner who may not sign in is of no help
        accounts.change_owner("bob", False)
    accounts.remove("ada")
    assert [account.name for account in accounts.list_all() if account.is_owner] == ["Bob"]


def test_of_two_owners_who_demote_each_other_at_once_one_remains(doors: Authenticator) -> None:
    for name in ("Ada", "Bob"):
        doors.accounts.add(name, PASSWORD, owner=True)

    def demote(name: str) -> bool:
        try:
            doors.accounts.change_owner(name, False)
        except UsageError:
            return False
        return True

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(demote, ("Ada", "Bob"))) == [False, True]


def test_the_schema_itself_keeps_the_last_owner(doors: Authenticator) -> None:
    doors.accounts.add("Ada", PASSWORD, owner=True)
    with closing(sqlite3.connect(doors.path)) as db:
        for statement in ("DELETE FROM users", "UPDATE users SET owner = 0", "UPDATE users SET active = 0"):
            with pytest.raises(sqlite3.IntegrityError, match="last owner"):
                db.execute(statement)


def test_a_deactivated_person_is_out_at_once_and_comes_back_with_their_rights(doors: Authenticator) -> None:
    doors.accounts.add("Ada", PASSWORD, owner=True)
    doors.accounts.add("Bob", PASSWORD, Right.READ)
    session = doors.accounts.sign_in("bob", PASSWORD, 1, "")
    token = doors.tokens.add("script", Right.READ, owner="bob").secret
    assert session is not None and doors.by_session(session.secret) and doors.by_token(token)
    doors.accounts.change_active("bob", False)
    assert doors.by_session(session.secret) is None and doors.by_token(token) is None
    assert doors.accounts.sign_in("bob", PASSWORD, 1, "") is None
    doors.accounts.change_active("bob", True)
    assert doors.by_session(session.secret) is None and doors.by_token(token) is not None
    assert doors.accounts.sign_in("bob", PASSWORD, 1, "") is not None


def test_an_invitation_gives_exactly_the_rights_that_were_fixed(doors: Authenticator) -> None:
    made = doors.invitations.add("for Bob", None, [(PHOTOS, Right.READ)])
    assert made.secret.encode() not in b"".join(file.read_bytes() for file in doors.path.parent.iterdir())
    assert doors.invitations.redeem(f" {made.secret}\n", "Bob", PASSWORD) == "Bob"
    account = doors.accounts.get("bob")
    assert (account.everything, account.is_owner) == (None, False)
    assert [(grant.vault_name, grant.right) for grant in account.grants] == [("photos", "read")]
    ((kept, state),) = doors.invitations.list_all()
    assert (state, kept.redeemed_by) == ("used", "Bob")


def test_used_revoked_expired_and_invented_invitations_open_nothing(doors: Authenticator, clock: Clock) -> None:
    used, revoked, expired = (doors.invitations.add(note, Right.WRITE, [], days=1) for note in ("a", "b", "c"))
    doors.invitations.redeem(used.secret, "Bob", PASSWORD)
    assert doors.invitations.revoke(revoked.invitation.id)
    assert not doors.invitations.revoke(used.invitation.id)
    clock.moment += timedelta(days=1)
    for secret in (used.secret, revoked.secret, expired.secret, "chyme_invitation_x", ""):
        with pytest.raises(NotFound, match="not open"):
            doors.invitations.redeem(secret, "Eve", PASSWORD)
    assert [account.name for account in doors.accounts.list_all()] == ["Bob"]
    assert sorted(state for _, state in doors.invitations.list_all()) == ["expired", "revoked", "used"]


def test_a_name_that_is_taken_or_a_poor_password_does_not_use_the_invitation_up(doors: Authenticator) -> None:
    doors.accounts.add("Ada", PASSWORD)
    made = doors.invitations.add("", Right.READ, [])
    for name, password in (("ada", PASSWORD), ("Bob", "short"), ("a/b", PASSWORD)):
        with pytest.raises(UsageError):
            doors.invitations.redeem(made.secret, name, password)
    assert doors.invitations.redeem(made.secret, "Bob", PASSWORD) == "Bob"


def test_of_many_redemptions_at_once_one_succeeds(doors: Authenticator) -> None:
    made = doors.invitations.add("", Right.READ, [])

    def redeem(number: int) -> bool:
        try:
            doors.invitations.redeem(made.secret, f"Bob {number}", PASSWORD)
        except NotFound:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(redeem, range(8))) == 1
    assert len(doors.accounts.list_all()) == 1


def test_invitations_of_a_former_owner_are_revoked(doors: Authenticator) -> None:
    doors.accounts.add("Ada", PASSWORD, owner=True)
    for change in (
        lambda: doors.accounts.change_owner("bob", False),
        lambda: doors.accounts.change_active("bob", False),
        lambda: doors.accounts.remove("bob"),
    ):
        bob = doors.accounts.add("Bob", PASSWORD, owner=True)
        made = doors.invitations.add("", Right.WRITE, [], bob.id, owner=True)
        assert doors.invitations.find_open(made.secret) is not None
        change()
        assert doors.invitations.find_open(made.secret) is None
        if len(doors.accounts.list_all()) > 1:
            with pytest.raises(UsageError, match="only owners"):
                doors.invitations.add("", Right.READ, [], bob.id)
            doors.accounts.remove("bob")


def test_a_backup_holds_no_open_invitation(doors: Authenticator, tmp_path: Path, clock: Clock) -> None:
    made = doors.invitations.add("", Right.WRITE, [(PHOTOS, Right.READ)])
    (tmp_path / "copy").mkdir()
    with closing(sqlite3.connect(doors.path)) as db:
        db.execute("VACUUM INTO ?", (str(tmp_path / "copy/server.db"),))
    remove_sessions(tmp_path / "copy/server.db")
    with closing(Authenticator(tmp_path / "copy", clock)) as restored:
        assert restored.invitations.find_open(made.secret) is None


def test_last_use_and_address_are_recorded(doors: Authenticator, clock: Clock) -> None:
    account = doors.accounts.add("Ada", PASSWORD)
    assert account.last_used_at is None
    session = doors.accounts.sign_in("ada", PASSWORD, 1, "Firefox", "192.0.2.7")
    assert session is not None
    clock.moment += timedelta(minutes=5)
    doors.by_session(session.secret, "192.0.2.8")
    doors.tokens.add("flushes what was submitted", Right.READ)
    (listed,) = doors.accounts.sessions(session.user_id)
    assert (listed.address, listed.seen_at[11:16]) == ("192.0.2.8", "12:05")
    assert (doors.accounts.get("ada").last_used_at or "")[11:16] == "12:05"


def test_a_token_is_not_made_for_more_than_its_owner_may(doors: Authenticator) -> None:
    doors.accounts.add("Bob", PASSWORD)
    doors.accounts.grant("bob", PHOTOS, Right.READ)
    session = doors.accounts.sign_in("bob", PASSWORD, 1, "")
    assert session is not None
    visitor = doors.by_session(session.secret)
    assert visitor is not None
    with pytest.raises(UsageError, match="only read"):
        doors.tokens.add_own(visitor, "x", Right.WRITE, PHOTOS, None)
    with pytest.raises(UsageError, match="no vault"):
        doors.tokens.add_own(visitor, "x", Right.READ, DIARY, None)
    everywhere = doors.by_token(doors.tokens.add_own(visitor, "x", Right.WRITE, None, None).secret)
    assert everywhere is not None and everywhere.may(PHOTOS[0], Right.READ)
    assert not everywhere.may(PHOTOS[0], Right.WRITE) and not everywhere.may(DIARY[0], Right.READ)


def test_the_code_makes_one_owner_once(doors: Authenticator) -> None:
    first = FirstOwner(doors)
    assert first.is_awaited and first.is_code(first.code) and first.is_code(f" {first.code.replace('-', ' ').lower()}")
    assert not first.is_code("") and not first.is_code(first.code[:-1])
    assert FirstOwner(doors).code != first.code
    account = first.make("Ada", PASSWORD)
    assert account.is_owner and account.everything is Right.WRITE
    assert not first.is_awaited
    with pytest.raises(UsageError, match="done"):
        first.make("Eve", PASSWORD)


def test_the_set_up_ends_with_an_account_made_elsewhere_and_does_not_begin_again(doors: Authenticator) -> None:
    first = FirstOwner(doors)
    token = doors.tokens.add("made at the command line", Right.READ)
    assert not first.is_awaited
    doors.tokens.revoke(token.token.id)
    assert not first.is_awaited
    with pytest.raises(UsageError):
        first.make("Eve", PASSWORD)


def test_of_several_first_owners_at_once_one_is_made(doors: Authenticator) -> None:
    def make(number: int) -> bool:
        try:
            doors.accounts.add_first(f"Ada {number}", PASSWORD)
        except UsageError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(make, range(8))) == 1


def test_users_who_could_change_everything_become_owners(tmp_path: Path, clock: Clock) -> None:
    folder = tmp_path / "server"
    folder.mkdir(mode=0o700)
    script = resources.files("chyme.core.store").joinpath("server_migrations/0001_doors.sql").read_text()
    with closing(sqlite3.connect(folder / "server.db")) as db:
        db.executescript(script)
        for name, everything in (("Ada", "write"), ("Bob", "read"), ("Eve", None)):
            db.execute(
                "INSERT INTO users (name, folded, password, everything, created_at) VALUES (?, ?, ?, ?, '2026')",
                (name, name.lower(), "$argon2id$x", everything),
            )
        db.execute("PRAGMA user_version = 1")
        db.commit()
    (folder / "server.db").chmod(0o600)
    with closing(Authenticator(folder, clock)) as doors:
        assert [(account.name, account.is_owner) for account in doors.accounts.list_all()] == [
            ("Ada", True),
            ("Bob", False),
            ("Eve", False),
        ]
        assert all(account.is_active for account in doors.accounts.list_all())

"""chyme users and chyme tokens, run as commands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from at_the_keyboard import Typed
from click.testing import CliRunner

from chyme.application.app import open_app
from chyme.doors.cli.commands.tokens import tokens
from chyme.doors.cli.commands.users import users
from chyme.doors.cli.main import Chyme

pytestmark = pytest.mark.slow  # each takes little time, but there are many

PASSWORD = "correct horse battery"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CHYME_SERVER_DIR", os.fspath(tmp_path / "server"))
    for name in ("photos", "diary"):
        (tmp_path / name).mkdir()
        with open_app(tmp_path / name):
            pass
    return tmp_path


def add(root: Path, *words: str, typed: str = f"{PASSWORD}\n") -> tuple[int, str]:
    command = Chyme("chyme", {"users": users})
    vault = ["--vault", os.fspath(root / "photos")]
    answer = CliRunner().invoke(command, ["users", "add", *words, *vault], input=typed)
    return answer.exit_code, answer.output


def test_a_user_may_open_all_vaults_or_the_named_ones(root: Path) -> None:
    photos, diary = os.fspath(root / "photos"), os.fspath(root / "diary")
    assert add(root, "ada", "--password-stdin") == (0, "ada may read and change every vault, owner\n")
    assert add(root, "eve", "--read-only", "--password-stdin") == (0, "eve may read every vault\n")
    result = add(root, "bob", "--access", f"{photos}:read", "--access", diary, "--password-stdin")
    assert result == (0, "bob may read and change diary and read photos\n")
    listed = Typed(root / "photos", users).json("list")["users"]
    assert [(user["name"], user["all_vaults"], len(user["vaults"])) for user in listed] == [
        ("ada", "write", 0),
        ("bob", None, 2),
        ("eve", "read", 0),
    ]


def test_the_password_is_requested_twice_and_not_shown(root: Path) -> None:
    code, output = add(root, "ada", typed=f"{PASSWORD}\n{PASSWORD}\n")
    assert code == 0 and PASSWORD not in output
    assert add(root, "bob", "--password-stdin", typed="")[0] == 2
    code, output = add(root, "bob", "--password-stdin", typed="password\n")
    assert code == 2 and "everybody tries first" in output
    code, output = add(root, "ADA", "--password-stdin")
    assert code == 2 and "already" in output


def test_rights_are_granted_and_revoked(root: Path) -> None:
    add(root, "ada", "--access", os.fspath(root / "photos"), "--password-stdin")
    chyme = Typed(root / "photos", users)
    assert chyme.says("grant", "ada", os.fspath(root / "diary"), "--read-only").endswith(
        "read diary and read and change photos\n"
    )
    assert chyme.says("revoke", "ada", os.fspath(root / "photos")) == "ada may read diary\n"
    assert "no right of their own" in chyme.refuses("revoke", "ada", os.fspath(root / "photos"))
    assert "every vault" in chyme.says("grant", "ada", "--all-vaults")
    assert chyme.says("revoke", "ada", "--all-vaults", os.fspath(root / "diary")) == "ada may open nothing yet\n"
    assert "no user" in chyme.refuses("grant", "nobody", "--all-vaults")
    assert "is not a vault" in chyme.refuses("grant", "ada", os.fspath(root / "server"))
    removed = chyme.json("remove", "ada")
    assert removed == {"removed": "ada", "open": True}
    assert "no users" in chyme.says("list")


def test_a_token_is_shown_once(root: Path) -> None:
    chyme = Typed(root / "photos", tokens)
    assert not (root / "server").exists() and "no tokens" in chyme.says()
    secret = chyme.says("add", "ci", "--only", os.fspath(root / "photos"), "--read-only", "--expires", "3").strip()
    assert secret.startswith("chyme_") and len(secret) == 49
    (listed,) = chyme.json("list")["tokens"]
    assert (listed["name"], listed["vault"], listed["right"], listed["user"]) == ("ci", "photos", "read", None)
    assert secret not in chyme.says("list")
    assert "no user" in chyme.refuses("add", "x", "--user", "nobody")
    made = chyme.json("add", "ci")
    assert "revoke one by its number: 1, 2" in chyme.refuses("revoke", "ci")
    assert chyme.json("revoke", str(made["token"]["id"])) == {"revoked": "ci", "id": 2, "open": False}
    assert "open again" in chyme.says("revoke", "ci")
    assert "no token" in chyme.refuses("revoke", "ci")


def test_the_first_user_who_may_do_all_is_an_owner_and_the_last_owner_stays(root: Path) -> None:
    add(root, "guest", "--read-only", "--password-stdin")
    add(root, "ada", "--owner", "--password-stdin")
    add(root, "bob", "--password-stdin")
    chyme = Typed(root / "photos", users)
    owners = {user["name"] for user in chyme.json("list")["users"] if user["owner"]}
    assert owners == {"ada"} and "ada may read and change every vault, owner" in chyme.says("list")
    for words in (("demote", "ada"), ("deactivate", "ada"), ("remove", "ada")):
        assert "last owner" in chyme.refuses(*words)
    assert chyme.json("promote", "bob")["user"]["owner"] is True
    assert "may not sign in" in chyme.says("deactivate", "ada")
    assert "may not sign in" not in chyme.says("activate", "ada")
    assert chyme.json("demote", "ada")["user"]["owner"] is False
    assert chyme.json("sessions") == {"sessions": []}
    assert chyme.says("sign-out", "bob") == "bob is signed out; 0 sessions ended\n"


def test_a_link_invites_one_person(root: Path) -> None:
    chyme = Typed(root / "photos", users)
    access = f"{os.fspath(root / 'photos')}:read"
    made = chyme.json("invite", "for Bob", "--access", access, "--expires", "2", "--address", "https://chyme.example/")
    assert made["link"] == f"https://chyme.example/invitation#{made['code']}"
    assert [(grant["vault"], grant["right"]) for grant in made["invitation"]["vaults"]] == [("photos", "read")]
    listed = chyme.says("invitations")
    assert "for Bob (open): may read photos, until" in listed and made["code"] not in listed
    link = chyme.says("invite", "--owner")
    assert link.startswith("http://127.0.0.1:8765/invitation#chyme_invitation_")
    assert chyme.json("uninvite", "1") == {"revoked": 1}
    assert "no open invitation" in chyme.refuses("uninvite", "1")
    assert [one["state"] for one in chyme.json("invitations")["invitations"]] == ["open", "revoked"]

"""chyme add, run as a command."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from chyme.application.app import open_app
from chyme.doors.cli.commands.links import add
from chyme.doors.cli.main import Chyme

PAGE = "https://example.org/how-to-digest"
NAME = "example.org – how to digest.url"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "vault").mkdir()
    with open_app(tmp_path / "vault"):
        return tmp_path / "vault"


def run(vault: Path | None, *words: str, given: str = "") -> Result:
    where = [] if vault is None else ["--vault", os.fspath(vault)]
    return CliRunner().invoke(Chyme("chyme", {"add": add}), ["add", *where, *words], input=given)


def test_the_command_says_what_it_wrote_and_what_comes_next(vault: Path) -> None:
    first, again = run(vault, PAGE), run(vault, PAGE)
    assert first.stdout == f"added {NAME}\n'chyme digest' or a running 'chyme serve' fetches what is new\n"
    assert again.stdout == f"already there: {NAME}\n"
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert PAGE in (vault / NAME).read_text()


def test_several_links_are_added_at_once_and_reported_as_json(vault: Path) -> None:
    given = f"# from yesterday\n\n{PAGE}\n  https://example.org/b  \n"
    result = run(vault, "https://example.org/first", "-", "--folder", "to read", "--json", given=given)
    assert [(link["path"], link["created"]) for link in json.loads(result.stdout)["links"]] == [
        ("to read/example.org – first.url", True),
        (f"to read/{NAME}", True),
        ("to read/example.org.url", True),
    ]


def test_bad_lines_are_reported_with_their_numbers_and_the_rest_is_added(vault: Path) -> None:
    given = f"# bookmarks\n{PAGE}\n\nnot an address\n  # more\nhttps://ada:secret@example.org/\nhttps://example.org/b\n"
    told = run(vault, "-", given=given)
    assert told.exit_code == 1
    assert told.stderr.startswith("chyme: line 4: not an address: ")
    assert "line 6" in told.stderr and "secret" not in told.output
    assert sorted(path.name for path in vault.glob("*.url")) == sorted([NAME, "example.org.url"])
    as_json = run(vault, "-", "--json", given=given)
    assert [problem["line"] for problem in json.loads(as_json.stdout)["problems"]] == [4, 6]
    assert [link["created"] for link in json.loads(as_json.stdout)["links"]] == [False, False]
    only_bad = run(vault, "-", given="nothing here\n")
    assert (only_bad.exit_code, only_bad.stdout) == (1, "")


def test_the_folder_may_be_the_current_one(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (vault / "here").mkdir()
    monkeypatch.chdir(vault / "here")
    monkeypatch.delenv("CHYME_VAULT", raising=False)
    assert run(None, PAGE, "--folder", ".", "--name", "mine").exit_code == 0
    assert (vault / "here/mine.url").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("ftp://example.org/",), "begin with https://"),
        (("https://ada:secret@example.org/",), "plain text"),
        ((PAGE, "--folder", "/"), "not in the vault"),
        ((PAGE, "--folder", ".chyme"), "chyme ignores"),
        ((PAGE, "https://example.org/b", "--name", "x"), "one link"),
        (("-",), "at least one"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(words: tuple[str, ...], why: str, vault: Path) -> None:
    refused = run(vault, *words)
    assert refused.exit_code == 2
    assert refused.stderr.startswith("chyme: ")
    assert why in refused.stderr
    assert "secret" not in refused.output
    assert list(vault.glob("**/*.url")) == []


def test_a_folder_becomes_a_vault_only_when_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CHYME_VAULT", raising=False)
    refused = run(None, PAGE)
    assert (refused.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert "not a vault yet" in refused.stderr
    assert run(tmp_path, PAGE).exit_code == 0
    assert (tmp_path / NAME).exists()

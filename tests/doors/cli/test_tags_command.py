"""chyme tags, run as a command."""

from __future__ import annotations

from pathlib import Path

import pytest
from at_the_keyboard import Typed

from chyme.application.recorders import recorders_of
from chyme.core.clock import now
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import files
from chyme.core.store.sqlite.database import Database
from chyme.doors.cli.commands.tags import tags
from chyme.model import Kind, Output, Seen, Stamp
from chyme.search.tables import file_terms
from chyme.understanding.description import describe
from chyme.understanding.tables import tags as store
from chyme.understanding.tags.digest import TagDigest, as_json
from chyme.understanding.tags.existing_tag_reuse import assign_tags
from chyme.understanding.tags.names import TAGS
from chyme.vault.file_registry import FileRegistry


@pytest.fixture
def chyme(tmp_path: Path) -> Typed:
    """A vault with tagged files in it."""
    database = Database(tmp_path / ".chyme")
    intake = FileRegistry(database, Rules((), recorders=recorders_of()), now)
    for path, proposed in (("one.txt", ("bill", "rent")), ("sub/two.txt", ("bill", "\u202egarden"))):
        intake.record([Seen(path, False, Kind.TEXT, "text/plain", Stamp("1", path, 1, 0), path)])
        file = files.by_path(database.read(), path)
        assert file is not None
        output = Output(TAGS, as_json(TagDigest(proposed, "generated", proposed)))
        database.write(lambda db, file=file, output=output: assign_tags(db, file, output, "now"))  # type: ignore[misc]
        database.write(lambda db, file=file: describe(db, file.id, "now", file_terms.rewrite))  # type: ignore[misc]
    database.close()
    return Typed(tmp_path, tags)


def test_tags_are_listed_with_their_files(chyme: Typed) -> None:
    lines = chyme.says("list").splitlines()
    assert lines[0].split() == ["bill", "2", "files"]
    assert "\\u202egarden" in chyme.says("list")
    payload = chyme.json()
    assert payload["tags"][0] == {"name": "bill", "files": 2, "by_machine": 2, "by_person": 0}
    assert (payload["banned"], payload["becomes"]) == ([], {})


def test_the_files_of_a_tag_are_shown(chyme: Typed) -> None:
    assert chyme.says("show", "Bills").splitlines() == ["bill: 2 files", "  one.txt", "  sub/two.txt"]
    payload = chyme.json("show", "rent")
    assert payload["files"] == [{"path": "one.txt", "title": None, "by_person": False}]
    assert "there is no tag “bil”; is it bill?" in chyme.refuses("show", "bil")


def test_decisions_are_reported_and_undone(chyme: Typed) -> None:
    assert chyme.says("rename", "bill", "Invoice") == "renamed “bill” to “invoice” (2 files)\n"
    assert chyme.says("merge", "invoice", "rent") == "merged “rent” into “invoice” (2 files)\n"
    assert chyme.says("ban", "invoice") == "banned “invoice” (2 files)\n"
    payload = chyme.json("list")
    assert (payload["banned"], payload["becomes"]) == (["invoice"], {"bill": "invoice", "rent": "invoice"})
    assert "banned: invoice" in chyme.says("list")
    assert "bill becomes invoice" in chyme.says("list")
    assert chyme.says("unban", "invoice") == "unbanned “invoice” (0 files)\n"
    for what in ("unbanned", "banned", "merged", "renamed"):
        assert chyme.says("undo").startswith(f"undone: {what}")
    assert "nothing to undo" in chyme.refuses("undo")
    assert chyme.json("show", "bill")["tag"]["files"] == 2


def test_decisions_are_reported_in_json_too(chyme: Typed) -> None:
    payload = chyme.json("rename", "bill", "invoice")
    assert payload == {
        "done": "renamed “bill” to “invoice”",
        "files": 2,
        "tag": {"name": "invoice", "files": 2, "by_machine": 2, "by_person": 0},
    }
    assert chyme.json("undo") == {"done": "undone: renamed “bill” to “invoice”", "files": 2, "tag": None}


def test_similar_tags_are_listed_with_the_command_that_merges_them(chyme: Typed) -> None:
    assert chyme.says("similar") == "no two tags are close\n"
    assert chyme.json("similar") == {"similar": []}
    database = Database(chyme.root / ".chyme")
    database.write(lambda db: store.add(db, "bills", None, "now"))
    database.close()
    assert chyme.says("similar") == "1.00  chyme tags merge 'bill' 'bills'  (2 files, 0 files)\n"
    assert chyme.json("similar")["similar"] == [{"one": "bill", "other": "bills", "likeness": 1.0, "files": [2, 0]}]


def test_a_vault_without_tags_says_so(tmp_path: Path) -> None:
    Database(tmp_path / ".chyme").close()
    assert Typed(tmp_path, tags).says() == "there are no tags yet\n"

"""A name that a file must not have: one by which it would not be private any more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from described_vault import listed, named

from chyme.application.app import App, open_app
from chyme.understanding.rename_proposals import FileRenamer, RenameResult

LEASE, LETTER = "2026-04-03-lease.txt", "2026-05-01-letter.txt"


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    (tmp_path / "vault").mkdir()
    with open_app(tmp_path / "vault") as opened:
        yield opened


def keep_private(app: App, patterns: str) -> None:
    (app.vault.root / ".chymeprivate").write_text(patterns)


def test_a_private_file_keeps_its_name_where_another_would_give_it_away(app: App) -> None:
    named(app, "scan0001.txt", LEASE)
    named(app, "open/IMG_0002.txt", LETTER)
    keep_private(app, "scan*.txt\n")
    kept, renamed = sorted(FileRenamer(app.open_vault).accept(), key=lambda one: one.problem is None)
    assert (kept.path, kept.becomes) == ("scan0001.txt", LEASE)
    assert kept.problem is not None
    assert ".chymeprivate" in kept.problem
    assert LEASE in kept.problem
    assert renamed == RenameResult("open/IMG_0002.txt", f"open/{LETTER}")
    assert listed(app) == [".chymeprivate", f"open/{LETTER}", "scan0001.txt"]
    assert [one.path for one in FileRenamer(app.open_vault).undo()] == [f"open/{LETTER}"]


def test_a_file_that_stays_private_may_have_its_name(app: App) -> None:
    named(app, "secret/scan0001.txt", LEASE)
    keep_private(app, "secret/\n")
    assert FileRenamer(app.open_vault).accept() == [RenameResult("secret/scan0001.txt", f"secret/{LEASE}")]


def test_the_name_with_a_number_is_held_against_the_patterns_too(app: App) -> None:
    named(app, "scan0001.txt", LEASE)
    keep_private(app, f"scan*.txt\n{LEASE}\n")

    class Quick(FileRenamer):
        def _record_steps(self, *arguments: object) -> object:  # type: ignore[override]
            noted = super()._record_steps(*arguments)  # type: ignore[arg-type]
            (app.vault.root / LEASE).write_text("theirs")
            return noted

    (kept,) = Quick(app.open_vault).accept()
    assert kept.problem is not None
    assert "scan0001.txt" in listed(app)


def test_taking_a_name_back_gives_nothing_away_either(app: App) -> None:
    named(app, "scan0001.txt", LEASE)
    FileRenamer(app.open_vault).accept()
    keep_private(app, "*lease*\n")
    (kept,) = FileRenamer(app.open_vault).undo()
    assert kept.problem is not None
    assert LEASE in listed(app)
    keep_private(app, "*lease*\nscan*\n")
    assert [one.problem for one in FileRenamer(app.open_vault).undo()] == [None]


def test_nothing_is_renamed_while_nobody_can_tell_what_is_private(app: App) -> None:
    named(app, "scan0001.txt", LEASE)
    keep_private(app, "!\n")
    (kept,) = FileRenamer(app.open_vault).accept()
    assert kept.problem is not None
    assert "line 1" in kept.problem
    assert "scan0001.txt" in listed(app)

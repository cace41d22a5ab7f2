"""A file must not get a name under which it would no longer be private."""

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


def test_a_private_file_is_not_renamed_where_the_new_name_would_expose_it(app: App) -> None:
    named(app, "scan0001.txt", LEASE)
    named(app, "open/IMG_0002.txt", LETTER)
    keep_private(app, "scan*.txt\n")
    refused, renamed = sorted(FileRenamer(app.open_vault).accept(), key=lambda result: result.problem is None)
    assert (refused.path, refused.becomes) == ("scan0001.txt", LEASE)
    assert refused.problem is not None
    assert ".chymeprivate" in refused.problem
    assert LEASE in refused.problem
    assert renamed == RenameResult("open/IMG_0002.txt", f"open/{LETTER}")
    assert listed(app) == [".chymeprivate", f"open/{LETTER}", "scan0001.txt"]
    assert [result.path for result in FileRenamer(app.open_vault).undo()] == [f"open/{LETTER}"]


def test_a_file_that_stays_private_may_be_renamed(app: App) -> None:
    named(app, "secret/scan0001.txt", LEASE)
    keep_private(app, "secret/\n")
    assert FileRenamer(app.open_vault).accept() == [RenameResult("secret/scan0001.txt", f"secret/{LEASE}")]


def test_the_name_with_a_number_is_checked_against_the_patterns_too(app: App) -> None:
    named(app, "scan0001.txt", LEASE)
    keep_private(app, f"scan*.txt\n{LEASE}\n")

    class Quick(FileRenamer):
        def _record_steps(self, *arguments: object) -> object:  # type: ignore[override]
            steps = super()._record_steps(*arguments)  # type: ignore[arg-type]
            (app.vault.root / LEASE).write_text("theirs")
            return steps

    (refused,) = Quick(app.open_vault).accept()
    assert refused.problem is not None
    assert "scan0001.txt" in listed(app)


def test_undoing_a_rename_exposes_no_private_file_either(app: App) -> None:
    named(app, "scan0001.txt", LEASE)
    FileRenamer(app.open_vault).accept()
    keep_private(app, "*lease*\n")
    (refused,) = FileRenamer(app.open_vault).undo()
    assert refused.problem is not None
    assert LEASE in listed(app)
    keep_private(app, "*lease*\nscan*\n")
    assert [result.problem for result in FileRenamer(app.open_vault).undo()] == [None]


def test_nothing_is_renamed_while_the_private_patterns_are_unreadable(app: App) -> None:
    named(app, "scan0001.txt", LEASE)
    keep_private(app, "!\n")
    (refused,) = FileRenamer(app.open_vault).accept()
    assert refused.problem is not None
    assert "line 1" in refused.problem
    assert "scan0001.txt" in listed(app)

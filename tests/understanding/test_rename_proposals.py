"""Accepting friendly names, and undoing that."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from described_vault import classify, complete, file_at, listed, named, propose, put
from waiting import AMPLE, wait_until

from chyme.application.app import App, open_app
from chyme.core.clock import now
from chyme.core.store import digests, documents, file_requests
from chyme.errors import UsageError
from chyme.model import Again, Mode, iso
from chyme.search.tables import file_terms
from chyme.understanding.description import describe
from chyme.understanding.edit_rules import EditRequest
from chyme.understanding.rename_proposals import PERSON, TEXT, FileRenamer, Proposal, RenameResult

MILLER = "2026-04-03-rental-contract-miller.txt"


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    (tmp_path / "vault").mkdir()
    with open_app(tmp_path / "vault") as opened:
        yield opened


def known(app: App) -> list[str]:
    return [file.path for file in app.open_vault.files_below([])]


def test_a_proposal_changes_nothing(app: App) -> None:
    named(app, "in/scan0001.txt", MILLER)
    assert FileRenamer(app.open_vault).proposals() == [
        Proposal("in/scan0001.txt", f"in/{MILLER}", "A title", "classify-document")
    ]
    assert listed(app) == ["in/scan0001.txt"]


def test_an_accepted_name_is_given_and_everything_stays(app: App) -> None:
    file = named(app, "in/scan0001.txt", MILLER)
    complete(app, file, "classify-document", None)
    before = digests.of_file(app.database.read(), file.id)
    assert FileRenamer(app.open_vault).accept() == [RenameResult("in/scan0001.txt", f"in/{MILLER}")]
    assert listed(app) == [f"in/{MILLER}"]
    moved = file_at(app, f"in/{MILLER}")
    assert (moved.id, moved.generation, moved.hash) == (file.id, file.generation, file.hash)
    after = digests.of_file(app.database.read(), file.id)
    assert {name: (row.id, row.status, row.content_hash) for name, row in after.items()} == {
        name: (row.id, row.status, row.content_hash) for name, row in before.items()
    }
    assert {row.file_path for row in after.values()} == {f"in/{MILLER}"}
    assert not app.scan().has_changes
    assert app.documents.problems() == []


def test_a_file_with_its_new_name_is_found_by_it(app: App) -> None:
    named(app, "scan0001.txt", MILLER)
    FileRenamer(app.open_vault).accept()
    assert [hit.path for hit in app.search.search("miller").hits] == [MILLER]


def test_nothing_is_proposed_twice(app: App) -> None:
    named(app, "scan0001.txt", MILLER)
    FileRenamer(app.open_vault).accept()
    assert FileRenamer(app.open_vault).proposals() == [] and FileRenamer(app.open_vault).accept() == []


def test_a_person_who_gave_a_name_meanwhile_is_left_alone(app: App) -> None:
    named(app, "scan0001.txt", MILLER)
    (app.vault.root / "scan0001.txt").rename(app.vault.root / "Mietvertrag.txt")
    app.scan()
    assert FileRenamer(app.open_vault).proposals() == []


def test_nothing_is_proposed_for_a_file_that_vanished(app: App) -> None:
    named(app, "scan0001.txt", MILLER)
    (app.vault.root / "scan0001.txt").unlink()
    app.scan()
    assert FileRenamer(app.open_vault).proposals() == []


def test_a_taken_name_gets_a_number(app: App) -> None:
    (app.vault.root / MILLER).write_text("theirs")
    named(app, "scan0001.txt", MILLER)
    named(app, "scan0002.txt", MILLER)
    expected = [MILLER.replace(".", " 2."), MILLER.replace(".", " 3.")]
    assert [result.becomes for result in FileRenamer(app.open_vault).proposals()] == expected
    assert [result.becomes for result in FileRenamer(app.open_vault).accept()] == expected
    assert (app.vault.root / MILLER).read_text() == "theirs"
    assert (app.vault.root / expected[1]).read_text() == "some text of scan0002.txt"


def test_a_name_that_differs_in_capitals_alone_is_taken_too(app: App) -> None:
    (app.vault.root / MILLER.upper()).write_text("theirs")
    named(app, "scan0001.txt", MILLER)
    assert FileRenamer(app.open_vault).accept() == [RenameResult("scan0001.txt", MILLER.replace(".", " 2."))]


def test_a_file_that_takes_the_name_at_the_last_moment_keeps_it(app: App) -> None:
    named(app, "scan0001.txt", MILLER)
    named(app, "scan0002.txt", "another-name.txt")

    class Quick(FileRenamer):
        def _record_steps(self, *arguments: object) -> object:  # type: ignore[override]
            steps = super()._record_steps(*arguments)  # type: ignore[arg-type]
            (app.vault.root / MILLER).write_text("theirs")
            return steps

    second = MILLER.replace(".", " 2.")
    assert [result.becomes for result in Quick(app.open_vault).accept()] == [second, "another-name.txt"]
    assert (app.vault.root / MILLER).read_text() == "theirs"
    assert [(result.path, result.becomes) for result in FileRenamer(app.open_vault).undo()] == [
        ("another-name.txt", "scan0002.txt"),
        (second, "scan0001.txt"),
    ]


def test_only_the_chosen_files_are_renamed(app: App) -> None:
    named(app, "a/scan0001.txt", MILLER)
    named(app, "b/scan0001.txt", MILLER)
    FileRenamer(app.open_vault).accept(["b"])
    assert listed(app) == ["a/scan0001.txt", f"b/{MILLER}"]
    with pytest.raises(UsageError, match="nowhere: is not a file"):
        FileRenamer(app.open_vault).accept(["nowhere"])


def test_a_name_that_is_not_utf_8_is_changed_and_taken_back(app: App) -> None:
    file = named(app, b"caf\xe9/IMG_\xe9_12.txt", MILLER)
    assert file.escaped
    assert [result.becomes for result in FileRenamer(app.open_vault).accept()] == [f"caf%E9/{MILLER}"]
    assert os.listdir(os.path.join(os.fsencode(app.vault.root), b"caf\xe9")) == [MILLER.encode()]
    assert file_at(app, f"caf%E9/{MILLER}").id == file.id
    FileRenamer(app.open_vault).undo()
    assert os.listdir(os.path.join(os.fsencode(app.vault.root), b"caf\xe9")) == [b"IMG_\xe9_12.txt"]
    assert file_at(app, file.path).id == file.id
    assert not app.scan().has_changes


def test_the_rename_accepted_last_is_undone_first(app: App) -> None:
    first, second = named(app, "scan0001.txt", MILLER), named(app, "scan0002.txt", "another-name.txt")
    FileRenamer(app.open_vault).accept(["scan0001.txt"])
    FileRenamer(app.open_vault).accept()
    assert FileRenamer(app.open_vault).undo() == [RenameResult("another-name.txt", "scan0002.txt")]
    assert FileRenamer(app.open_vault).undo() == [RenameResult(MILLER, "scan0001.txt")]
    assert (file_at(app, "scan0001.txt").id, file_at(app, "scan0002.txt").id) == (first.id, second.id)
    assert not app.scan().has_changes
    with pytest.raises(UsageError, match="no name was accepted"):
        FileRenamer(app.open_vault).undo()


def test_a_whole_batch_is_taken_back_and_proposed_again(app: App) -> None:
    for number in range(5):
        named(app, f"scan000{number}.txt", MILLER)
    before = FileRenamer(app.open_vault).proposals()
    FileRenamer(app.open_vault).accept()
    assert len(listed(app)) == 5 and "scan0001.txt" not in listed(app)
    FileRenamer(app.open_vault).undo()
    assert listed(app) == [f"scan000{number}.txt" for number in range(5)]
    assert FileRenamer(app.open_vault).proposals() == before


def test_one_file_of_a_batch_may_be_taken_back(app: App) -> None:
    named(app, "scan0001.txt", MILLER)
    named(app, "scan0002.txt", "another-name.txt")
    FileRenamer(app.open_vault).accept()
    assert FileRenamer(app.open_vault).undo([MILLER]) == [RenameResult(MILLER, "scan0001.txt")]
    assert FileRenamer(app.open_vault).undo() == [RenameResult("another-name.txt", "scan0002.txt")]


def test_taking_back_writes_over_nothing(app: App) -> None:
    named(app, "scan0001.txt", MILLER)
    FileRenamer(app.open_vault).accept()
    (app.vault.root / "scan0001.txt").write_text("a new scan")
    assert FileRenamer(app.open_vault).undo() == [RenameResult(MILLER, "scan0001 2.txt")]
    assert (app.vault.root / "scan0001.txt").read_text() == "a new scan"


def test_a_file_that_moved_since_gets_its_name_back_where_it_is(app: App) -> None:
    file = named(app, "scan0001.txt", MILLER)
    FileRenamer(app.open_vault).accept()
    (app.vault.root / "later").mkdir()
    (app.vault.root / MILLER).rename(app.vault.root / "later" / MILLER)
    app.scan()
    assert FileRenamer(app.open_vault).undo() == [RenameResult(f"later/{MILLER}", "later/scan0001.txt")]
    assert file_at(app, "later/scan0001.txt").id == file.id


def test_a_rename_that_cannot_be_undone_is_reported_once(app: App) -> None:
    named(app, "scan0001.txt", MILLER)
    named(app, "scan0002.txt", "another-name.txt")
    FileRenamer(app.open_vault).accept()
    (app.vault.root / MILLER).rename(app.vault.root / "mine.txt")
    (app.vault.root / "another-name.txt").unlink()
    app.scan()
    problems = {result.path: result.problem for result in FileRenamer(app.open_vault).undo()}
    assert problems == {
        MILLER: "is called mine.txt by now; rename it by hand, and 'chyme digest' follows",
        "another-name.txt": "is not there any more",
    }
    with pytest.raises(UsageError, match="no name was accepted"):
        FileRenamer(app.open_vault).undo()


def test_undoing_a_rename_requests_a_proposal_that_was_withdrawn_meanwhile(app: App) -> None:
    file = named(app, "scan0001.txt", MILLER)
    FileRenamer(app.open_vault).accept()
    complete(app, file_at(app, MILLER), "slug", None)  # digested again: the name is already a good one
    FileRenamer(app.open_vault).undo()
    assert [wish for _, wish in file_requests.of_file(app.database.read(), file.id)] == [Again(Mode.RESET, ("slug",))]


def test_a_file_that_changed_keeps_its_name_until_it_was_digested(app: App) -> None:
    named(app, "scan0001.txt", MILLER)
    (app.vault.root / "scan0001.txt").write_text("something else")
    (done,) = FileRenamer(app.open_vault).accept()
    assert done.problem == "has changed since it was digested; 'chyme digest' looks at it again"
    (app.vault.root / "scan0001.txt").unlink()
    (done,) = FileRenamer(app.open_vault).accept()
    assert done.problem == "is not where it was; 'chyme digest' finds it again"
    with pytest.raises(UsageError, match="no name was accepted"):
        FileRenamer(app.open_vault).undo()


def test_one_file_that_cannot_be_renamed_does_not_stop_the_others(app: App) -> None:
    (app.vault.root / ".chymeignore").write_text("*miller*\n")
    app.scan()
    named(app, "scan0001.txt", MILLER)
    named(app, "scan0002.txt", "another-name.txt")
    first, second = sorted(FileRenamer(app.open_vault).accept(), key=lambda result: result.path)
    assert first.problem == f"chyme would ignore it as {MILLER} (.chymeignore)"
    assert (second.becomes, second.problem) == ("another-name.txt", None)
    assert known(app) == ["another-name.txt", "scan0001.txt"]


def test_a_folder_that_may_not_be_written_to_is_reported(app: App) -> None:
    named(app, "in/scan0001.txt", MILLER)
    (app.vault.root / "in").chmod(0o555)
    with as_nobody():
        (done,) = FileRenamer(app.open_vault).accept()
    (app.vault.root / "in").chmod(0o755)
    assert done.problem == "cannot be renamed (Permission denied); see who may write in its folder"
    assert known(app) == listed(app) == ["in/scan0001.txt"]


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Act as the user nobody for a while, because root may write anywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_linked_folder_is_not_entered(app: App, tmp_path: Path) -> None:
    named(app, "in/scan0001.txt", MILLER)
    (app.vault.root / "in").rename(tmp_path / "elsewhere")
    (app.vault.root / "in").symlink_to(tmp_path / "elsewhere")
    (done,) = FileRenamer(app.open_vault).accept()
    assert done.problem is not None
    assert os.listdir(tmp_path / "elsewhere") == ["scan0001.txt"]
    with pytest.raises(NotADirectoryError), app.vault.open_folder("in"):
        pass


def test_a_persons_title_and_date_go_into_the_name(app: App) -> None:
    file = put(app, "scan0001.txt")
    classify(app, file, "Machine's title", "2020-01-01")
    propose(app, file, "2020-01-01-machines-title.txt")
    app.edits.change("scan0001.txt", EditRequest({"title": "My title", "date": "2026-04"}))
    (proposal,) = FileRenamer(app.open_vault).proposals()
    assert (proposal.becomes, proposal.said_by) == ("2026-04-my-title.txt", PERSON)
    app.edits.change("scan0001.txt", EditRequest(clear=("date",)))
    assert [suggestion.becomes for suggestion in FileRenamer(app.open_vault).proposals()] == ["2020-01-01-my-title.txt"]
    app.edits.change("scan0001.txt", EditRequest({"title": None}))
    assert FileRenamer(app.open_vault).proposals() == []


def test_a_person_who_set_only_the_date_is_not_credited_with_the_title(app: App) -> None:
    file = put(app, "scan0001.txt")
    classify(app, file, "Machine's title", "2020-01-01")
    propose(app, file, "2020-01-01-machines-title.txt", "Machine's title")
    app.edits.change("scan0001.txt", EditRequest({"date": "2026-04"}))
    assert FileRenamer(app.open_vault).proposals() == [
        Proposal("scan0001.txt", "2026-04-machines-title.txt", "Machine's title", "classify-document")
    ]


def test_the_heading_of_a_text_is_credited_to_the_text(app: App) -> None:
    file = put(app, "scan0001.txt")
    at = iso(now())
    app.database.write(lambda db: documents.set_found_title(db, file.id, "Rental contract"))
    app.database.write(lambda db: describe(db, file.id, at, file_terms.rewrite))
    app.edits.change("scan0001.txt", EditRequest({"date": "2026-04"}))
    (proposal,) = FileRenamer(app.open_vault).proposals()
    assert (proposal.becomes, proposal.said_by) == ("2026-04-rental-contract.txt", TEXT)


def test_a_title_that_a_person_set_is_enough(app: App) -> None:
    put(app, "scan0001.txt")
    app.edits.change("scan0001.txt", EditRequest({"title": "My title"}))
    assert [result.becomes for result in FileRenamer(app.open_vault).accept()] == ["my-title.txt"]
    assert app.edits.get("my-title.txt").document.title == "My title"


KILLED = """
import os, signal, sys
from pathlib import Path
from chyme.application.app import open_app
from chyme.understanding.rename_proposals import FileRenamer

def die(moves):
    os.kill(os.getpid(), signal.SIGKILL)

with open_app(Path(sys.argv[1])) as app:
    app.open_vault.registry.record = die
    renaming = FileRenamer(app.open_vault)
    renaming.accept() if sys.argv[2] == "accept" else renaming.undo()
"""


def kill_during(app: App, what: str) -> None:
    """Another process is killed between the disk and the database."""
    ended = subprocess.run([sys.executable, "-c", KILLED, os.fspath(app.vault.root), what], check=False, timeout=AMPLE)
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_a_kill_between_disk_and_database_is_healed_by_the_next_scan(app: App) -> None:
    file = named(app, "scan0001.txt", MILLER)
    kill_during(app, "accept")
    assert listed(app) == [MILLER] and known(app) == ["scan0001.txt"]
    report = app.scan()
    assert (report.moved, report.new, report.vanished) == (1, 0, 0)
    assert file_at(app, MILLER).id == file.id
    assert digests.content(app.database.read(), file.id, "slug") is not None
    assert FileRenamer(app.open_vault).proposals() == []
    kill_during(app, "undo")
    app.scan()
    assert file_at(app, "scan0001.txt").id == file.id
    assert FileRenamer(app.open_vault).undo() == []  # it is done already
    assert [result.becomes for result in FileRenamer(app.open_vault).accept()] == [MILLER]


def test_a_kill_before_the_disk_was_touched_leaves_nothing_to_take_back(app: App) -> None:
    named(app, "scan0001.txt", MILLER)

    class Stopped(FileRenamer):
        def _rename(self, *arguments: object) -> object:  # type: ignore[override]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Stopped(app.open_vault).accept()
    assert FileRenamer(app.open_vault).undo() == []
    assert listed(app) == known(app) == ["scan0001.txt"]


def test_an_interruption_leaves_database_and_disk_in_step(app: App) -> None:
    named(app, "scan0001.txt", MILLER)
    named(app, "scan0002.txt", "another-name.txt")

    class Interrupted(FileRenamer):
        def _record_steps(self, *arguments: object) -> object:  # type: ignore[override]
            steps = super()._record_steps(*arguments)  # type: ignore[arg-type]
            (app.vault.root / "another-name.txt").write_text("theirs")
            return steps

        def _correct(self, *_: object) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Interrupted(app.open_vault).accept()
    assert known(app) == [MILLER, "scan0002.txt"]
    assert FileRenamer(app.open_vault).undo() == [RenameResult(MILLER, "scan0001.txt")]


@pytest.mark.slow
def test_a_watching_process_sees_a_move(app: App) -> None:
    files = [named(app, f"scan000{number}.txt", f"page-{number}-of-the-contract.txt") for number in range(3)]
    with open_app(app.vault.root) as watching:
        watching.start(follow=True)
        FileRenamer(app.open_vault).accept()
        wait_until(lambda: len(known(watching)) == 3 and "scan0001.txt" not in known(watching))
        FileRenamer(app.open_vault).undo()
        FileRenamer(app.open_vault).accept()
        time.sleep(1.0)  # long enough for a file to count as still
    for number, file in enumerate(files):
        assert file_at(app, f"page-{number}-of-the-contract.txt").id == file.id
    assert known(app) == [f"page-{number}-of-the-contract.txt" for number in range(3)]
    assert app.documents.status()["vanished"] == 0

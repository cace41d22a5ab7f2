"""Files that an older chyme took for plain text, or for nothing it could read, are looked at again once."""

from __future__ import annotations

from sqlite3 import Connection

from watching import Folder

from chyme.core.store import vault_properties
from chyme.model import Kind
from chyme.vault.watch.scanner import KIND_RULES

CALENDAR = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Regatta\nEND:VEVENT\nEND:VCALENDAR\n"


def as_before_the_upgrade(folder: Folder, path: str) -> None:
    """Make the vault one whose files were registered by rules that knew only texts."""

    def forget(db: Connection) -> None:
        db.execute("UPDATE files SET kind = 'text', mime = 'text/calendar' WHERE path = ?", (path,))
        vault_properties.remove(db, KIND_RULES)

    folder.database.write(forget)


def test_after_an_upgrade_a_known_file_gets_the_kind_that_is_now_recognised(folder: Folder) -> None:
    folder.put("club.ics", CALENDAR)
    folder.put("note.txt", "only a note")
    folder.scan()
    as_before_the_upgrade(folder, "club.ics")
    generation = folder.file("note.txt").generation

    report = folder.scan()

    assert folder.file("club.ics").kind is Kind.DOCUMENT
    assert report.changed == 1
    assert folder.file("note.txt").generation == generation


def test_files_are_looked_at_again_only_once(folder: Folder) -> None:
    folder.put("club.ics", CALENDAR)
    folder.scan()
    assert vault_properties.value_of(folder.db, KIND_RULES) is not None
    as_before_the_upgrade(folder, "club.ics")
    folder.scan()
    folder.database.write(lambda db: db.execute("UPDATE files SET kind = 'text'"))

    assert folder.scan().changed == 0

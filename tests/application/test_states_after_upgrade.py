"""A picture that cannot be read is a failure, even if an older chyme gave it another state."""

from __future__ import annotations

from pathlib import Path
from sqlite3 import Connection

from described_vault import put

from chyme.application.app import App, open_app
from chyme.application.startup import prepare
from chyme.core.clock import now
from chyme.core.pipeline.output_updates import update_document
from chyme.core.store import digests, documents, vault_properties
from chyme.model import File, iso

REASON = "torn.png: cannot be decoded; open it elsewhere"


def fail(app: App, file: File, digester: str) -> None:
    """Let the digester fail for good, and settle all other digests of the file."""

    def write(db: Connection) -> None:
        db.execute("UPDATE digests SET status = 'skipped', settled = 1 WHERE file_id = ?", (file.id,))
        db.execute(
            "UPDATE digests SET status = 'failed', error = ?, error_category = 'validation' "
            "WHERE file_id = ? AND digester = ?",
            (REASON, file.id, digester),
        )
        update_document(db, app.rules, file, digests.of_file(db, file.id), iso(now()))

    app.database.write(write)


def state_of(app: App, file: File) -> tuple[str, str | None]:
    row = documents.of_file(app.database.read(), file.id)
    assert row is not None
    return row.state, row.reason


def test_states_that_an_older_chyme_decided_are_decided_again_once(tmp_path: Path) -> None:
    with open_app(tmp_path) as app:
        picture = put(app, "torn.png", b"\x89PNG\r\n\x1a\nbroken")
        note = put(app, "note.txt", "a note")
        fail(app, picture, "image-preview")
        fail(app, note, "classify-document")
        assert (state_of(app, picture), state_of(app, note)) == (
            ("failed", REASON),
            ("needs-classification", REASON),
        )

        def as_before(db: Connection) -> None:
            documents.set_state(db, picture.id, "needs-classification", REASON, False, iso(now()))
            vault_properties.remove(db, "state_rules")

        app.database.write(as_before)
        prepare(app.open_vault, app.rules, app.settings, app.ledger, app.search_index)
        assert state_of(app, picture) == ("failed", REASON)
        assert state_of(app, note) == ("needs-classification", REASON)
        app.database.write(
            lambda db: documents.set_state(db, picture.id, "needs-classification", None, False, iso(now()))
        )
        prepare(
            app.open_vault, app.rules, app.settings, app.ledger, app.search_index
        )  # with the present rules, nothing is decided a second time
        assert state_of(app, picture) == ("needs-classification", None)

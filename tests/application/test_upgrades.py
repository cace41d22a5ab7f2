"""Vaults of earlier versions, made by those versions, open with this one and keep what was known."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from chyme.application.app import App, open_app
from chyme.core.files.vault_folder import STATE
from chyme.core.store.sqlite.database import migrations

pytestmark = pytest.mark.slow

EARLIER = Path(__file__).parent / "earlier_vaults"
FIRST_RELEASE, WITH_EDITS = 2, 6  # numbers of schemas

MakeVault = Callable[[int], Path]


@pytest.fixture
def earlier_vault(tmp_path: Path) -> MakeVault:
    """A vault with the database that a chyme of this schema left."""

    def make(schema: int) -> Path:
        root = tmp_path / "vault"
        shutil.copytree(EARLIER / "files", root)
        (root / STATE).mkdir()
        packed = (EARLIER / f"schema{schema}.db.gz").read_bytes()
        (root / STATE / "vault.db").write_bytes(gzip.decompress(packed))
        with closing(sqlite3.connect(root / STATE / "vault.db")) as db:
            assert db.execute("PRAGMA user_version").fetchone() == (schema,)
        return root

    return make


def found(app: App, words: str) -> list[str]:
    return [hit.path for hit in app.search.search(words).hits]


@pytest.mark.parametrize("schema", [FIRST_RELEASE, WITH_EDITS])
def test_a_vault_of_an_earlier_version_is_migrated_with_a_copy_beside_it(earlier_vault: MakeVault, schema: int) -> None:
    root = earlier_vault(schema)

    with open_app(root) as app:
        assert app.documents.status()["files"] == 3
        assert app.database.read().execute("PRAGMA user_version").fetchone() == (migrations()[-1][0],)
        assert app.database.read().execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert app.database.read().execute("PRAGMA foreign_key_check").fetchall() == []

    (copy,) = (root / STATE).glob(f"vault.schema{schema}.*.db")
    with closing(sqlite3.connect(copy)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (schema,)
        assert db.execute("SELECT count(*) FROM files").fetchone() == (3,)


@pytest.mark.parametrize("schema", [FIRST_RELEASE, WITH_EDITS])
def test_what_was_indexed_by_an_earlier_version_is_found_before_anything_is_digested_again(
    earlier_vault: MakeVault, schema: int
) -> None:
    with open_app(earlier_vault(schema)) as app:
        assert found(app, "dinghy") == ["boat rental.md"]
        assert found(app, "mooring") and set(found(app, "mooring")) == {"note.txt", "papers/fees.csv"}


def test_edits_of_an_earlier_version_stay(earlier_vault: MakeVault) -> None:
    with open_app(earlier_vault(WITH_EDITS)) as app:
        app.scan()
        app.start(follow=False).drain(wait=False)
        rows = app.database.read().execute(
            "SELECT files.path, documents.title FROM documents JOIN files ON files.id = documents.file_id"
        )
        titles = dict(rows.fetchall())

    assert titles["boat rental.md"] == "What the dinghy costs"
    assert titles["note.txt"] == "Ring before Whitsun"


def test_files_of_the_first_release_get_the_digests_that_are_new(earlier_vault: MakeVault) -> None:
    with open_app(earlier_vault(FIRST_RELEASE)) as app:
        app.scan()
        app.start(follow=False).drain(wait=False)
        status = app.documents.status()

        assert status["digests"]["todo"] == 0
        assert app.documents.status()["files"] == 3
        assert found(app, "dinghy")[0] == "boat rental.md"

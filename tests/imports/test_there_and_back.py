"""Import, search, export and import again: the same documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from made_exports import BOOKMARKS, household, karakeep, karakeep_bookmark
from paperless_importer import check_export

from chyme.application.app import App, open_app
from chyme.errors import UsageError
from chyme.imports.exports import entries_of
from chyme.imports.importing import ImportOptions
from chyme.imports.summary import ImportSummary
from chyme.understanding.edit_rules import EditRequest


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    (tmp_path / "vault").mkdir()
    with open_app(tmp_path / "vault") as opened:
        yield opened


def bring(app: App, source: str, path: Path, folder: str = "in") -> ImportSummary:
    with entries_of(source, path) as entries:
        return app.importer.run(entries, ImportOptions(source, folder))


def test_documents_come_back_from_paperless_as_they_went(app: App, tmp_path: Path) -> None:
    bring(app, "paperless", household(tmp_path / "first"))
    assert next(hit.path for hit in app.search.search("asn 1042").hits) == "in/scan 17.txt"

    done = app.paperless_export.write(tmp_path / "out")

    assert (done.files, done.left_out) == (2, 0)
    check_export(tmp_path / "out")
    (tmp_path / "second").mkdir()
    with open_app(tmp_path / "second") as other:
        assert bring(other, "paperless", tmp_path / "out").added == 2
        for path in ("in/scan 17.txt", "in/insurance.txt"):
            mine, theirs = app.edits.get(path), other.edits.get(path)
            assert (theirs.document, theirs.properties) == (mine.document, mine.properties)
            assert (app.vault.root / path).read_bytes() == (other.vault.root / path).read_bytes()
        assert [hit.path for hit in other.search.search("Zebulon").hits] == ["in/scan 17.txt"]
    again = bring(app, "paperless", tmp_path / "out")
    assert (again.added, again.updated, again.unchanged) == (0, 0, 2)


def test_whatever_is_in_a_vault_paperless_can_take_it(app: App, tmp_path: Path) -> None:
    root = app.vault.root
    for name, text in (
        *(("a.txt", "same"), ("b.txt", "same"), ("odd-manifest.json", '[{"model": "x"}]'), ("notes.md", "# Notes")),
        *(("link.url", "[InternetShortcut]\r\nURL=https://example.org/\r\n"), ("empty.txt", "")),
    ):
        (root / name).write_text(text)
    app.scan_and_settle()
    app.edits.change("notes.md", EditRequest({"title": "T" * 200, "date": "2021-03"}, add=["x" * 50]))

    done = app.paperless_export.write(tmp_path / "out")

    documents = {record["fields"]["original_filename"]: record["fields"] for record in check_export(tmp_path / "out")}
    assert set(documents) == {"a.txt", "odd-manifest.json", "notes.md", "empty.txt"}
    assert done.left_out == 2
    assert documents["notes.md"]["created"] == "2021-03-01"
    assert "# Notes" in documents["notes.md"]["content"] or documents["notes.md"]["content"] == ""
    again = app.paperless_export.write(tmp_path / "out")
    assert (again.unchanged, again.written) == (4, 2)


def test_an_export_drops_the_originals_of_files_that_are_gone(app: App, tmp_path: Path) -> None:
    bring(app, "paperless", household(tmp_path / "first"))
    app.paperless_export.write(tmp_path / "out")
    (app.vault.root / "in/insurance.txt").unlink()
    app.scan()

    app.paperless_export.write(tmp_path / "out")

    assert len(check_export(tmp_path / "out")) == len(list((tmp_path / "out/originals").iterdir())) == 1


def test_an_export_follows_no_link_out_of_its_folder(app: App, tmp_path: Path) -> None:
    bring(app, "paperless", household(tmp_path / "first"))
    app.paperless_export.write(tmp_path / "out")
    for path in (tmp_path / "out/originals").iterdir():
        path.unlink()
    (tmp_path / "out/originals").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out/originals").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(UsageError, match="link"):
        app.paperless_export.write(tmp_path / "out")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_bookmarks_come_back_with_folders_tags_days_and_descriptions(app: App, tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text(BOOKMARKS)
    bring(app, "bookmarks", tmp_path / "b.html", "")

    done = app.bookmark_export.write(tmp_path / "out")

    assert done.files == 2
    (tmp_path / "second").mkdir()
    with open_app(tmp_path / "second") as other:
        assert bring(other, "bookmarks", tmp_path / "out/bookmarks.html", "").added == 2
        for path in ("Work/Bake & eat.url", "Work/escape/Ants.url"):
            mine, theirs = app.edits.get(path), other.edits.get(path)
            assert (theirs.document, theirs.properties) == (mine.document, mine.properties)


def test_nothing_in_a_link_can_break_out_of_the_bookmarks(app: App, tmp_path: Path) -> None:
    export = karakeep(
        tmp_path / "k.json",
        [
            karakeep_bookmark(
                {"type": "link", "url": 'https://example.org/?q="><script>alert(1)</script>'},
                title="</A><script>alert(2)</script>",
                tags=['x"><b>'],
                note="<script>alert(3)</script>",
            )
        ],
    )
    bring(app, "karakeep", export)
    app.bookmark_export.write(tmp_path / "out")
    assert "<script" not in (tmp_path / "out/bookmarks.html").read_text()

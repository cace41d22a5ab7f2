"""What other programs know comes into the vault once, and stays as people change it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_exports import (
    BOOKMARKS,
    document,
    household,
    karakeep,
    karakeep_bookmark,
    named,
    write_paperless,
    zipped,
)

from chyme.application.app import App, open_app
from chyme.imports.exports import entries_of
from chyme.imports.importing import ImportOptions
from chyme.imports.summary import ImportSummary
from chyme.understanding.edit_rules import EditRequest


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    (tmp_path / "vault").mkdir()
    with open_app(tmp_path / "vault") as opened:
        yield opened


def bring(app: App, source: str, path: Path, folder: str = "in", *, dry_run: bool = False) -> ImportSummary:
    with entries_of(source, path) as entries:
        return app.importer.run(entries, ImportOptions(source, folder, dry_run))


def counts(summary: ImportSummary) -> tuple[int, int, int, int, int]:
    return summary.added, summary.updated, summary.unchanged, summary.left_out, summary.failed


def vault_files(app: App) -> set[str]:
    root = app.vault.root
    return {
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and not path.relative_to(root).parts[0].startswith(".chyme")
    }


def found(app: App, query: str) -> list[str]:
    return [hit.path for hit in app.search.search(query).hits]


@pytest.mark.parametrize("shape", ["folder", "split", "zip"])
def test_what_paperless_knows_becomes_edits_and_is_found(app: App, tmp_path: Path, shape: str) -> None:
    export = household(tmp_path / "export", split=shape == "split")
    if shape == "zip":
        export = zipped(export, tmp_path / "export.zip")

    assert counts(bring(app, "paperless", export)) == (2, 0, 0, 0, 0)

    shown = app.edits.get("in/scan 17.txt")
    assert (shown.document.title, shown.document.date) == ("Power bill of May", "2023-05-04")
    assert shown.document.tags == ("strom",)
    assert set(shown.edits) == {"title", "date", "tags"}
    assert shown.properties == {
        "correspondent": "Stadtwerke der Freien und Hansestadt Lübeck",
        "archive number": "1042",
        "document type": "Invoice",
        "storage path": "By year",
        "Meter": "ZX-80",
        "Paid by": "giro account",
        "note": "Ask for Zebulon",
        "other tags": "A tag with far more words than chyme allows",
    }
    assert app.edits.get("in/insurance.txt").document.date == "2022-02-03"
    for query in ("Hansestadt", "asn 1042", "Zebulon", "ZX-80", "tag:strom"):
        assert found(app, query)[:1] == ["in/scan 17.txt"], query


def test_a_dry_run_counts_and_changes_nothing(app: App, tmp_path: Path) -> None:
    export = household(tmp_path / "export")

    planned = bring(app, "paperless", export, dry_run=True)

    assert counts(planned) == (2, 0, 0, 0, 0)
    assert vault_files(app) == set()
    done = bring(app, "paperless", export)
    assert (done.added, done.bytes) == (planned.added, planned.bytes)
    assert counts(bring(app, "paperless", export, dry_run=True)) == (0, 0, 2, 0, 0)


def test_a_newer_export_adds_and_updates_what_nobody_changed_here(app: App, tmp_path: Path) -> None:
    first = b"one\n"
    tags = [named("tag", 1, "old"), named("tag", 2, "new"), named("tag", 3, "stays")]
    files = {"one.txt": first, "two.txt": b"two\n"}
    records = [
        document(1, first, "one.txt", title="Before", tags=[1, 3]),
        document(2, b"two\n", "two.txt", title="Mine later", tags=[1]),
    ]
    bring(app, "paperless", write_paperless(tmp_path / "a", [*tags, *records], files))
    app.edits.change("in/two.txt", EditRequest({"title": "I call it this"}, remove=["old"]))

    newer = [
        document(1, first, "one.txt", title="After", tags=[2, 3]),
        document(2, b"two\n", "two.txt", title="Renamed there", tags=[1, 2], archive_serial_number=9),
        document(3, b"three\n", "three.txt"),
    ]
    export = write_paperless(tmp_path / "b", [*tags, *newer], {**files, "three.txt": b"three\n"})
    assert counts(bring(app, "paperless", export)) == (1, 2, 0, 0, 0)

    one, two = app.edits.get("in/one.txt").document, app.edits.get("in/two.txt")
    assert (one.title, set(one.tags)) == ("After", {"new", "stays"})
    assert (two.document.title, two.document.tags) == ("I call it this", ("new",))
    assert two.properties == {"archive number": "9"}
    assert counts(bring(app, "paperless", export)) == (0, 0, 3, 0, 0)


def test_a_file_that_is_in_the_vault_already_is_described_and_not_copied(app: App, tmp_path: Path) -> None:
    export = household(tmp_path / "export")
    (app.vault.root / "mine.txt").write_bytes((export / "power.txt").read_bytes())
    app.scan_and_settle()
    app.edits.change("mine.txt", EditRequest({"title": "My own title"}))

    assert counts(bring(app, "paperless", export)) == (1, 1, 0, 0, 0)

    assert vault_files(app) == {"mine.txt", "in/insurance.txt"}
    shown = app.edits.get("mine.txt").document
    assert (shown.title, shown.date) == ("My own title", "2023-05-04")


def test_what_was_deleted_here_stays_deleted_until_it_is_asked_for_again(app: App, tmp_path: Path) -> None:
    export = household(tmp_path / "export")
    bring(app, "paperless", export)
    (app.vault.root / "in/insurance.txt").unlink()
    app.scan()

    assert bring(app, "paperless", export).deleted_here == 1
    assert vault_files(app) == {"in/scan 17.txt"}

    with entries_of("paperless", export) as entries:
        assert app.importer.run(entries, ImportOptions("paperless", "in", again=True)).added == 1
    assert app.edits.get("in/insurance.txt").document.title == "Roof"


def test_equal_names_get_numbers_and_equal_contents_one_file(app: App, tmp_path: Path) -> None:
    contents = {"a/x.txt": b"first\n", "b/x.txt": b"second\n", "c/y.txt": b"first\n"}
    records = [
        document(1, b"first\n", "a/x.txt", original_filename="x.txt", title="One"),
        document(2, b"second\n", "b/x.txt", original_filename="x.txt"),
        document(3, b"first\n", "c/y.txt", original_filename="y.txt", title="Three", archive_serial_number=3),
    ]
    (app.vault.root / "in").mkdir()
    (app.vault.root / "in/x.txt").write_bytes(b"was here before\n")

    assert counts(bring(app, "paperless", write_paperless(tmp_path / "e", records, contents))) == (2, 1, 0, 0, 0)

    assert vault_files(app) == {"in/x.txt", "in/x 2.txt", "in/x 3.txt"}
    assert (app.vault.root / "in/x.txt").read_bytes() == b"was here before\n"
    assert app.edits.get("in/x 2.txt").document.title == "One"
    assert app.edits.get("in/x 2.txt").properties == {"archive number": "3"}


def test_karakeep_brings_links_notes_tags_and_lists(app: App, tmp_path: Path) -> None:
    export = karakeep(
        tmp_path / "k.json",
        [
            karakeep_bookmark(
                {"type": "link", "url": "https://example.org/bread"},
                id="b1",
                title="Bread",
                tags=["Baking"],
                note="with rhubarb",
                lists=["l2"],
                favourited=True,
                archived=True,
            ),
            karakeep_bookmark({"type": "text", "text": "Remember the milk"}, id="b2", tags=["todo"]),
            karakeep_bookmark({"type": "asset", "assetId": "x"}, id="b3", title="A picture"),
            karakeep_bookmark(None),
        ],
        [
            {"id": "l1", "name": "Food", "parentId": None, "type": "manual"},
            {"id": "l2", "name": "Bread", "parentId": "l1", "type": "manual"},
        ],
    )

    summary = bring(app, "karakeep", export)

    assert counts(summary) == (2, 0, 0, 1, 1)
    assert vault_files(app) == {"in/Bread.url", "in/Remember the milk.md"}
    assert "https://example.org/bread" in (app.vault.root / "in/Bread.url").read_text()
    shown = app.edits.get("in/Bread.url")
    assert (shown.document.title, set(shown.document.tags)) == ("Bread", {"baking", "archived", "favourite"})
    assert shown.properties == {"note": "with rhubarb", "lists": "Food / Bread", "saved": "2023-11-14"}
    assert "A picture" in summary.problems[0]
    assert counts(bring(app, "karakeep", export)) == (0, 0, 2, 1, 1)


def test_bookmarks_keep_folders_tags_days_and_descriptions(app: App, tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text(BOOKMARKS)

    assert counts(bring(app, "bookmarks", tmp_path / "b.html")) == (2, 0, 0, 2, 0)

    assert vault_files(app) == {"in/Work/Bake & eat.url", "in/Work/escape/Ants.url"}
    shown = app.edits.get("in/Work/Bake & eat.url")
    assert shown.document.tags == ("baking", "slow food")
    assert shown.properties == {"description": "With rye.", "saved": "2023-11-14"}
    assert counts(bring(app, "bookmarks", tmp_path / "b.html")) == (0, 0, 2, 2, 0)


def test_sidecars_of_photos_and_documents_describe_their_file(app: App, tmp_path: Path) -> None:
    folder = tmp_path / "Takeout"
    folder.mkdir()
    for name in ("IMG_1.jpg", "IMG_1(1).jpg", "scan.pdf", "talk.txt", "plain.txt"):
        (folder / name).write_bytes(f"content of {name}".encode())
    takeout = {
        "title": "IMG_1.jpg",
        "description": "At the lake",
        "people": [{"name": "Zora"}],
        "photoTakenTime": {"timestamp": "1500000000"},
        "favorited": True,
    }
    (folder / "IMG_1.jpg.supplemental-metadata.json").write_text(json.dumps(takeout))
    (folder / "IMG_1.jpg.supplemental-metadata(1).json").write_text(
        json.dumps({**takeout, "description": "The second"})
    )
    (folder / "gone.jpg.json").write_text(json.dumps(takeout))
    (folder / "scan.xmp").write_text(
        """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
        <rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/"
        xmp:CreateDate="2019-08-07T10:00:00"><dc:title><rdf:Alt><rdf:li xml:lang="x-default">The deed</rdf:li></rdf:Alt>
        </dc:title><dc:subject><rdf:Bag><rdf:li>House</rdf:li><rdf:li>Law</rdf:li></rdf:Bag></dc:subject>
        </rdf:Description></rdf:RDF></x:xmpmeta>"""
    )
    (folder / "talk.txt.md").write_text(
        '---\ntitle: "A talk"\ndate: 2020-01-02\ntags:\n  - bees\nASN: 5\n---\nVery good.\n'
    )

    summary = bring(app, "folder", folder)

    assert counts(summary) == (5, 0, 0, 1, 0)
    photo, second = app.edits.get("in/IMG_1.jpg"), app.edits.get("in/IMG_1(1).jpg")
    assert (photo.edits.get("title"), photo.document.date, photo.document.tags) == (None, "2017-07-14", ("favourite",))
    assert photo.properties == {"description": "At the lake", "people": "Zora"}
    assert second.properties["description"] == "The second"
    deed = app.edits.get("in/scan.pdf").document
    assert (deed.title, deed.date, deed.tags) == ("The deed", "2019-08-07", ("house", "law"))
    talk = app.edits.get("in/talk.txt")
    assert (talk.document.title, talk.document.date, talk.document.tags) == ("A talk", "2020-01-02", ("bees",))
    assert talk.properties == {"archive number": "5", "note": "Very good."}


def test_private_patterns_hold_for_what_is_imported(app: App, tmp_path: Path) -> None:
    (app.vault.root / ".chymeprivate").write_text("/in/\n")
    bring(app, "paperless", household(tmp_path / "export"))
    assert app.private("in/scan 17.txt")


def test_the_time_of_a_document_is_kept(app: App, tmp_path: Path) -> None:
    export = household(tmp_path / "export")
    os.utime(export / "power.txt", (1_600_000_000, 1_600_000_000))
    bring(app, "paperless", export)
    assert (app.vault.root / "in/scan 17.txt").stat().st_mtime == 1_600_000_000

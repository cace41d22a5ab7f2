"""An export may come from anywhere: it reads nothing outside of itself, and a bad entry spoils only itself."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from made_exports import document, household, karakeep, karakeep_bookmark, many_letters, write_paperless, zipped

from chyme.application.app import App, open_app
from chyme.errors import UsageError
from chyme.imports.exports import entries_of
from chyme.imports.importing import ImportOptions
from chyme.imports.sidecars import read_sidecar
from chyme.imports.summary import ImportSummary


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    root = tmp_path_factory.mktemp("vault")
    with open_app(root) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A folder of the vault for one test."""
    return tmp_path.name


def bring(app: App, source: str, path: Path, folder: str) -> ImportSummary:
    with entries_of(source, path) as entries:
        return app.importer.run(entries, ImportOptions(source, folder))


def in_folder(app: App, folder: str) -> set[str]:
    return {str(path.relative_to(app.vault.root / folder)) for path in (app.vault.root / folder).rglob("*")}


@pytest.mark.parametrize(
    "name", ["../secret.txt", "/etc/passwd", "a/../../secret.txt", "a\\..\\secret.txt", "link.txt", "x"]
)
def test_paths_out_of_the_export_are_refused_and_the_rest_is_imported(
    app: App, folder: str, tmp_path: Path, name: str
) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    records = [document(1, b"", name), document(2, f"good {name}".encode(), "good.txt")]
    export = write_paperless(tmp_path / "e", records, {"good.txt": f"good {name}".encode()})
    (export / "link.txt").symlink_to(tmp_path / "secret.txt")
    (export / "x").mkdir()

    summary = bring(app, "paperless", export, folder)

    assert (summary.added, summary.failed) == (1, 1)
    assert "document 1" in summary.problems[0]
    assert in_folder(app, folder) == {"good.txt"}


@pytest.mark.parametrize(
    ("original", "becomes"),
    [
        ("../../up.txt", "up.txt"),
        ("C:\\a\\b.txt", "b.txt"),
        ("a\0b\x1b[31m.txt", "ab 31m.txt"),
        ("con.txt", "_con.txt"),
    ],
)
def test_original_names_become_safe_names(app: App, folder: str, tmp_path: Path, original: str, becomes: str) -> None:
    data = f"content {original}".encode()
    export = write_paperless(
        tmp_path / "e", [document(1, data, "stored.txt", original_filename=original)], {"stored.txt": data}
    )
    assert bring(app, "paperless", export, folder).added == 1
    (name,) = in_folder(app, folder)
    assert "/" not in name and "\x1b" not in name and not name.startswith(".")
    if "\0" not in original:
        assert name == becomes


def test_hidden_names_are_refused(app: App, folder: str, tmp_path: Path) -> None:
    export = write_paperless(
        tmp_path / "e", [document(1, b"h", "s.txt", original_filename=".chymeignore")], {"s.txt": b"h"}
    )
    summary = bring(app, "paperless", export, folder)
    assert (summary.added, summary.failed) == (0, 1)


def test_a_manifest_that_breaks_off_gives_what_came_before(app: App, folder: str, tmp_path: Path) -> None:
    export = many_letters(tmp_path / "e", 30)
    text = (export / "manifest.json").read_text()
    (export / "manifest.json").write_text(text[: text.index('"pk": 21', text.index("documents.document"))])

    summary = bring(app, "paperless", export, folder)

    assert (summary.added, summary.failed) == (20, 1)
    assert "manifest.json" in summary.problems[0] and "character" in summary.problems[0]


@pytest.mark.parametrize("text", ["{", '[{"model": 1}, nonsense]', "[" * 200_000, "\x00\x01", '[1, "\\ud800"', "[1,]"])
def test_broken_json_is_said_in_one_sentence(app: App, folder: str, tmp_path: Path, text: str) -> None:
    (tmp_path / "e").mkdir()
    (tmp_path / "e/manifest.json").write_text(text)
    summary = bring(app, "paperless", tmp_path / "e", folder)
    assert (summary.added, summary.failed) == (0, 1)
    assert "manifest.json" in summary.problems[0]


def test_records_of_unexpected_types_spoil_only_themselves(app: App, folder: str, tmp_path: Path) -> None:
    odd = document(
        1, b"odd", "odd.txt", title=[1], tags="x", created={}, original_filename=7, archive_serial_number=[2]
    )
    records = [{"model": "documents.document", "pk": 5, "fields": []}, odd, document(2, b"fine", "fine.txt", tags=[99])]
    export = write_paperless(tmp_path / "e", records, {"odd.txt": b"odd", "fine.txt": b"fine"})
    (export / "manifest.json").write_text(
        json.dumps(["text", 3, None, {"model": []}, *json.loads((export / "manifest.json").read_text())])
    )
    assert bring(app, "paperless", export, folder).added == 2


def test_a_bomb_in_a_zip_is_refused_and_the_rest_is_imported(app: App, folder: str, tmp_path: Path) -> None:
    records = [document(1, b"", "bomb.txt"), document(2, b"small", "small.txt")]
    write_paperless(tmp_path / "e", records, {"small.txt": b"small and harmless"})
    zipped(tmp_path / "e", tmp_path / "e.zip")
    with (
        zipfile.ZipFile(tmp_path / "e.zip", "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("bomb.txt", "w") as bomb,
    ):
        for _ in range(80):
            bomb.write(b"\0" * 1024 * 1024)

    summary = bring(app, "paperless", tmp_path / "e.zip", folder)

    assert (summary.added, summary.failed) == (1, 1)
    assert "times larger" in summary.problems[0]


@pytest.mark.parametrize(("mark", "offset", "form"), [(b"PK\5\6", 12, "<L"), (b"PK\6\6", 40, "<Q")])
def test_a_zip_with_an_endless_directory_is_refused_before_it_is_read(
    app: App, folder: str, tmp_path: Path, mark: bytes, offset: int, form: str
) -> None:
    archive = zipped(household(tmp_path / "e"), tmp_path / "e.zip")
    end = bytearray(56)
    end[: len(mark)] = mark
    struct.pack_into(form, end, offset, 200_000_000)
    archive.write_bytes(archive.read_bytes() + bytes(end))
    with pytest.raises(UsageError, match="too many entries"):
        bring(app, "paperless", archive, folder)


def test_an_entry_that_asks_for_much_memory_is_refused(app: App, folder: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "l.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.txt", "text")
    assert bring(app, "folder", tmp_path / "l.zip", folder).failed == 1


def test_names_in_a_zip_lead_nowhere(app: App, folder: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("../../out.txt", "out")
        archive.writestr("/abs.txt", "abs")
        link = zipfile.ZipInfo("link.txt")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("deep/fine.txt", "fine in the zip")
        archive.writestr(".hidden/x.txt", "hidden")

    summary = bring(app, "folder", tmp_path / "t.zip", folder)

    assert summary.added == 1
    assert in_folder(app, folder) == {"deep", "deep/fine.txt"}
    assert not (app.vault.root.parent / "out.txt").exists()


def test_a_broken_entry_of_a_zip_spoils_only_itself(app: App, folder: str, tmp_path: Path) -> None:
    archive = zipped(household(tmp_path / "e"), tmp_path / "e.zip")
    data = archive.read_bytes()
    with zipfile.ZipFile(archive) as opened:
        offset = opened.getinfo("power.txt").header_offset + 30 + len("power.txt")
    archive.write_bytes(data[:offset] + b"\xff\xff\xff" + data[offset + 3 :])

    summary = bring(app, "paperless", archive, folder)

    assert (summary.added, summary.failed) == (1, 1)
    assert "broken" in summary.problems[0]


def test_a_document_type_in_xmp_is_refused() -> None:
    bomb = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM
    "file:///etc/passwd">]><x>&b;&f;</x>"""
    with pytest.raises(UsageError, match="document type or entities"):
        read_sidecar("a.xmp", bomb, "a.jpg")
    with pytest.raises(UsageError, match="nested too deeply"):
        read_sidecar("a.xmp", b"<a>" * 1000, "a.jpg")


def test_a_broken_sidecar_is_told_and_its_file_is_imported(app: App, folder: str, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a.jpg").write_bytes(b"a picture, honestly")
    (tmp_path / "d/a.jpg.json").write_text("{")
    summary = bring(app, "folder", tmp_path / "d", folder)
    assert (summary.added, summary.failed) == (1, 1)
    assert "a.jpg itself is imported" in summary.problems[0]


def test_addresses_that_are_no_pages_are_left_out(app: App, folder: str, tmp_path: Path) -> None:
    urls = [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "chrome://settings",
        "https://example.org/yes",
    ]
    export = karakeep(tmp_path / "k.json", [karakeep_bookmark({"type": "link", "url": url}) for url in urls])
    summary = bring(app, "karakeep", export, folder)
    assert (summary.added, summary.left_out) == (1, 4)


@pytest.mark.parametrize(
    ("source", "text", "reason"),
    [
        ("karakeep", "[]", "no bookmarks"),
        ("bookmarks", "<html><p>Hello</html>", "no bookmarks"),
        ("paperless", "PK nonsense", "neither a folder nor"),
        ("folder", "nonsense", "neither a folder nor"),
    ],
)
def test_the_wrong_file_is_refused_with_a_way_out(
    app: App, folder: str, tmp_path: Path, source: str, text: str, reason: str
) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(UsageError, match=reason):
        bring(app, source, tmp_path / "file", folder)


def test_a_tag_without_end_in_bookmarks_is_no_endless_reading(app: App, folder: str, tmp_path: Path) -> None:
    (tmp_path / "b.html").write_text(
        '<DL><p><DT><A HREF="https://example.org/a">A</A>\n<DT><A HREF="' + "x" * 1_300_000
    )
    summary = bring(app, "bookmarks", tmp_path / "b.html", folder)
    assert summary.failed == 1

"""An export consists of plain files with what chyme knows. Their names are safe, and they are safe to open."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from described_vault import classify, put

from chyme.application.app import App, open_app
from chyme.application.vault_export import escape_formula, export_path
from chyme.core.store import artifacts, files
from chyme.errors import UsageError
from chyme.model import Artifact
from chyme.understanding.edit_rules import EditRequest


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    (tmp_path / "vault").mkdir()
    with open_app(tmp_path / "vault") as opened:
        yield opened


def read_export(folder: Path, path: str) -> tuple[str, dict[str, object]]:
    return (folder / "files" / f"{path}.md").read_text(), json.loads((folder / "files" / f"{path}.json").read_text())


def read_rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "documents.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_every_file_has_its_text_and_all_that_is_known(app: App, tmp_path: Path) -> None:
    classify(app, put(app, "letters/one.txt", "Dear Ada"), "A letter", "2026-04-03", "letter")
    app.edits.change("letters/one.txt", EditRequest({"title": 'Say "hello": ---'}))
    put(app, "two.txt", "Dear Bob")

    done = app.export.write(tmp_path / "out", spend=True)

    assert (done.files, done.unchanged) == (2, 0)
    text, data = read_export(tmp_path / "out", "letters/one.txt")
    assert text.splitlines()[:4] == [
        "---",
        'path: "letters/one.txt"',
        'title: "Say \\"hello\\": ---"',
        'date: "2026-04-03"',
    ]
    assert data["edits"] == {"title": 'Say "hello": ---'}
    assert {"file", "document", "digests", "edits", "people"} <= set(data)
    assert [row["path"] for row in read_rows(tmp_path / "out")] == ["letters/one.txt", "two.txt"]
    assert json.loads((tmp_path / "out/tags.json").read_text())["tags"][0]["name"] == "letter"
    assert json.loads((tmp_path / "out/people.json").read_text()) == {"people": []}
    assert json.loads((tmp_path / "out/spend.json").read_text()) == {"by_day": [], "by_model": []}


def test_the_text_is_exported_once_and_in_order(app: App, tmp_path: Path) -> None:
    from chyme.model import Passage
    from chyme.search.tables import passages
    from chyme.text.passages import cut_passages

    content = " ".join(f"Sentence number {number} stands here." for number in range(400))
    file = put(app, "long.txt", content)
    spans = cut_passages(content)
    pieces = [Passage("file", n, content[span.start : span.end], span) for n, span in enumerate(spans)]
    app.database.write(lambda db: passages.replace(db, file.id, "search-keyword", pieces))
    assert sum(len(passage.text) for passage in pieces) > len(content)  # passages overlap

    app.export.write(tmp_path / "out")

    text = read_export(tmp_path / "out", "long.txt")[0].partition("\n---\n")[2]
    assert "".join(text.split()) == "".join(content.split())


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\tx", "\rx", "\nx", "  =cmd|' /C calc'!A0"])
def test_no_cell_is_taken_for_a_formula(app: App, tmp_path: Path, cell: str) -> None:
    assert escape_formula(cell) == f"'{cell}"
    file = put(app, "a.txt")
    app.database.write(lambda db: db.execute("UPDATE documents SET title = ? WHERE file_id = ?", (cell, file.id)))
    app.export.write(tmp_path / "out")
    assert read_rows(tmp_path / "out")[0]["title"].startswith("'")


def test_ordinary_cells_are_left_as_they_are() -> None:
    assert [escape_formula(cell) for cell in ("a=b", "", "2026-04-03", "don't")] == ["a=b", "", "2026-04-03", "don't"]


def test_names_that_begin_like_a_formula_are_defused_as_well(app: App) -> None:
    put(app, "=cmd.txt")
    assert "".join(app.export.csv_lines()).splitlines()[1].startswith("'=cmd.txt,'=cmd.txt,")


def test_a_second_export_writes_only_what_has_changed(app: App, tmp_path: Path) -> None:
    for number in range(5):
        put(app, f"{number}.txt")
    first = app.export.write(tmp_path / "out")
    (tmp_path / "out/files/3.txt.json").unlink()
    (tmp_path / "out/.partial").write_text("half")
    app.edits.change("1.txt", EditRequest({"title": "Another"}))

    again = app.export.write(tmp_path / "out")

    assert (first.written, first.unchanged) == (12, 0)
    assert (again.written, again.unchanged) == (3, 9)
    assert not (tmp_path / "out/.partial").exists()
    assert 'title: "Another"' in read_export(tmp_path / "out", "1.txt")[0]


def test_artifacts_are_included_on_request(app: App, tmp_path: Path) -> None:
    put(app, "a.txt")
    page = artifacts.pack(Artifact("page.html", b"<p>captured</p>"))
    app.database.write(lambda db: artifacts.replace(db, "a.txt", "slug", [page], 0))
    app.export.write(tmp_path / "out", artifacts=True)
    assert (tmp_path / "out/files/a.txt.artifacts/slug-page.html").read_bytes() == b"<p>captured</p>"


def test_a_vanished_file_is_not_exported(app: App, tmp_path: Path) -> None:
    file = put(app, "gone.txt")
    app.database.write(lambda db: files.mark_vanished(db, file.id, "2026-01-01T00:00:00.000000Z"))
    assert app.export.write(tmp_path / "out").files == 0


def test_names_that_would_collide_stay_different(app: App, tmp_path: Path) -> None:
    names = ["a", "a.md/b", "a.md_/b", "a.json/b", "a.artifacts/b", "people", "documents.csv", "é" * 120]
    for name in names:
        put(app, name, name)
    assert app.export.write(tmp_path / "out", artifacts=True).files == len(names)
    written = list((tmp_path / "out/files").rglob("*.json"))
    assert sorted(json.loads(path.read_text())["file"]["path"] for path in written) == sorted(names)


@pytest.mark.parametrize(
    "path", ["../evil", "a/../../evil", "/etc/passwd", "a//b", ".", "..", "x\n/y\0", "n" * 300, "ж" * 200 + "/b"]
)
def test_no_path_leads_out_of_the_export(path: str) -> None:
    name = export_path(path)
    assert not any(part in ("", ".", "..") for part in name.split("/"))
    assert all(len(os.fsencode(part + ".artifacts")) <= 255 for part in name.split("/"))
    assert not any(ord(letter) < 32 for letter in name)


def test_different_paths_have_different_names() -> None:
    paths = ["a.md", "a.md/b", "a.md_/b", "a.md__/b", "x\n", "x_", "x\r", *("n" * length for length in range(240, 260))]
    assert len({export_path(path) for path in paths}) == len(paths)


def test_a_linked_folder_leads_nothing_out_of_the_export(app: App, tmp_path: Path) -> None:
    put(app, "sub/a.txt")
    app.export.write(tmp_path / "out")
    outside = tmp_path / "outside"
    outside.mkdir()
    for file in (tmp_path / "out/files/sub").iterdir():
        file.unlink()
    (tmp_path / "out/files/sub").rmdir()
    (tmp_path / "out/files/sub").symlink_to(outside)
    with pytest.raises(UsageError, match="leads elsewhere"):
        app.export.write(tmp_path / "out")
    assert list(outside.iterdir()) == []


def test_a_folder_with_other_things_in_it_is_refused(app: App, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").touch()
    with pytest.raises(UsageError, match="no earlier export"):
        app.export.write(tmp_path / "mine")
    with pytest.raises(UsageError, match="inside the vault"):
        app.export.write(app.vault.root / "out")

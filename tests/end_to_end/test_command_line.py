"""The real command: what it answers, how it ends, and which vault it means."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from running_chyme import SAMPLES, RunningChyme

pytestmark = pytest.mark.slow

ODD = ["two\nlines.md", "-dash.md", "smile 😀.md", "rtl \u202egpj.md", "bell \x07.md", "esc \x1b[31m.md"]


@pytest.fixture(scope="module")
def digested(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningChyme]:
    """A digested vault that these tests only read."""
    chyme = RunningChyme(tmp_path_factory.mktemp("commands"))
    chyme.drop("papers/contract.pdf", (SAMPLES / "contract.pdf").read_bytes())
    chyme.drop("notes/garden.md", "# Garden\n\nrhubarb and quince")
    chyme.drop("other/blob.bin", bytes(range(256)))
    for name in ODD:
        chyme.drop(f"odd/{name}", f"# {len(name)}\n\nstrangeword")
    chyme.drop(os.fsdecode(b"odd/not utf8 \xff.md"), "strangeword")
    ended = chyme.run("digest", "--json")
    assert ended.code == 0, ended.err
    assert ended.json["scan"]["new"] == 10
    yield chyme
    chyme.close()


def test_status_has_the_promised_shape(digested: RunningChyme) -> None:
    ended = digested.run("status", "--json")
    assert ended.code == 0
    status = ended.json
    assert status["files"] == 10
    assert status["digests"] == {"todo": 0, "in-progress": 0, "completed": 57, "skipped": 173, "failed": 0}
    assert set(status["documents"]) == {"processing", "stale", "completed", "needs-classification", "failed"}
    assert status["documents"]["completed"] == 10
    assert status["outdated"] == 0
    assert "completed" in digested.run("status").out


def test_show_has_the_promised_shape(digested: RunningChyme) -> None:
    details = digested.run("show", "papers/contract.pdf", "--json").json
    assert set(details) == {"file", "document", "steps", "people", "digests"}
    assert details["file"]["kind"] == "document"
    for digest in details["digests"]:
        expected = {"digester", "status", "content", "sqlar_name", "error", "error_category", "attempts"}
        assert expected <= set(digest)
    assert "doc-to-markdown: completed" in digested.run("show", "papers/contract.pdf").out


def test_search_has_the_promised_shape(digested: RunningChyme) -> None:
    answer = digested.run("search", "rhubarb", "--json").json
    assert set(answer) >= {"hits", "total", "ms"}
    [hit] = answer["hits"]
    assert set(hit) >= {"path", "title", "score", "why", "snippet", "place"}
    assert (hit["path"], hit["title"]) == ("notes/garden.md", "Garden")
    assert "notes/garden.md" in digested.run("search", "rhubarb").out
    nothing = digested.run("search", "qqqxyzzy", "--json")
    assert (nothing.code, nothing.json["total"]) == (0, 0)


def test_doctor_has_the_promised_shape(digested: RunningChyme) -> None:
    ended = digested.run("doctor", "--json")
    engines = ended.json["engines"]
    assert {"capability", "engine", "ok", "how"} == set(engines[0])
    assert ended.code == (0 if all(engine["ok"] for engine in engines) else 1)


def test_odd_names_are_found_and_cannot_play_tricks_on_the_terminal(digested: RunningChyme) -> None:
    found = digested.run("search", "strangeword", "--json")
    assert {hit["path"] for hit in found.json["hits"]} == {f"odd/{name}" for name in ODD} | {"odd/not utf8 %FF.md"}
    printed = digested.run("search", "strangeword").out
    for trick in ("\u202e", "\x07", "\x1b", "two\nlines"):
        assert trick not in printed
    assert "smile 😀.md" in printed
    for name in ODD[-3:]:
        ended = digested.run("show", f"odd/{name}")
        assert ended.code == 0, ended.err
        assert not {"\u202e", "\x07", "\x1b"} & set(ended.out)
    dash = digested.run("show", "--json", "--", "-dash.md", cwd=digested.vault / "odd")
    assert dash.json["file"]["path"] == "odd/-dash.md"


def test_nonsense_is_answered_with_one_sentence_and_exit_code_2(digested: RunningChyme, tmp_path: Path) -> None:
    cases = {
        ("show", "nowhere.md"): "nowhere.md: is not a file of this vault",
        ("digest", "nowhere.md"): "nowhere.md",
        ("digest", "/etc/passwd"): "is not in the vault",
        ("reset", "notes", "--digester", "nobody"): "there is no digester called 'nobody'",
    }
    for arguments, sentence in cases.items():
        ended = digested.run(*arguments)
        assert (ended.code, ended.out) == (2, ""), arguments
        assert ended.err.startswith("chyme: ") and sentence in ended.err and ended.err.count("\n") == 1, ended.err
    for command in (["search", "x"], ["verify"]):
        ended = digested.run(*command, vault=tmp_path)
        assert ended.code == 2
        assert ended.err.count("\n") == 1 and "chyme digest" in ended.err
        assert not (tmp_path / ".chyme").exists(), "a query must not create a vault"
    assert digested.run("status", vault=tmp_path / "missing").code == 2
    assert digested.run("frobnicate", anywhere=True).code == 2


def test_the_vault_is_the_option_then_the_environment_then_a_parent_then_here(
    digested: RunningChyme, tmp_path: Path
) -> None:
    def files(**options: object) -> object:
        ended = digested.run("status", "--json", anywhere=True, **options)  # type: ignore[arg-type]
        return ended.json["files"] if ended.code == 0 else ended.code

    other = RunningChyme(tmp_path)
    other.drop("deep/folder/only.md", "# Only")
    assert other.run("digest").code == 0
    ours, theirs = {"CHYME_VAULT": os.fspath(digested.vault)}, {"CHYME_VAULT": os.fspath(other.vault)}
    assert digested.run("status", "--json", env=theirs).json["files"] == 10  # the option wins
    assert files(env=ours, cwd=other.vault) == 10
    assert files(env=theirs, cwd=digested.vault) == 1
    assert files(cwd=other.vault / "deep/folder") == 1
    assert files(cwd=digested.vault) == 10
    assert files(cwd=digested.folder) == 2


def test_maintenance_of_a_vault(chyme: RunningChyme) -> None:
    chyme.drop("a.md", "# A\n\nmarigold")
    chyme.drop("b.md", "# B\n\nmarigold")
    chyme.drop("broken.docx", b"PK\x03\x04 no archive at all")
    chyme.drop("papers/contract.pdf", (SAMPLES / "contract.pdf").read_bytes())
    first = chyme.run("digest")
    assert first.code == 1
    assert "broken.docx" in first.err
    assert chyme.run("digest").code == 0, "nothing failed in this run"

    before = dict(chyme.rows("SELECT file_path, updated_at FROM digests WHERE digester = 'search-keyword'"))
    reset = chyme.run("reset", "a.md", "--json")
    assert (reset.code, reset.json) == (0, {"files": 1})
    assert chyme.run("digest").code == 0
    after = dict(chyme.rows("SELECT file_path, updated_at FROM digests WHERE digester = 'search-keyword'"))
    assert [path for path in before if after[path] > before[path]] == ["a.md"]

    assert chyme.run("reset", "papers", "--digester", "search-keyword", "--json").json == {"files": 1}
    assert chyme.run("digest", "papers").code == 0
    runs = dict(
        chyme.rows(
            """
            SELECT digester, count(*) FROM events
             WHERE path = 'papers/contract.pdf' AND type = 'digest' AND status = 'completed' GROUP BY digester
            """
        )
    )
    understood = dict.fromkeys(("classify-document", "tags", "slug", "tag-embeddings", "search-semantic"), 1)
    assert runs == {"doc-to-markdown": 1, "doc-to-screenshot": 1, "search-keyword": 2, **understood}

    assert chyme.run("retry", "--json").json == {"digests": 2}  # its text and its first page
    again = chyme.run("digest")
    assert again.code == 1 and "broken.docx" in again.err

    assert chyme.run("index", "--check").code == 0
    _damage_index(chyme)
    damaged = chyme.run("index", "--check")
    assert damaged.code == 1
    assert chyme.run("verify").code == 1
    assert chyme.run("index", "--rebuild").code == 0
    assert chyme.run("index", "--check", "--json").json == {"problems": []}
    assert chyme.run("search", "marigold", "--json").json["total"] == 2

    (chyme.vault / "b.md").unlink()
    assert chyme.run("digest").code == 0
    assert chyme.run("search", "marigold", "--json").json["total"] == 1
    assert chyme.run("status", "--json").json["vanished"] == 1
    assert chyme.run("purge", "--yes", "--json").json == {"files": 0}, "it vanished just now"
    refused = chyme.run("purge", "--all")
    assert refused.code == 1 and "forget 1 vanished" in refused.err, "nothing is purged without an answer"
    assert chyme.run("purge", "--all", "--yes", "--json").json == {"files": 1}
    assert chyme.rows("SELECT count(*) FROM files WHERE path = 'b.md'") == [(0,)]
    assert chyme.run("verify", "--json").json == {"problems": []}


def test_reset_of_the_whole_vault_makes_everything_again(chyme: RunningChyme) -> None:
    for number in range(30):
        chyme.drop(f"note {number}.md", f"# Note {number}")
    assert chyme.run("digest").code == 0
    assert chyme.run("reset").code == 1, "it was not confirmed"
    assert chyme.run("reset", "--yes", "--json").json == {"files": 30}
    away = (chyme.vault / "note 0.md").rename(chyme.folder / "away.md")

    assert chyme.run("digest", seconds=30).code == 0
    # A worker may have taken the file before the scan missed it: then its digests wait instead of the request.
    waiting = "SELECT file_id FROM requests UNION SELECT file_id FROM digests WHERE status = 'todo' AND held = 1"
    assert len(chyme.rows(waiting)) == 1, "the request for the missing file is kept"
    away.rename(chyme.vault / "note 0.md")
    assert chyme.run("digest").code == 0

    assert chyme.rows("SELECT count(*) FROM requests") == [(0,)]
    assert chyme.rows("SELECT count(*) FROM digests WHERE status NOT IN ('completed', 'skipped')") == [(0,)]
    assert chyme.rows("SELECT count(*) FROM events WHERE status = 'completed' AND digester = 'search-keyword'") == [
        (60,)
    ]


def _damage_index(chyme: RunningChyme) -> None:
    with closing(sqlite3.connect(chyme.vault / ".chyme/vault.db", isolation_level=None)) as db:
        db.execute("INSERT INTO passage_fts (passage_fts) VALUES ('delete-all')")

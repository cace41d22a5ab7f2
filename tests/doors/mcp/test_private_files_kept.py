"""Nothing of a private file reaches an assistant: no name, no word, no count, not even inside a cursor."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import pytest
from described_vault import classify, put

from chyme.application.app import App, open_app
from chyme.core.clock import now
from chyme.doors.mcp import answers
from chyme.doors.mcp.schemas import Hits, Listing
from chyme.model import Passage, Place
from chyme.search.file_list import SORTS, FileList
from chyme.search.query.spelling import words_of
from chyme.search.tables import passages
from chyme.speech.people.tables import people

pytestmark = pytest.mark.slow

NOW = "2026-03-04T12:00:00.000000Z"
PRIVATE = 30


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """One visible file in front of thirty private ones, and one behind them, whatever the order."""
    (tmp_path / ".chymeprivate").write_text("priv/\n")
    with open_app(tmp_path) as opened:
        say(opened, "a.txt", "The lighthouse is painted.")
        for number in range(PRIVATE):
            say(opened, f"priv/merger {number}.txt", f"The falconproject of quokka {number}, and more.", "secret")
        say(opened, "z.txt", "A very long text about zebras, which is longer than any other, and about one quokka.")
        yield opened


def say(app: App, path: str, text: str, *tags: str) -> None:
    """A file whose words can be found."""
    file = put(app, path, text)
    classify(app, file, text.rstrip("."), f"2024-01-{len(text) % 28 + 1:02}", *tags)
    passage = Passage("file", 0, text, Place(0, len(text)))
    app.database.write(lambda db: passages.replace(db, file.id, "search-keyword", [passage], words_of([text])))


def listed(app: App, **asked: Any) -> Listing:
    nothing: dict[str, Any] = {"folder": None, "kind": None, "tag": None, "state": None, "sort": "name", "cursor": None}
    return answers.list_files(app, "", **nothing | {"limit": 50} | asked)


def searched(app: App, query: str, limit: int = 10, **filters: str) -> Hits:
    wanted = [filters.get(name) for name in ("kind", "tag", "folder")]
    return answers.search(app, "", query, limit, "words", *wanted)


@pytest.mark.parametrize("sort", SORTS)
def test_a_cursor_tells_nothing_of_private_files(app: App, sort: str) -> None:
    paths, cursor, turns = list[str](), None, 0
    while True:
        page = listed(app, sort=sort, limit=1, cursor=cursor)
        paths += [file.path for file in page.files]
        cursor, turns = page.next_cursor, turns + 1
        if cursor is None:
            break
        assert len(page.files) == 1, "a page is filled before there is another"
        told = base64.urlsafe_b64decode(cursor + "===").decode()
        assert "merger" not in told
        assert "falcon" not in told
        visible = page.files[-1]
        keys = (visible.path, visible.title, visible.date, visible.added_at, str(visible.size), visible.kind)
        assert any(f"{key}" in told for key in keys)
    assert sorted(paths) == ["a.txt", "z.txt"]
    assert turns == 2


def test_looking_past_private_files_has_an_end(app: App) -> None:
    """Behind more of them in a row than are looked at, nothing more is found."""
    looked_at: list[str] = []

    def hidden(path: str) -> bool:
        looked_at.append(path)
        return app.private(path)

    page = FileList(app.database, now, max_checked=10).page(sort="name", descending=False, limit=1, hidden=hidden)
    assert ([card.path for card in page.cards], page.next) == (["a.txt"], None)
    assert len(looked_at) < 20


def test_private_files_are_not_counted_in_lists(app: App) -> None:
    for asked in ({"folder": "priv"}, {"tag": "secret"}, {"folder": "priv", "limit": 1}):
        page = listed(app, **asked)
        assert (page.files, page.total, page.total_is_exact, page.next_cursor) == ([], 0, False, None)
    whole = listed(app)
    assert (whole.total, whole.total_is_exact) == (2, False)
    assert "at least 2 files" in answers.format_listing(whole)


def test_private_files_are_not_counted_in_searches(app: App) -> None:
    for query, total in (("falconproject", 0), ("quokka", 1), ("lighthouse", 1)):
        found = searched(app, query)
        assert (found.total, found.total_is_exact) == (total, False), query
    assert (searched(app, "quokka", tag="secret").total, searched(app, "", folder="priv").total) == (0, 0)


def test_hits_are_found_behind_private_ones(app: App) -> None:
    assert [hit.path for hit in searched(app, "quokka", limit=1).hits] == ["z.txt"]


def test_only_words_that_stand_in_a_hit_are_told_as_corrections(app: App) -> None:
    assert app.search.search("falconprojct").corrected == {"falconprojct": "falconproject"}
    for query in ("falconprojct", "falconprojct zebras", "falconprojct OR zebras"):
        assert searched(app, query).corrected == {}
    found = searched(app, "lighthuse")
    assert found.corrected == {"lighthuse": "lighthouse"}
    assert [hit.path for hit in found.hits] == ["a.txt"]


def test_nobody_is_told_who_is_heard_in_files_that_are_not_shown(app: App) -> None:
    def somebody(db: Connection) -> None:
        people.rename(db, people.add(db, NOW), "Ada Falcon", NOW)

    app.database.write(somebody)
    assert "Ada Falcon" in app.search.search("person:Adda").notes[0]
    assert searched(app, "person:Adda").notes == []
    assert searched(app, "date:soon").notes == list(app.search.search("date:soon").notes) != []


def test_what_is_new_is_found_behind_private_files_that_are_newer(app: App) -> None:
    for number in range(PRIVATE):
        put(app, f"priv/newer {number}.txt")
    page = answers.list_recent(app, "", 1, 1)
    assert [file.path for file in page.files] == ["z.txt"]
    assert (page.total, page.total_is_exact) == (2, False)


def test_while_nobody_can_tell_what_is_private_nothing_is_told(app: App) -> None:
    (app.vault.root / ".chymeprivate").write_bytes(b"p\0r\0i\0v\0")
    page, found = listed(app), searched(app, "lighthuse")
    assert (page.files, page.total, page.total_is_exact, page.next_cursor) == ([], 0, False, None)
    assert (found.hits, found.total, found.total_is_exact, found.corrected) == ([], 0, False, {})


def test_without_private_files_all_are_counted(app: App) -> None:
    (app.vault.root / ".chymeprivate").write_text("# nothing\n\n")
    page, found = listed(app, limit=1), searched(app, "quoka", limit=5)
    assert (page.total, page.total_is_exact) == (PRIVATE + 2, True)
    assert (found.total, found.total_is_exact) == (PRIVATE + 1, True)
    assert found.corrected == {"quoka": "quokka"}

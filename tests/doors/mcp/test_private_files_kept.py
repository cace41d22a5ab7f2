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
    """Thirty private files, with a visible file before and another after them in every order."""
    (tmp_path / ".chymeprivate").write_text("priv/\n")
    with open_app(tmp_path) as opened:
        add_file(opened, "a.txt", "The lighthouse is painted.")
        for number in range(PRIVATE):
            add_file(opened, f"priv/merger {number}.txt", f"The falconproject of quokka {number}, and more.", "secret")
        add_file(
            opened, "z.txt", "A very long text about zebras, which is longer than any other, and about one quokka."
        )
        yield opened


def add_file(app: App, path: str, text: str, *tags: str) -> None:
    """Add a file whose words can be found."""
    file = put(app, path, text)
    classify(app, file, text.rstrip("."), f"2024-01-{len(text) % 28 + 1:02}", *tags)
    passage = Passage("file", 0, text, Place(0, len(text)))
    app.database.write(lambda db: passages.replace(db, file.id, "search-keyword", [passage], words_of([text])))


def list_files(app: App, **options: Any) -> Listing:
    defaults: dict[str, Any] = {
        "folder": None,
        "kind": None,
        "tag": None,
        "state": None,
        "sort": "name",
        "cursor": None,
    }
    return answers.list_files(app, "", **defaults | {"limit": 50} | options)


def search(app: App, query: str, limit: int = 10, **filters: str) -> Hits:
    wanted = [filters.get(name) for name in ("kind", "tag", "folder")]
    return answers.search(app, "", query, limit, "words", *wanted)


@pytest.mark.parametrize("sort", SORTS)
def test_a_cursor_reveals_nothing_about_private_files(app: App, sort: str) -> None:
    paths, cursor, turns = list[str](), None, 0
    while True:
        page = list_files(app, sort=sort, limit=1, cursor=cursor)
        paths += [file.path for file in page.files]
        cursor, turns = page.next_cursor, turns + 1
        if cursor is None:
            break
        assert len(page.files) == 1, "a page is filled before there is another"
        decoded = base64.urlsafe_b64decode(cursor + "===").decode()
        assert "merger" not in decoded
        assert "falcon" not in decoded
        visible = page.files[-1]
        keys = (visible.path, visible.title, visible.date, visible.added_at, str(visible.size), visible.kind)
        assert any(f"{key}" in decoded for key in keys)
    assert sorted(paths) == ["a.txt", "z.txt"]
    assert turns == 2


def test_skipping_private_files_has_a_limit(app: App) -> None:
    """After more private files in a row than are checked, nothing more is found."""
    checked: list[str] = []

    def hidden(path: str) -> bool:
        checked.append(path)
        return app.private(path)

    page = FileList(app.database, now, max_checked=10).page(sort="name", descending=False, limit=1, hidden=hidden)
    assert ([card.path for card in page.cards], page.next) == (["a.txt"], None)
    assert len(checked) < 20


def test_private_files_are_not_counted_in_lists(app: App) -> None:
    for options in ({"folder": "priv"}, {"tag": "secret"}, {"folder": "priv", "limit": 1}):
        page = list_files(app, **options)
        assert (page.files, page.total, page.total_is_exact, page.next_cursor) == ([], 0, False, None)
    whole = list_files(app)
    assert (whole.total, whole.total_is_exact) == (2, False)
    assert "at least 2 files" in answers.format_listing(whole)


def test_private_files_are_not_counted_in_searches(app: App) -> None:
    for query, total in (("falconproject", 0), ("quokka", 1), ("lighthouse", 1)):
        found = search(app, query)
        assert (found.total, found.total_is_exact) == (total, False), query
    assert (search(app, "quokka", tag="secret").total, search(app, "", folder="priv").total) == (0, 0)


def test_hits_are_found_after_private_ones(app: App) -> None:
    assert [hit.path for hit in search(app, "quokka", limit=1).hits] == ["z.txt"]


def test_only_words_that_are_in_a_hit_are_reported_as_corrections(app: App) -> None:
    assert app.search.search("falconprojct").corrected == {"falconprojct": "falconproject"}
    for query in ("falconprojct", "falconprojct zebras", "falconprojct OR zebras"):
        assert search(app, query).corrected == {}
    found = search(app, "lighthuse")
    assert found.corrected == {"lighthuse": "lighthouse"}
    assert [hit.path for hit in found.hits] == ["a.txt"]


def test_people_who_speak_in_hidden_files_are_not_revealed(app: App) -> None:
    def add_person(db: Connection) -> None:
        people.rename(db, people.add(db, NOW), "Ada Falcon", NOW)

    app.database.write(add_person)
    assert "Ada Falcon" in app.search.search("person:Adda").notes[0]
    assert search(app, "person:Adda").notes == []
    assert search(app, "date:soon").notes == list(app.search.search("date:soon").notes) != []


def test_recent_files_are_found_after_newer_private_files(app: App) -> None:
    for number in range(PRIVATE):
        put(app, f"priv/newer {number}.txt")
    page = answers.list_recent(app, "", 1, 1)
    assert [file.path for file in page.files] == ["z.txt"]
    assert (page.total, page.total_is_exact) == (2, False)


def test_while_the_private_patterns_cannot_be_read_nothing_is_returned(app: App) -> None:
    (app.vault.root / ".chymeprivate").write_bytes(b"p\0r\0i\0v\0")
    page, found = list_files(app), search(app, "lighthuse")
    assert (page.files, page.total, page.total_is_exact, page.next_cursor) == ([], 0, False, None)
    assert (found.hits, found.total, found.total_is_exact, found.corrected) == ([], 0, False, {})


def test_without_private_files_all_are_counted(app: App) -> None:
    (app.vault.root / ".chymeprivate").write_text("# nothing\n\n")
    page, found = list_files(app, limit=1), search(app, "quoka", limit=5)
    assert (page.total, page.total_is_exact) == (PRIVATE + 2, True)
    assert (found.total, found.total_is_exact) == (PRIVATE + 1, True)
    assert found.corrected == {"quoka": "quokka"}


def test_conditions_reveal_nothing_about_private_files(app: App) -> None:
    """A condition is dropped if no file meets it. Here that would tell that no private file does either."""
    for query in ("quokka kind:image", "quokka tag:unknown"):
        found = search(app, query)
        assert (found.hits, found.total, found.dropped) == ([], 0, [])
    assert search(app, "kind:image tag:secret").notes == []


def test_an_assistant_learns_which_conditions_were_dropped(tmp_path: Path) -> None:
    with open_app(tmp_path) as opened:
        add_file(opened, "a.txt", "The lighthouse is painted.")
        found = search(opened, "lighthouse", kind="image")
        assert ([hit.path for hit in found.hits], found.dropped) == (["a.txt"], ["kind:image"])
        assert found.notes == ["nothing meets kind:image; shown without that"]


def test_passages_and_the_prompt_never_come_from_a_private_file(app: App) -> None:
    question = "What is known about quokkas and the falconproject?"
    found = answers.passages(app, "", question)
    assert [one.citation.path for one in found.passages] == ["z.txt"]
    assert "falconproject of" not in answers.format_passages(found)
    prompt = answers.write_prompt(app, "", question)
    assert "priv/" not in prompt and prompt.endswith(f"Question: {question}")

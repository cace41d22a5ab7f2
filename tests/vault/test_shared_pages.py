"""What people share from other programs: addresses told from texts, and kept as links with notes beside them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chyme.application.app import App, open_app
from chyme.errors import UsageError
from chyme.files.link_files import link_note_in
from chyme.vault.intake.captures import save_shared, sort_shared
from chyme.vault.intake.stored_files import NewFile, store_files

PAGE = "https://example.org/how-to-digest"


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with open_app(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize(
    ("title", "text", "url", "expected"),
    [
        ("How to", "", PAGE, (PAGE, "How to", "")),
        ("How to", PAGE, PAGE, (PAGE, "How to", "")),
        ("", f"How to digest {PAGE}", "", (PAGE, "How to digest", "")),
        ("How to", f"Read this: {PAGE}", "", (PAGE, "How to", "Read this")),
        ("", "a thought", "", (None, "", "a thought")),
        ("", f"{PAGE} and https://example.org/b", "", (None, "", f"{PAGE} and https://example.org/b")),
        ("", f"{PAGE}\n" + "many words " * 40, "", (None, "", f"{PAGE}\n{'many words ' * 40}".strip())),
    ],
)
def test_an_address_is_found_where_phones_put_it(
    title: str, text: str, url: str, expected: tuple[str | None, str, str]
) -> None:
    shared = sort_shared(title, text, url)
    assert (shared.address, shared.title, shared.text) == expected


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "https://ada:secret@example.org/"])
def test_only_addresses_of_web_pages_are_kept(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        sort_shared("title", "", url)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("text", ["three little words", "word " * 200, "see https://other.example/ there"])
def test_the_selection_stands_in_a_note_beside_the_link_and_is_no_second_link(app: App, text: str) -> None:
    saved = save_shared(app.open_vault, sort_shared("How to <b>digest</b>", text, PAGE), "read later")
    assert saved.link is not None and saved.note is not None
    assert saved.link.path == "read later/How to b digest b.url"
    assert saved.note == "read later/How to b digest b – selection.md"
    note = (app.vault.root / saved.note).read_bytes()
    assert f"> {text.strip()}" in note.decode()
    assert "example.org/how-to-digest" in note.decode()
    if "://" not in text:
        assert link_note_in(saved.note, note) is None
    again = save_shared(app.open_vault, sort_shared("How to <b>digest</b>", text, PAGE), "read later")
    assert (again.link and again.link.path, again.note, again.created) == (saved.link.path, saved.note, False)


def test_a_text_without_an_address_is_a_note(app: App) -> None:
    saved = save_shared(app.open_vault, sort_shared("A thought", "about pelicans"))
    assert (saved.link, saved.note) == (None, "A thought.md")
    with pytest.raises(UsageError, match="nothing to save"):
        save_shared(app.open_vault, sort_shared())


def test_stored_files_have_safe_names_and_replace_nothing(app: App) -> None:
    (app.vault.root / "mail").mkdir()
    (app.vault.root / "mail/a.txt").write_text("mine")
    files = [NewFile("a.txt", b"theirs"), NewFile("../../x:y.txt", b"1"), NewFile(".hidden", b"2"), NewFile("", b"3")]
    stored = store_files(app.open_vault, files, "mail")
    assert [file.path for file in stored] == ["mail/a 2.txt", "mail/x y.txt", "mail/hidden", "mail/unnamed"]
    assert (app.vault.root / "mail/a.txt").read_text() == "mine"
    assert [file.created for file in store_files(app.open_vault, files, "mail")] == [False] * 4

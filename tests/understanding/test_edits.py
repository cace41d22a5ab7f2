"""What persons set for documents stays, whatever the machine finds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from described_vault import classify, complete, file_at, put

from chyme.application.app import App, open_app
from chyme.core.clock import now
from chyme.core.pipeline.again import make_again
from chyme.errors import UsageError
from chyme.model import Again, File, Mode, iso
from chyme.understanding.edit_rules import Description, EditRequest
from chyme.understanding.edits import as_json
from chyme.understanding.tables import edits, tags


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    (tmp_path / "vault").mkdir()
    with open_app(tmp_path / "vault") as opened:
        yield opened


@pytest.fixture
def letter(app: App) -> File:
    file = put(app, "letter.txt")
    classify(app, file, "A letter", "2026-04-03", "letter", "dog")
    return file


def document(app: App, path: str = "letter.txt") -> Description:
    return app.edits.get(path).document


def found_by(app: App, words: str) -> list[str]:
    return [hit.path for hit in app.search.search(words).hits]


def test_what_a_person_sets_is_shown_and_found(app: App, letter: File) -> None:
    done = app.edits.change(
        "letter.txt", EditRequest({"title": "Greetings", "date": "2025"}, add=["Zebra"], remove=["dog"])
    )
    assert done.what == (
        "letter.txt: set the title to “Greetings”, set the date to “2025”, tagged “zebra”, untagged “dog”"
    )
    assert document(app) == Description("Greetings", None, "2025", None, ("letter", "zebra"))
    assert app.documents.show("letter.txt")["document"]["title"] == "Greetings"
    assert found_by(app, "greetings") == found_by(app, "zebra") == found_by(app, "tag:zebra") == ["letter.txt"]
    assert found_by(app, "tag:dog") == []


def test_what_the_machine_found_is_still_there(app: App, letter: File) -> None:
    app.edits.change("letter.txt", EditRequest({"title": "Greetings"}))
    edited = app.edits.get("letter.txt")
    assert edited.edits == {"title": "Greetings"}
    assert (edited.found.title, edited.found.tags) == ("A letter", ("letter", "dog"))
    assert as_json(edited)["found"]["tags"] == ["letter", "dog"]


def test_an_edit_stays_when_the_machine_finds_something_else(app: App, letter: File) -> None:
    app.edits.change("letter.txt", EditRequest({"title": "Greetings", "date": None}, add=["zebra"], remove=["dog"]))
    classify(app, letter, "Another title", "2020", "dog", "invoice")
    assert document(app) == Description("Greetings", None, None, None, ("invoice", "zebra"))
    complete(app, letter, "classify-document", None)
    assert document(app).title == "Greetings"


def test_an_edit_stays_through_a_reset(app: App, letter: File) -> None:
    app.edits.change("letter.txt", EditRequest({"title": "Greetings"}, tags=["zebra"]))
    app.database.write(lambda db: make_again(db, app.rules, letter.id, Again(Mode.RESET), iso(now())))
    assert (document(app).title, document(app).tags) == ("Greetings", ("zebra",))
    classify(app, letter, "A letter again", None, "dog")
    assert (document(app).title, document(app).tags) == ("Greetings", ("zebra",))


def test_an_edit_follows_a_file_that_moves(app: App, letter: File) -> None:
    app.edits.change("letter.txt", EditRequest({"title": "Greetings"}))
    (app.vault.root / "letter.txt").rename(app.vault.root / "brief.txt")
    app.scan()
    assert document(app, "brief.txt").title == "Greetings"


def test_an_edit_is_removed_when_the_file_is_purged(app: App, letter: File) -> None:
    app.edits.change("letter.txt", EditRequest({"title": "Greetings"}, tags=["zebra"]))
    (app.vault.root / "letter.txt").unlink()
    app.scan()
    app.purge(everything=True, confirmed=True)
    db = app.database.read()
    assert edits.of_file(db, letter.id) == {} and edits.last_change(db) is None


def test_a_person_may_empty_a_field_and_clear_that_edit(app: App, letter: File) -> None:
    app.edits.change("letter.txt", EditRequest({"title": None}))
    app.edits.change("letter.txt", EditRequest({"date": None}))
    app.edits.change("letter.txt", EditRequest(tags=[]))
    assert document(app) == Description()
    for field in ("title", "date", "tags"):
        app.edits.change("letter.txt", EditRequest(clear=(field,)))
    assert document(app) == Description("A letter", None, "2026-04-03", None, ("letter", "dog"))
    assert app.edits.get("letter.txt").edits == {}


def test_changes_are_undone_one_after_the_other(app: App, letter: File) -> None:
    app.edits.change("letter.txt", EditRequest({"title": None}))
    app.edits.change("letter.txt", EditRequest({"title": "Greetings", "date": "2025"}, add=["zebra"]))
    app.edits.change("letter.txt", EditRequest(clear=("title",)))
    assert app.edits.undo().what == "letter.txt: cleared the title"
    assert (document(app).title, document(app).date) == ("Greetings", "2025")
    app.edits.undo("letter.txt")
    assert document(app) == Description(None, None, "2026-04-03", None, ("letter", "dog"))
    app.edits.undo()
    assert document(app).title == "A letter"
    with pytest.raises(UsageError, match="nothing was set that could be undone"):
        app.edits.undo()
    with pytest.raises(UsageError, match=r"letter.txt: nothing to undo"):
        app.edits.undo("letter.txt")


def test_one_files_change_is_undone_without_the_others(app: App, letter: File) -> None:
    put(app, "other.txt")
    app.edits.change("letter.txt", EditRequest({"title": "Greetings"}))
    app.edits.change("other.txt", EditRequest({"title": "Other"}))
    app.edits.undo("letter.txt")
    assert (document(app).title, document(app, "other.txt").title) == ("A letter", "Other")


def test_a_tag_a_person_gave_is_one_of_the_vaults(app: App, letter: File) -> None:
    app.edits.change("letter.txt", EditRequest(add=["zebra"]))
    assert "zebra" in tags.names(app.database.read())
    app.edits.change("letter.txt", EditRequest(remove=["zebra"]))
    assert "zebra" not in tags.names(app.database.read())
    app.edits.undo()
    assert "zebra" in tags.names(app.database.read())


def test_tags_are_added_and_taken_away_bit_by_bit(app: App, letter: File) -> None:
    app.edits.change("letter.txt", EditRequest(add=["zebra"]))
    app.edits.change("letter.txt", EditRequest(add=["Yak"]))
    app.edits.change("letter.txt", EditRequest(remove=["zebra", "dog"]))
    assert document(app).tags == ("letter", "yak")
    app.edits.change("letter.txt", EditRequest(add=["dog"]))
    assert document(app).tags == ("letter", "dog", "yak")
    app.edits.change("letter.txt", EditRequest(tags=["cat"]))
    app.edits.change("letter.txt", EditRequest(add=["ox"]))
    classify(app, letter, "A letter", None, "invoice")
    assert document(app).tags == ("cat", "ox")


@pytest.fixture
def renamed(app: App, letter: File) -> None:
    """letter → mail → post, and dog is never given."""
    app.tags.rename("letter", "mail")
    app.tags.rename("mail", "post")
    app.tags.ban("dog")


@pytest.mark.usefixtures("renamed")
@pytest.mark.parametrize("old", ["letter", "mail"])
def test_a_tag_that_was_renamed_is_given_by_its_new_name(app: App, old: str) -> None:
    put(app, "other.txt")
    assert app.edits.change("other.txt", EditRequest(add=[old])).what == "other.txt: tagged “post”"
    assert app.edits.get("other.txt").edits == {"tags": {"added": ["post"], "removed": []}}
    assert document(app, "other.txt").tags == ("post",)
    assert [(tag.name, tag.files) for tag in app.tags.list_all().tags] == [("post", 2)]
    assert tags.names(app.database.read()) == ["post"]
    app.edits.change("other.txt", EditRequest(tags=[old, "yak"]))
    assert app.edits.get("other.txt").edits == {"tags": {"set": ["post", "yak"]}}
    app.edits.change("other.txt", EditRequest(remove=[old]))
    assert document(app, "other.txt").tags == ("yak",)


@pytest.mark.usefixtures("renamed")
def test_a_tag_that_was_renamed_is_taken_away_by_any_of_its_names(app: App) -> None:
    app.edits.change("letter.txt", EditRequest(remove=["letter"]))
    assert document(app).tags == ()
    assert app.edits.get("letter.txt").edits == {"tags": {"added": [], "removed": ["post"]}}
    put(app, "other.txt")
    with pytest.raises(UsageError, match="cannot be added and taken away at once"):
        app.edits.change("other.txt", EditRequest(add=["letter"], remove=["mail"]))


@pytest.mark.usefixtures("renamed")
def test_a_tag_that_is_banned_can_be_given_by_hand(app: App) -> None:
    app.edits.change("letter.txt", EditRequest(add=["dog"]))
    assert document(app).tags == ("post", "dog")


def test_an_edit_that_is_taken_back_knows_tags_by_their_new_names(app: App, letter: File) -> None:
    app.edits.change("letter.txt", EditRequest(add=["zebra"]))
    app.edits.change("letter.txt", EditRequest(add=["yak"]))
    app.tags.rename("zebra", "horse")
    app.edits.undo()
    assert document(app).tags == ("letter", "dog", "horse")
    assert app.edits.get("letter.txt").edits == {"tags": {"added": ["horse"], "removed": []}}
    assert "zebra" not in tags.names(app.database.read())


def test_a_tag_stored_under_an_old_name_can_be_removed(app: App, letter: File) -> None:
    app.tags.rename("dog", "hound")
    at = iso(now())
    app.database.write(lambda db: edits.put(db, letter.id, "tags", {"added": ["dog"], "removed": []}, at))
    app.edits.change("letter.txt", EditRequest(remove=["hound"]))
    assert document(app).tags == ("letter",)


@pytest.mark.usefixtures("renamed")
@pytest.mark.parametrize("name", ["post", "posts", "POST", "letter", "Letters", "mail"])
def test_a_tag_is_searched_for_by_any_of_its_names(app: App, name: str) -> None:
    assert found_by(app, f"tag:{name}") == ["letter.txt"]
    assert found_by(app, f"-tag:{name}") == []


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (EditRequest(), "there is nothing to change"),
        (EditRequest({"title": " "}), "title needs something"),
        (EditRequest({"date": "yesterday"}), "is no date"),
        (EditRequest({"summary": "x"}), "'summary' cannot be set; there are title, date, tags"),
        (EditRequest({"title": "x"}, clear=["title"]), "cannot be set and cleared at once"),
        (EditRequest(add=["x"], clear=["tags"]), "cannot be set and cleared at once"),
        (EditRequest(add=["zebra"], remove=["zebras"]), "cannot be added and taken away at once"),
        (EditRequest(remove=["cat"]), "letter.txt: has no tag “cat”"),
        (EditRequest(add=["???"]), "is no tag"),
        (EditRequest(tags=[f"tag {number}" for number in range(200)]), "more than 100 tags"),
        (EditRequest(clear=["date"]), "letter.txt: that was never set by hand"),
    ],
)
def test_a_meaningless_request_is_refused_and_changes_nothing(
    app: App, letter: File, wanted: EditRequest, why: str
) -> None:
    before = document(app)
    with pytest.raises(UsageError, match=why):
        app.edits.change("letter.txt", wanted)
    assert document(app) == before
    assert edits.last_change(app.database.read()) is None


def test_a_repeated_edit_is_refused_and_not_recorded(app: App, letter: File) -> None:
    app.edits.change("letter.txt", EditRequest({"title": "Greetings"}))
    with pytest.raises(UsageError, match="already has that value"):
        app.edits.change("letter.txt", EditRequest({"title": "  Greetings "}))
    app.edits.undo()
    assert document(app).title == "A letter"


def test_an_unknown_file_is_refused(app: App) -> None:
    for act in (lambda: app.edits.get("nowhere"), lambda: app.edits.change("nowhere", EditRequest({"title": "x"}))):
        with pytest.raises(UsageError, match="nowhere: is not a file of this vault"):
            act()


def test_other_content_leaves_what_a_person_set(app: App, letter: File) -> None:
    app.edits.change("letter.txt", EditRequest({"title": "Greetings"}, tags=["zebra"]))
    put(app, "letter.txt", "entirely different words")
    assert file_at(app, "letter.txt").generation == 2
    assert (document(app).title, document(app).tags) == ("Greetings", ("zebra",))
    assert found_by(app, "greetings") == ["letter.txt"]

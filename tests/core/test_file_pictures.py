"""The picture of a document and its number of pages follow the digest that made them."""

from __future__ import annotations

from collections.abc import Callable

from coordinating import Bench, Made, ScriptedDigester, fails

from chyme.application import consistency_checks
from chyme.application.document_queries import Documents
from chyme.core.store import artifacts, documents
from chyme.errors import UnreadableFile
from chyme.model import Again, Artifact, Mode, Output

Open = Callable[..., Bench]
JPEG = b"\xff\xd8\xff picture"


def draw(pages: str = "7", thumbnail: bool = True) -> Made:
    pictures = (Artifact("page.jpg", JPEG), *([Artifact("thumbnail.jpg", JPEG)] if thumbnail else []))
    return lambda _: [Output("doc-to-screenshot", f'{{"pages": {pages}}}', pictures)]


def face(vault: Bench, file_id: int) -> tuple[str | None, int | None]:
    row = documents.of_file(vault.db, file_id)
    assert row is not None
    return row.face, row.pages


def test_a_document_has_the_face_and_the_pages_its_digest_found(bench: Open) -> None:
    vault = bench(ScriptedDigester("doc-to-screenshot", draw()))
    letter = vault.drop("letter.txt")
    vault.process(letter)

    assert face(vault, letter) == ("doc-to-screenshot", 7)
    document = Documents(vault.database, vault.rules, vault.clock).show("letter.txt")["document"]
    assert document["pages"] == 7
    assert document["thumbnail"] == artifacts.name_of("letter.txt", "doc-to-screenshot", "thumbnail.jpg")
    assert vault.database.write(consistency_checks.find_problems) == []


def test_a_copy_has_the_same_picture_and_pages(bench: Open) -> None:
    digester = ScriptedDigester("doc-to-screenshot", draw())
    vault = bench(digester)
    vault.process(vault.drop("letter.txt"))
    copy = vault.drop("copy.txt")
    vault.process(copy)

    assert digester.calls == 1
    assert face(vault, copy) == ("doc-to-screenshot", 7)


def test_a_reset_removes_the_picture_until_it_is_made_again(bench: Open) -> None:
    digester = ScriptedDigester("doc-to-screenshot", draw())
    vault = bench(digester)
    letter = vault.drop("letter.txt")
    vault.process(letter)
    digester.make = fails(UnreadableFile("letter.txt: is broken"))
    vault.process(letter, Again(Mode.RESET))

    assert face(vault, letter) == (None, None)
    assert vault.database.write(consistency_checks.find_problems) == []


def test_changed_content_loses_the_picture_of_the_old_content(bench: Open) -> None:
    digester = ScriptedDigester("doc-to-screenshot", draw())
    vault = bench(digester)
    letter = vault.drop("letter.txt")
    vault.process(letter)
    vault.drop("letter.txt", "something else")

    assert face(vault, letter) == (None, None)


def test_a_digest_without_a_thumbnail_gives_no_picture(bench: Open) -> None:
    vault = bench(ScriptedDigester("doc-to-screenshot", draw(thumbnail=False)))
    letter = vault.drop("letter.txt")
    vault.process(letter)

    assert face(vault, letter) == (None, None)


def test_a_missing_thumbnail_is_detected(bench: Open) -> None:
    vault = bench(ScriptedDigester("doc-to-screenshot", draw()))
    vault.process(vault.drop("letter.txt"))
    name = artifacts.name_of("letter.txt", "doc-to-screenshot", "thumbnail.jpg")
    vault.database.write(lambda db: db.execute("DELETE FROM sqlar WHERE name = ?", (name,)))

    assert vault.database.write(consistency_checks.find_problems) == [
        "documents whose thumbnail is missing: letter.txt"
    ]


def test_a_page_count_that_is_not_a_number_is_left_out(bench: Open) -> None:
    vault = bench(ScriptedDigester("doc-to-screenshot", draw(pages='"many"')))
    letter = vault.drop("letter.txt")
    vault.process(letter)

    assert face(vault, letter) == ("doc-to-screenshot", None)


def test_a_picture_that_cannot_be_drawn_is_still_a_document_with_its_name_and_can_be_retried(bench: Open) -> None:
    digester = ScriptedDigester("image-preview", fails(UnreadableFile("dot.png: is broken")))
    vault = bench(digester)
    picture = vault.drop("dot.png", b"\x89PNG\r\n\x1a\nbroken")
    vault.process(picture)
    document = Documents(vault.database, vault.rules, vault.clock).show("dot.png")["document"]

    assert (document["title"], document["state"], document["processing_status"]) == ("dot.png", "failed", "failed")
    assert document["reason"] == "dot.png: is broken"
    digester.make = lambda _: [Output("image-preview", "{}")]
    vault.process(picture, Again())
    assert vault.state(picture) == "completed"

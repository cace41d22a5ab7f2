"""The picture that stands for a document, and its number of pages, follow the digest that made them."""

from __future__ import annotations

from collections.abc import Callable

from coordinating import Bench, Made, Told, fails

from chyme.application import consistency_checks
from chyme.application.document_queries import Documents
from chyme.core.store import artifacts, documents
from chyme.errors import UnreadableFile
from chyme.model import Again, Artifact, Mode, Output

Open = Callable[..., Bench]
JPEG = b"\xff\xd8\xff picture"


def drawn(pages: str = "7", thumbnail: bool = True) -> Made:
    pictures = (Artifact("page.jpg", JPEG), *([Artifact("thumbnail.jpg", JPEG)] if thumbnail else []))
    return lambda _: [Output("doc-to-screenshot", f'{{"pages": {pages}}}', pictures)]


def face(vault: Bench, file_id: int) -> tuple[str | None, int | None]:
    row = documents.of_file(vault.db, file_id)
    assert row is not None
    return row.face, row.pages


def test_a_document_has_the_face_and_the_pages_its_digest_found(bench: Open) -> None:
    vault = bench(Told("doc-to-screenshot", drawn()))
    letter = vault.drop("letter.txt")
    vault.process(letter)

    assert face(vault, letter) == ("doc-to-screenshot", 7)
    told = Documents(vault.database, vault.rules, vault.clock).show("letter.txt")["document"]
    assert told["pages"] == 7
    assert told["thumbnail"] == artifacts.name_of("letter.txt", "doc-to-screenshot", "thumbnail.jpg")
    assert vault.database.write(consistency_checks.find_problems) == []


def test_copies_have_it_too(bench: Open) -> None:
    made = Told("doc-to-screenshot", drawn())
    vault = bench(made)
    vault.process(vault.drop("letter.txt"))
    copy = vault.drop("copy.txt")
    vault.process(copy)

    assert made.calls == 1
    assert face(vault, copy) == ("doc-to-screenshot", 7)


def test_a_reset_takes_it_away_until_it_is_made_again(bench: Open) -> None:
    made = Told("doc-to-screenshot", drawn())
    vault = bench(made)
    letter = vault.drop("letter.txt")
    vault.process(letter)
    made.make = fails(UnreadableFile("letter.txt: is broken"))
    vault.process(letter, Again(Mode.RESET))

    assert face(vault, letter) == (None, None)
    assert vault.database.write(consistency_checks.find_problems) == []


def test_changed_content_has_no_face_of_the_old(bench: Open) -> None:
    made = Told("doc-to-screenshot", drawn())
    vault = bench(made)
    letter = vault.drop("letter.txt")
    vault.process(letter)
    vault.drop("letter.txt", "something else")

    assert face(vault, letter) == (None, None)


def test_a_digest_without_thumbnail_is_no_face(bench: Open) -> None:
    vault = bench(Told("doc-to-screenshot", drawn(thumbnail=False)))
    letter = vault.drop("letter.txt")
    vault.process(letter)

    assert face(vault, letter) == (None, None)


def test_a_missing_thumbnail_is_found_out(bench: Open) -> None:
    vault = bench(Told("doc-to-screenshot", drawn()))
    vault.process(vault.drop("letter.txt"))
    name = artifacts.name_of("letter.txt", "doc-to-screenshot", "thumbnail.jpg")
    vault.database.write(lambda db: db.execute("DELETE FROM sqlar WHERE name = ?", (name,)))

    assert vault.database.write(consistency_checks.find_problems) == [
        "documents whose thumbnail is missing: letter.txt"
    ]


def test_pages_that_are_no_number_are_left_out(bench: Open) -> None:
    vault = bench(Told("doc-to-screenshot", drawn(pages='"many"')))
    letter = vault.drop("letter.txt")
    vault.process(letter)

    assert face(vault, letter) == ("doc-to-screenshot", None)


def test_a_picture_nobody_can_draw_is_still_a_document_with_its_name_and_a_retry(bench: Open) -> None:
    made = Told("image-preview", fails(UnreadableFile("dot.png: is broken")))
    vault = bench(made)
    picture = vault.drop("dot.png", b"\x89PNG\r\n\x1a\nbroken")
    vault.process(picture)
    told = Documents(vault.database, vault.rules, vault.clock).show("dot.png")["document"]

    assert (told["title"], told["state"], told["processing_status"]) == ("dot.png", "failed", "failed")
    assert told["reason"] == "dot.png: is broken"
    made.make = lambda _: [Output("image-preview", "{}")]
    vault.process(picture, Again())
    assert vault.state(picture) == "completed"

"""A file gets existing tags of the vault before new ones: by spelling, by meaning, and as persons decided."""

from __future__ import annotations

import json
import math
import random
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from coordinating import Clock

from chyme.application.recorders import recorders_of
from chyme.core.pipeline.registry_rules import Rules
from chyme.core.store import files
from chyme.core.store.sqlite.database import Database
from chyme.core.vectors import normalise
from chyme.errors import EngineUnavailable
from chyme.model import File, Kind, Output, Seen, Stamp, TagVector
from chyme.models.embedding.minilm import EmbeddingSettings
from chyme.understanding.tables import edits, tags
from chyme.understanding.tags.digest import TagDigest, as_json
from chyme.understanding.tags.existing_tag_reuse import assign_tags
from chyme.understanding.tags.names import TAG_EMBEDDINGS, TAGS
from chyme.understanding.tags.same_meaning import SAME_MEANING
from chyme.understanding.tags.vectors import vectors_of
from chyme.understanding.tags.vocabulary import TagVocabulary
from chyme.vault.file_registry import FileRegistry

NOW = "2026-03-04T12:00:00.000000Z"
Vector = tuple[float, ...]


class Shelf:
    """A vault whose files are given tags directly."""

    def __init__(self, folder: Path) -> None:
        self.database = Database(folder)
        self.intake = FileRegistry(self.database, Rules((), recorders=recorders_of()), Clock())
        self.vocabulary = TagVocabulary()

    @property
    def db(self) -> sqlite3.Connection:
        return self.database.read()

    def file(self, path: str) -> File:
        found = files.by_path(self.db, path)
        if found is None:
            self.intake.record([Seen(path, False, Kind.TEXT, "text/plain", Stamp("1", path, 1, 0), path)])
            found = files.by_path(self.db, path)
        assert found is not None
        return found

    def propose(self, path: str, *proposed: str, meanings: dict[str, Vector] | None = None, model: str = "m") -> Any:
        """Record the proposals, and return the content of the digest."""
        vectors = tuple(TagVector(tag, model, vector) for tag, vector in (meanings or {}).items())
        output = Output(TAGS, as_json(TagDigest(proposed, "generated", proposed)), tag_vectors=vectors)
        file = self.file(path)
        content = self.database.write(lambda db: assign_tags(db, file, output, NOW, self.vocabulary))
        return json.loads(content or "null")

    def tags(self, path: str) -> list[str]:
        return tags.of_file(self.db, self.file(path).id)

    def known(self) -> list[str]:
        return sorted(tags.names(self.db))

    def rule(self, name: str, becomes: str | None) -> None:
        self.database.write(lambda db: tags.put_rule(db, name, becomes, NOW))


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    shelf = Shelf(tmp_path)
    yield shelf
    shelf.database.close()


def random_vector(number: int) -> Vector:
    generator = random.Random(number)
    return normalise(generator.gauss(0, 1) for _ in range(384))


def vector_near(vector: Vector, cosine: float) -> Vector:
    other = random_vector(99)
    along = sum(a * b for a, b in zip(vector, other, strict=True))
    across = normalise(b - along * a for a, b in zip(vector, other, strict=True))
    return tuple(cosine * a + math.sqrt(1 - cosine**2) * b for a, b in zip(vector, across, strict=True))


def test_new_tags_are_made_and_kept_in_order(shelf: Shelf) -> None:
    digest = shelf.propose("a.txt", "rent", "flat", "contract")

    assert digest == {
        "tags": ["rent", "flat", "contract"],
        "source": "generated",
        "proposed": ["rent", "flat", "contract"],
    }
    assert shelf.tags("a.txt") == ["rent", "flat", "contract"]


def test_another_spelling_becomes_the_existing_tag(shelf: Shelf) -> None:
    shelf.propose("a.txt", "invoice", "e-mail", "café")
    digest = shelf.propose("b.txt", "invoices", "email", "cafes", "rent")

    assert digest["tags"] == ["invoice", "e-mail", "café", "rent"]
    assert digest["reused"] == {"invoices": "invoice", "email": "e-mail", "cafes": "café"}
    assert digest["proposed"] == ["invoices", "email", "cafes", "rent"]
    assert shelf.known() == ["café", "e-mail", "invoice", "rent"]


def test_a_tag_close_in_meaning_becomes_the_existing_tag(shelf: Shelf) -> None:
    car = random_vector(1)
    shelf.propose("a.txt", "car", meanings={"car": car})
    digest = shelf.propose("b.txt", "automobile", meanings={"automobile": vector_near(car, SAME_MEANING + 0.02)})
    assert (digest["tags"], digest["reused"]) == (["car"], {"automobile": "car"})

    digest = shelf.propose("c.txt", "garage", meanings={"garage": vector_near(car, SAME_MEANING - 0.02)})
    assert digest["tags"] == ["garage"]
    assert shelf.known() == ["car", "garage"]


def test_two_proposals_of_one_file_with_the_same_meaning_become_one_tag(shelf: Shelf) -> None:
    car = random_vector(1)
    digest = shelf.propose(
        "a.txt", "car", "automobile", "cars", meanings={"car": car, "automobile": vector_near(car, 0.95)}
    )
    assert (digest["tags"], digest["reused"]) == (["car"], {"automobile": "car", "cars": "car"})


def test_other_digits_another_model_or_no_vector_make_a_new_tag(shelf: Shelf) -> None:
    form = random_vector(1)
    shelf.propose("a.txt", "form 1", meanings={"form 1": form})
    assert shelf.propose("b.txt", "form 2", meanings={"form 2": form})["tags"] == ["form 2"]
    assert shelf.propose("c.txt", "sheet", meanings={"sheet": form}, model="other")["tags"] == ["sheet"]
    assert shelf.propose("d.txt", "paper")["tags"] == ["paper"]


def test_a_tag_without_a_vector_gets_one_when_it_is_known(shelf: Shelf) -> None:
    shelf.propose("a.txt", "car")
    assert tags.meaning_of(shelf.db, "car") is None
    learnt = Output(
        TAG_EMBEDDINGS, "{}", tag_vectors=(TagVector("car", "m", random_vector(1)), TagVector("gone", "m", (1.0,)))
    )
    shelf.database.write(lambda db: tags.set_missing_vector(db, learnt.tag_vectors[0]))
    assert shelf.known() == ["car"]
    assert shelf.propose("b.txt", "automobile", meanings={"automobile": vector_near(random_vector(1), 0.95)})[
        "tags"
    ] == ["car"]

    shelf.propose("c.txt", "car", meanings={"car": random_vector(2)}, model="newer")
    meaning = tags.meaning_of(shelf.db, "car")
    assert meaning is not None
    assert meaning.model == "newer"


def test_the_tags_of_a_file_that_have_vectors_are_listed_with_their_models(shelf: Shelf) -> None:
    shelf.propose("a.txt", "car", "rent", meanings={"car": random_vector(1)})
    shelf.propose("b.txt", "garden", meanings={"garden": random_vector(2)}, model="other")

    assert tags.models_of_file(shelf.db, shelf.file("a.txt").id) == {"car": "m"}
    assert tags.models_of_file(shelf.db, shelf.file("b.txt").id) == {"garden": "other"}


def test_decisions_of_persons_apply_to_every_spelling(shelf: Shelf) -> None:
    for name, becomes in (("bill", "invoice"), ("receipt", "bill"), ("page", None), ("leaf", "page")):
        shelf.rule(name, becomes)
    digest = shelf.propose("a.txt", "receipts", "bill", "page", "pages", "leaf", "rent")

    assert digest["tags"] == ["invoice", "rent"]
    assert digest["reused"] == {"receipts": "invoice", "bill": "invoice"}
    assert shelf.known() == ["invoice", "rent"]


def test_a_tag_of_the_same_meaning_is_given_as_persons_decided(shelf: Shelf) -> None:
    car = random_vector(1)
    shelf.propose("a.txt", "car", meanings={"car": car})
    shelf.rule("car", None)  # as a ban does while a file has the tag by hand
    assert shelf.propose("b.txt", "automobile", meanings={"automobile": vector_near(car, 0.95)})["tags"] == []


def test_a_file_has_ten_tags_at_most_and_no_unused_tag_is_made(shelf: Shelf) -> None:
    shelf.rule("word b", None)
    proposed = [f"word {letter}" for letter in "abcdefghijklmn"]
    digest = shelf.propose("a.txt", *proposed)

    assert digest["tags"] == [f"word {letter}" for letter in "acdefghijk"]
    assert shelf.known() == sorted(digest["tags"])


def test_unused_tags_are_removed_unless_a_person_gave_them(shelf: Shelf) -> None:
    shelf.propose("a.txt", "rent", "flat", "house")
    shelf.propose("b.txt", "flat")
    file_id = shelf.file("c.txt").id
    shelf.database.write(lambda db: edits.put(db, file_id, "tags", {"added": ["house"], "removed": ["rent"]}, NOW))
    shelf.rule("rent", "lease")
    shelf.propose("a.txt", "garden")
    assert shelf.known() == ["flat", "garden", "house"]

    shelf.database.write(lambda db: tags.set_file_tags(db, shelf.file("b.txt").id, ()))
    assert shelf.known() == ["garden", "house"]
    assert tags.rules(shelf.db) == {"rent": "lease"}


@pytest.mark.parametrize("content", [None, "no json"])
def test_a_file_about_nothing_loses_its_tags(shelf: Shelf, content: str | None) -> None:
    shelf.propose("a.txt", "rent")
    file = shelf.file("a.txt")
    assert shelf.database.write(lambda db: assign_tags(db, file, Output(TAGS, content), NOW)) == content
    assert (shelf.tags("a.txt"), shelf.known()) == ([], [])


def test_files_that_invent_the_same_tag_at_once_share_it(shelf: Shelf) -> None:
    for number in range(8):
        shelf.file(f"{number}.txt")
    together = threading.Barrier(8)

    def invent(number: int) -> None:
        together.wait()
        shelf.propose(f"{number}.txt", "solar panel" if number % 2 else "solar-panels", f"own {'abcdefgh'[number]}x")

    workers = [threading.Thread(target=invent, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert len([name for name in shelf.known() if name.startswith("solar")]) == 1
    assert len({shelf.tags(f"{number}.txt")[0] for number in range(8)}) == 1
    assert len(shelf.known()) == 9


def test_two_processes_share_a_tag_they_both_invent(shelf: Shelf, tmp_path: Path) -> None:
    shelf.propose("a.txt", "solar panel")
    other = Shelf(tmp_path)
    try:
        assert other.propose("b.txt", "solar panels")["tags"] == ["solar panel"]
    finally:
        other.database.close()
    assert shelf.known() == ["solar panel"]


def test_real_vectors_distinguish_synonyms_from_neighbours(shelf: Shelf) -> None:
    words = ["car", "automobile", "tax return", "birthday cake", "kubernetes"]
    try:
        meanings = {embedded.tag: embedded.vector for embedded in vectors_of(words, EmbeddingSettings())}
    except EngineUnavailable as missing:
        pytest.skip(f"needs the embedder: {missing}")
    for number, word in enumerate(words):
        shelf.propose(f"{number}.txt", word, meanings=meanings)
    assert shelf.known() == ["birthday cake", "car", "kubernetes", "tax return"]


def test_a_tag_that_was_renamed_meanwhile_is_found_by_its_new_name(shelf: Shelf) -> None:
    shelf.propose("a.txt", "invoice")
    shelf.database.write(lambda db: db.execute("UPDATE tags SET name = 'bill' WHERE name = 'invoice'"))

    assert shelf.propose("b.txt", "invoices", "bills")["tags"] == ["invoices", "bill"]


def test_tags_of_a_transaction_that_was_undone_are_not_reused(shelf: Shelf) -> None:
    near = {"invoice": random_vector(1)}
    shelf.propose("a.txt", "rent", meanings={"rent": random_vector(2)})
    shelf.propose("a.txt", "flat", meanings={"flat": random_vector(3)})
    output = Output(
        TAGS,
        as_json(TagDigest(("invoice",), "generated", ("invoice",))),
        tag_vectors=tuple(TagVector(tag, "m", vector) for tag, vector in near.items()),
    )
    file = shelf.file("b.txt")

    def fail(db: sqlite3.Connection) -> None:
        assign_tags(db, file, output, NOW, shelf.vocabulary)
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError):
        shelf.database.write(fail)
    shelf.propose("c.txt", "tax", meanings={"tax": random_vector(4)})  # as many tags as the other transaction added

    later = shelf.propose("d.txt", "invoices", "account", meanings={"account": vector_near(random_vector(1), 0.97)})
    assert later["tags"] == ["invoices", "account"]


def test_a_tag_that_no_file_has_any_more_is_not_reused(shelf: Shelf) -> None:
    shelf.propose("a.txt", "invoice")
    shelf.propose("a.txt", "rent")

    assert shelf.propose("b.txt", "invoices")["tags"] == ["invoices"]
    assert shelf.known() == ["invoices", "rent"]

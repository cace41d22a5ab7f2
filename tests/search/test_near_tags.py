"""Files found by the meaning of their tags."""

from __future__ import annotations

import struct

import pytest
from semantic_vault import MeaningShelf, meaning

from chyme.doors.page.search_results import result_page
from chyme.search.ranking.near_tags import NEAR_TAG, NearTag, add_tagged
from chyme.search.ranking.word_and_meaning_fusion import NearFile
from chyme.search.results import as_json

FLOOR = 0.25


def give_vector(shelf: MeaningShelf, tag: str, words: str, model: str | None = None) -> None:
    vector = meaning(words)
    shelf.db.execute(
        "INSERT INTO tags (name, model, vector, code, created_at) VALUES (?, ?, ?, x'00', 'now')",
        (tag, model or shelf.embedder.model, struct.pack(f"<{len(vector)}f", *vector)),
    )


@pytest.fixture
def clinic(meant: MeaningShelf) -> MeaningShelf:
    """A file whose text has nothing to do with the question, and whose tag has."""
    meant.put_meant("visit.txt", "Appointment at nine, bring the papers.", tags=["orthodontics"])
    meant.put_meant("pans/plan.txt", "Plan for the week.", tags=["planning"])
    meant.put_meant("dentist.txt", "The dentist looks at the crown.", tags=["orthodontics"])
    give_vector(meant, "orthodontics", "teeth")
    give_vector(meant, "planning", "nothing known")
    return meant


def why(shelf: MeaningShelf, question: str) -> dict[str, tuple[str, ...]]:
    return {hit.path: hit.why for hit in shelf.hybrid(question).hits}


def test_a_file_is_found_by_the_meaning_of_its_tag_and_says_so(clinic: MeaningShelf) -> None:
    assert why(clinic, "tooth") == {
        "dentist.txt": ("meaning", "tag: orthodontics"),
        "visit.txt": ("tag: orthodontics",),
    }
    result = clinic.hybrid("tooth")
    assert (result.total, result.total_is_exact) == (2, True)
    assert result.hits[1].snippet.text
    assert as_json(result)["hits"][1]["why"] == ["tag: orthodontics"]  # type: ignore[index]


def test_near_tags_count_in_meaning_mode_and_not_in_words_mode(clinic: MeaningShelf) -> None:
    assert clinic.paths("tooth", mode="meaning") == ["dentist.txt", "visit.txt"]
    assert clinic.paths("tooth", mode="words") == []


def test_what_is_done_to_all_files_found_includes_them(clinic: MeaningShelf) -> None:
    assert len(clinic.index.all_files("tooth")) == 2


def test_conditions_and_vanished_files_are_respected(clinic: MeaningShelf) -> None:
    assert clinic.paths("tooth -name:dentist") == ["visit.txt"]
    assert clinic.hybrid("tooth folder:pans", keep_conditions=True).total == 0
    clinic.db.execute("UPDATE files SET vanished_at = 'now' WHERE path = 'visit.txt'")
    assert clinic.paths("tooth") == ["dentist.txt"]


def test_pages_neither_repeat_nor_miss_a_file(clinic: MeaningShelf) -> None:
    pages = [clinic.hybrid("tooth", limit=1, offset=offset) for offset in range(3)]
    assert [[hit.path for hit in page.hits] for page in pages] == [["dentist.txt"], ["visit.txt"], []]
    assert {page.total for page in pages} == {2}


def test_a_tag_that_was_removed_banned_or_renamed_no_longer_finds_the_file(clinic: MeaningShelf) -> None:
    assert "visit.txt" in clinic.paths("tooth")
    clinic.db.execute(
        "UPDATE documents SET tags = '[]' WHERE file_id = (SELECT id FROM files WHERE path = 'visit.txt')"
    )
    assert clinic.paths("tooth") == ["dentist.txt"]
    clinic.db.execute("UPDATE tags SET name = 'braces' WHERE name = 'orthodontics'")
    assert why(clinic, "tooth") == {"dentist.txt": ("meaning",)}
    clinic.db.execute("""UPDATE documents SET tags = '["braces"]' WHERE tags = '[]'""")
    assert why(clinic, "tooth")["visit.txt"] == ("tag: braces",)


def test_vectors_of_another_model_are_never_compared(meant: MeaningShelf) -> None:
    meant.put_meant("visit.txt", "Appointment at nine.", tags=["orthodontics"])
    give_vector(meant, "orthodontics", "teeth", model="another model")
    assert meant.paths("tooth") == []


def test_a_tag_counts_by_how_much_nearer_it_is_than_it_must_be() -> None:
    near = [NearFile(1, 0.6, (10,)), NearFile(2, 0.3, (20,))]
    tagged = {2: NearTag("vet", NEAR_TAG + 0.2), 3: NearTag("vet", NEAR_TAG + 0.2), 1: NearTag("pet", NEAR_TAG)}
    found = add_tagged(near, tagged, FLOOR)
    assert [(file.file_id, file.passages, file.tag) for file in found] == [
        (1, (10,), "pet"),
        (2, (20,), "vet"),
        (3, (), "vet"),
    ]
    assert [file.score for file in found] == pytest.approx([0.6, 0.45, 0.45])
    assert add_tagged(near, {}, FLOOR) == near


def test_the_page_names_the_tag(clinic: MeaningShelf) -> None:
    page = result_page(clinic.hybrid("tooth"), [], "tooth", 0, {})
    assert [label for label, _ in page.files[1].why] == ["tag: orthodontics"]


def test_a_tag_that_only_a_person_gave_finds_its_file_too(meant: MeaningShelf) -> None:
    meant.put_meant("slip.txt", "Appointment at nine.", tags=["dentist"])
    meant.db.execute("INSERT INTO tags (name, created_at) VALUES ('dentist', 'now')")
    assert why(meant, "teeth") == {"slip.txt": ("tag: dentist",)}
    assert meant.knows.asked.count("a document about dentist") == 1
    assert why(meant, "tooth") == {"slip.txt": ("tag: dentist",)}
    assert meant.knows.asked.count("a document about dentist") == 1  # it is kept until tags change

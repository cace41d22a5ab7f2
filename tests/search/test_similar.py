"""Files similar to a whole file."""

from __future__ import annotations

import pytest
from semantic_vault import MeaningShelf

from chyme.errors import UsageError
from chyme.model import Kind
from chyme.search.results import as_json

pytestmark = pytest.mark.slow  # each takes little time, but there are many


@pytest.fixture
def notes(meant: MeaningShelf) -> MeaningShelf:
    meant.put_meant("car.txt", "The vehicle needs new tyres.")
    meant.put_meant(
        "garage.txt", "Opening hours. The garage looks after the engine of the automobile. Closed on Monday."
    )
    meant.put_meant("soup.txt", "A recipe with lentils.")
    meant.put_meant("budget.txt", "Numbers for the quarter.")
    return meant


def similar(notes: MeaningShelf, path: str) -> list[str]:
    return [hit.path for hit in notes.index.similar(path).hits]


def test_files_that_mean_the_same_are_found_and_never_the_file_itself(notes: MeaningShelf) -> None:
    result = notes.index.similar("car.txt")
    assert [(hit.path, hit.why) for hit in result.hits] == [("garage.txt", ("meaning",))]
    assert (result.total, result.total_is_exact, result.notes) == (1, True, ())
    assert similar(notes, "budget.txt") == []


def test_the_most_similar_passage_is_listed(notes: MeaningShelf) -> None:
    long = "\n\n".join(["numbers " * 190, "The vehicle and its tyres and the engine.", "numbers " * 190])
    notes.put_meant("long.txt", long)
    hit = next(hit for hit in notes.index.similar("car.txt").hits if hit.path == "long.txt")
    assert long[hit.passages[0].place.start : hit.passages[0].place.end].count("vehicle") == 1


def test_a_long_file_is_similar_to_a_file_that_matches_one_of_its_passages(notes: MeaningShelf) -> None:
    parts = ["The recipe of a soup with lentils. " * 25, *["The whale of the ocean. " * 35] * 9]
    notes.put_meant("both.txt", "\n\n".join(parts))
    assert "soup.txt" in similar(notes, "both.txt")


def test_copies_are_one_hit_and_a_copy_of_the_file_itself_is_marked(notes: MeaningShelf) -> None:
    notes.put_meant("car (1).txt", "The vehicle needs new tyres.", hash_="car.txt")
    notes.put_meant("old/garage.txt", "The garage looks after the engine of the automobile.", hash_="garage.txt")
    hits = {hit.path: hit for hit in notes.index.similar("car.txt").hits}
    assert hits["car (1).txt"].why == ("meaning", "copy")
    assert len(hits) == 2
    (garage,) = [hit for path, hit in hits.items() if path != "car (1).txt"]
    assert {garage.path, *garage.copies} == {"garage.txt", "old/garage.txt"}
    assert garage.why == ("meaning",)
    hits_as_json = as_json(notes.index.similar("car.txt"))["hits"]
    assert isinstance(hits_as_json, list)
    assert sorted(len(hit["copies"]) for hit in hits_as_json) == [0, 1]


def test_pages_of_similar_files_neither_repeat_nor_miss(notes: MeaningShelf) -> None:
    for number in range(12):
        notes.put_meant(f"{number}.txt", "engine and tyres")
    pages = [notes.index.similar("car.txt", limit=5, offset=offset) for offset in (0, 5, 10, 15)]
    assert len({hit.path for page in pages for hit in page.hits}) == 13
    assert {page.total for page in pages} == {13}


def test_without_vectors_title_and_tags_are_compared_and_a_note_says_so(notes: MeaningShelf) -> None:
    notes.put("scan.pdf", title="Annual report of the harbour", tags=["port authority"], hash_="scan")
    notes.put("harbour.txt", "the harbour opens", hash_="harbour")
    notes.put("tagged.txt", tags=["port authority"], hash_="tagged")
    result = notes.index.similar("scan.pdf")
    assert {hit.path: hit.why for hit in result.hits} == {"harbour.txt": ("words", "name"), "tagged.txt": ("name",)}
    assert result.total == 2
    assert result.notes == ("what this file means is not known (yet); compared by its title and tags",)


def add_digest(notes: MeaningShelf, file_id: int, status: str, content: str | None) -> None:
    notes.db.execute(
        """
        INSERT INTO digests (id, file_id, file_path, digester, status, content, settled, created_at, updated_at)
        SELECT path, id, path, 'search-semantic', ?, ?, 1, 'now', 'now' FROM files WHERE id = ?
        """,
        (status, content, file_id),
    )


def test_a_note_says_that_a_file_has_no_text(notes: MeaningShelf) -> None:
    empty = "this file has no text that could be compared; compared by its title and tags"
    add_digest(notes, notes.put("blank.png", kind=Kind.IMAGE, hash_="blank"), "completed", '{"passages": 0}')
    add_digest(notes, notes.put("tool.bin", kind=Kind.OTHER, hash_="tool"), "skipped", None)
    add_digest(notes, notes.put("other.txt", hash_="other"), "completed", '{"passages": 3}')  # by another embedder
    assert notes.index.similar("blank.png").notes == (empty,)
    assert notes.index.similar("tool.bin").notes == (empty,)
    assert "not known (yet)" in notes.index.similar("other.txt").notes[0]


def test_a_hit_found_by_words_marks_them(notes: MeaningShelf) -> None:
    notes.put("scan.pdf", title="The harbour", hash_="scan")
    notes.put("boats.txt", "Many boats lie in the harbour of the town.", hash_="harbour")
    (hit,) = notes.index.similar("scan.pdf").hits
    assert [hit.snippet.text[start:end] for start, end in hit.snippet.marks] == ["harbour"]


@pytest.mark.parametrize("path", ["in", "in/", "in/deep"])
def test_a_folder_is_refused_with_a_message_that_it_is_a_folder(notes: MeaningShelf, path: str) -> None:
    notes.put_meant("in/deep/car.txt", "tyres")
    with pytest.raises(UsageError, match="is a folder"):
        notes.index.similar(path)


@pytest.mark.parametrize("path", ["nowhere.txt", "", "gone.txt"])
def test_an_unknown_path_is_refused(notes: MeaningShelf, path: str) -> None:
    notes.put_meant("gone.txt", "tyres")
    notes.db.execute("UPDATE files SET vanished_at = 'now' WHERE path = 'gone.txt'")
    with pytest.raises(UsageError, match="no such file"):
        notes.index.similar(path)
    assert "gone.txt" not in similar(notes, "car.txt")

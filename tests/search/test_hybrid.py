"""Search by words and by meaning together: what is found, why, and where."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator

import pytest
from keyword_vault import Shelf, open_database
from semantic_vault import DIMENSION, Knows, MeaningShelf, meaning
from upstreams import upstream

from chyme.core.store import text_places
from chyme.errors import UsageError
from chyme.model import Kind, Passage, Place, Voice
from chyme.search.query.parser import Term
from chyme.search.results import as_json
from chyme.search.search import Search
from chyme.search.snippets import cut_key_snippet, find_key_sentence
from chyme.search.sqlite_index import SqliteIndex
from chyme.search.tables import vectors
from chyme.speech.people.tables import people, voices

pytestmark = pytest.mark.slow  # each takes little time, but there are many


@pytest.fixture
def notes(meant: MeaningShelf) -> MeaningShelf:
    meant.put_meant("car.txt", "The vehicle needs new tyres before winter; the garage is booked.", tags=["home"])
    meant.put_meant("dentist.txt", "The dentist looks at the crown on Friday.", date="2024-03-05")
    meant.put_meant("soup.md", "# Supper\n\nA recipe with lentils and onions. Cook for twenty minutes.", tags=["food"])
    meant.put_meant("kitchen/pans.txt", "Cook the onions in the small pan. It cost forty.")
    meant.put_meant("budget.txt", "Numbers for the quarter: travel is under, wages as planned.")
    return meant


def why(notes: MeaningShelf, question: str) -> dict[str, tuple[str, ...]]:
    return {hit.path: hit.why for hit in notes.hybrid(question).hits}


def test_a_file_is_found_that_contains_none_of_the_words(notes: MeaningShelf) -> None:
    assert why(notes, "automobile") == {"car.txt": ("meaning",)}
    assert notes.hybrid("automobile").total == 1


def test_each_hit_says_why_it_was_found(notes: MeaningShelf) -> None:
    assert why(notes, "my teeth and the budget") == {
        "dentist.txt": ("meaning",),
        "budget.txt": ("name",),
    }
    assert why(notes, "recipe")["soup.md"] == ("words", "meaning")
    assert why(notes, "kind:text tag:food") == {"soup.md": ("filter",)}


def test_a_file_found_by_words_and_by_meaning_comes_first(notes: MeaningShelf) -> None:
    assert notes.paths("lentils for supper")[0] == "soup.md"


def test_a_match_of_one_word_of_many_ranks_below_a_match_by_meaning(notes: MeaningShelf) -> None:
    question = "numbers on the old automobile license plate"
    assert notes.paths(question, mode="words") == ["budget.txt"]
    assert notes.paths(question) == ["car.txt", "budget.txt"]


def test_a_match_of_half_the_words_ranks_as_high_as_a_match_by_meaning(notes: MeaningShelf) -> None:
    assert notes.paths("wages travel automobile") == ["budget.txt", "car.txt"]
    assert notes.paths("travel budget of the automobile")[0] == "budget.txt"


def test_a_name_with_one_of_the_words_ranks_below_a_clear_match_by_meaning(notes: MeaningShelf) -> None:
    assert why(notes, "budget of the automobile") == {"car.txt": ("meaning",), "budget.txt": ("name",)}
    assert notes.paths("budget of the automobile") == ["car.txt", "budget.txt"]


@pytest.mark.parametrize(
    ("question", "corrected"),
    [
        ("fourty automobile", {"fourty": "forty"}),  # long enough to be certain
        ("coast automobile", {}),  # could be "cost", but is a word itself
        ("coast", {"coast": "cost"}),
        ("csot automobile", {"csot": "cost"}),  # letters swapped
        ("coast garage kind:text", {}),
    ],
)
def test_a_short_word_among_several_is_not_corrected_when_the_meaning_is_known(
    notes: MeaningShelf, question: str, corrected: dict[str, str]
) -> None:
    assert notes.hybrid(question).corrected == corrected


def test_a_short_word_among_several_is_not_corrected_when_only_words_are_searched(notes: MeaningShelf) -> None:
    assert notes.hybrid("coast automobile", mode="words").corrected == {}
    notes.knows.gone = ""
    assert notes.hybrid("coast automobile").corrected == {}
    assert notes.hybrid("csot automobile").corrected == {"csot": "cost"}


def test_no_word_is_corrected_to_a_stop_word(meant: MeaningShelf) -> None:
    meant.put_meant("a.txt", "would you, could you")
    assert meant.hybrid("world").corrected == {}


def test_a_question_of_stop_words_only_is_searched_by_them(notes: MeaningShelf) -> None:
    assert notes.paths("as is") == ["budget.txt", "car.txt"]


def test_a_question_about_nothing_here_finds_nothing(notes: MeaningShelf) -> None:
    result = notes.hybrid("quantum chromodynamics")
    assert (result.hits, result.total, result.notes) == ((), 0, ())


def test_modes_search_by_words_only_or_by_meaning_only(notes: MeaningShelf) -> None:
    assert notes.paths("garage automobile", mode="words") == ["car.txt"]
    assert notes.hybrid("garage automobile", mode="words").hits[0].why == ("words",)
    assert notes.hybrid("garage automobile", mode="meaning").hits[0].why == ("meaning",)
    assert notes.paths("quarter", mode="meaning") == []
    with pytest.raises(UsageError, match="both, words, meaning"):
        notes.hybrid("x", mode="magic")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "paths"),
    [
        ("supper", ["soup.md", "kitchen/pans.txt"]),
        ("supper folder:kitchen", ["kitchen/pans.txt"]),
        ("supper tag:food", ["soup.md"]),
        ("supper -tag:food", ["kitchen/pans.txt"]),
        ("supper -forty", ["soup.md"]),
        ('supper "small pan"', ["kitchen/pans.txt"]),
        ('supper -"small pan"', ["soup.md"]),
        ("tooth date:2024", ["dentist.txt"]),
        ("tooth date:2020", []),
        ("tooth kind:image", []),
        ("tooth status:failed", []),
    ],
)
def test_conditions_apply_to_search_by_meaning_too(notes: MeaningShelf, question: str, paths: list[str]) -> None:
    for mode in ("both", "meaning"):
        result = notes.hybrid(question, mode=mode, keep_conditions=True)
        assert [hit.path for hit in result.hits] == paths, mode
        assert result.total == len(paths)


def test_the_question_is_embedded_without_filters_and_excluded_words(notes: MeaningShelf) -> None:
    notes.hybrid("where is the automobile kind:text -draft NOT old .")
    assert notes.knows.asked == ["where is the automobile"]


@pytest.mark.parametrize(("question", "typing"), [('"automobile"', False), ("automobile", True), ("kind:text", False)])
def test_phrases_and_unfinished_questions_are_searched_word_for_word(
    notes: MeaningShelf, question: str, typing: bool
) -> None:
    notes.index.search(question, typing=typing)
    assert notes.knows.asked == []


def test_a_phrase_in_meaning_mode_is_searched_word_for_word_and_a_note_says_so(notes: MeaningShelf) -> None:
    result = notes.hybrid('"small pan"', mode="meaning")
    assert [hit.path for hit in result.hits] == ["kitchen/pans.txt"]
    assert result.notes == ("text in quotes is searched word for word, not by meaning",)


def test_when_meaning_is_unavailable_words_are_searched_and_a_note_says_why(notes: MeaningShelf) -> None:
    notes.knows.gone = "the embedder takes too long; searched by words"
    result = notes.hybrid("garage")
    assert [hit.why for hit in result.hits] == [("words",)]
    assert result.notes == ("the embedder takes too long; searched by words",)


def test_a_question_that_cannot_be_embedded_adds_a_note_only_in_meaning_mode(notes: MeaningShelf) -> None:
    notes.knows.gone = ""
    assert notes.hybrid("garage").notes == ()
    assert notes.hybrid("garage", mode="meaning").notes == ("nothing can be found by meaning yet; searched by words",)


def add_failed_digest(shelf: Shelf, path: str, category: str, error: str) -> None:
    shelf.db.execute(
        """
        INSERT INTO digests (id, file_id, file_path, digester, status, error, error_category, settled,
                             created_at, updated_at)
        SELECT path, id, path, 'search-semantic', 'failed', ?, ?, 0, 'now', 'now' FROM files WHERE path = ?
        """,
        (error, category, path),
    )


def test_when_no_file_could_be_embedded_a_note_says_why_and_what_to_do(shelf: Shelf) -> None:
    search = Search(lambda: shelf.db, SqliteIndex(lambda: shelf.db), Knows(meaning))
    assert search.search("garage").notes == ()  # an empty vault needs no explanation
    shelf.put("in/car.txt", "the garage")
    add_failed_digest(
        shelf, "in/car.txt", "unavailable", "car.txt: the weights are not here; run 'chyme weights embedding'"
    )
    note = "not searched by meaning: the weights are not here; run 'chyme weights embedding'"
    assert search.search("garage").notes == (note,)
    assert [hit.path for hit in search.search("garage").hits] == ["in/car.txt"]
    assert search.search("garage", mode="meaning").notes == (f"{note}; searched by words",)
    assert search.search("garage", mode="words").notes == ()
    assert search.search("kind:text").notes == ()


def test_a_note_says_that_no_file_is_embedded_yet(shelf: Shelf) -> None:
    search = Search(lambda: shelf.db, SqliteIndex(lambda: shelf.db), Knows(meaning))
    shelf.put("car.txt", "the garage")
    add_failed_digest(shelf, "car.txt", "unavailable", "x")
    shelf.db.execute("UPDATE digests SET status = 'todo', error = NULL, error_category = NULL")
    assert search.search("garage").notes == ("no file has been read for its meaning yet; that is under way",)


def test_the_corrected_question_is_also_searched_by_meaning(notes: MeaningShelf) -> None:
    for mode in ("both", "meaning"):
        result = notes.hybrid("where is the dentits", mode=mode)
        assert (result.corrected, result.hits[0].path) == ({"dentits": "dentist"}, "dentist.txt")
    assert notes.knows.asked == ["where is the dentist", "where is the dentits"] * 2  # both are compared with the files


def test_typing_errors_are_corrected_even_when_meaning_is_unavailable(notes: MeaningShelf) -> None:
    notes.knows.gone = "the embedder is busy"
    assert notes.hybrid("dentits garage").corrected == {"dentits": "dentist"}


def test_an_engine_that_does_not_know_all_vectors_says_so(notes: MeaningShelf) -> None:
    notes.vectors.note = "not all is read"
    for mode in ("both", "meaning"):
        result = notes.hybrid("garage", mode=mode)
        assert (result.notes, result.total_is_exact) == (("not all is read",), False)
    assert notes.hybrid("garage", mode="words").notes == ()
    similar = notes.index.similar("car.txt")
    assert (similar.notes, similar.total_is_exact) == (("not all is read",), False)


def test_in_meaning_mode_a_note_says_that_words_were_searched_instead(notes: MeaningShelf) -> None:
    notes.knows.gone = "not searched by meaning: the embedder does not know this script"
    assert notes.hybrid("garage", mode="meaning").notes == (f"{notes.knows.gone}; searched by words",)


def test_a_very_long_passage_is_not_read_to_its_end_for_a_snippet() -> None:
    text = "Numbers of the quarter. " * 1000
    late = "The whale sings, and the whale of the whale song is a whale."
    assert find_key_sentence(text + late * 200)[1] <= 20_000
    assert cut_key_snippet(text + late, [Term("whale")]).marks == ()


def test_a_vanished_file_is_not_found_by_its_meaning(notes: MeaningShelf) -> None:
    notes.db.execute("UPDATE files SET vanished_at = 'now' WHERE path = 'car.txt'")
    assert notes.paths("automobile") == []


def test_a_hit_by_meaning_has_its_key_sentence_as_snippet(meant: MeaningShelf) -> None:
    meant.put_meant(
        "talk.txt",
        "Good morning to you all. The whale sings in the deep ocean, and the ocean carries the song of the whale. "
        "Thank you for the song.",
    )
    (hit,) = meant.hybrid("sea").hits
    assert hit.snippet.text.startswith("The whale sings in the deep ocean")
    assert hit.snippet.cut_before
    assert hit.place == Place(0, 128)


def test_a_longer_passage_is_preferred_to_a_passage_of_one_word(meant: MeaningShelf) -> None:
    sheet = meant.put("ducks.xlsx", kind=Kind.DOCUMENT)
    texts = ["Sheet1", "Year: 2019, freshwater ducks: 120, geese: 45", "Sheet2"]
    found = [
        Passage("doc-to-markdown", at, text, Place(at * 100, at * 100 + len(text))) for at, text in enumerate(texts)
    ]
    numbers = [meaning("whale"), meaning("whale word", 1), meaning("whale")]  # short ones mean the same as the title
    blob = b"".join(struct.pack(f"<{len(vector)}f", *vector) for vector in numbers)
    vectors.replace(meant.db, sheet, meant.embedder.id, found, blob, meant.embedder.dimension, False)
    (hit,) = meant.hybrid("ocean").hits
    assert (hit.snippet.text, hit.place) == (texts[1], Place(100, 144))


def test_short_passages_are_listed_after_the_next_nearest_longer_ones(meant: MeaningShelf) -> None:
    sheet = meant.put("ducks.xlsx", kind=Kind.DOCUMENT)
    other = meant.put("other.txt")
    texts = ["Sheet1", "Year: 2019, freshwater ducks: 120, geese: 45"]
    found = [
        Passage("doc-to-markdown", at, text, Place(at * 100, at * 100 + len(text))) for at, text in enumerate(texts)
    ]
    blob = b"".join(struct.pack(f"<{len(vector)}f", *vector) for vector in (meaning("whale"), meaning("nothing", 7)))
    vectors.replace(meant.db, sheet, meant.embedder.id, found, blob, meant.embedder.dimension, False)
    vectors.replace(meant.db, other, meant.embedder.id, found[1:], blob[len(blob) // 2 :], DIMENSION, False)
    (hit,) = meant.hybrid("ocean").hits
    assert [piece.snippet.text for piece in hit.passages] == [texts[1], "Sheet1"]


def test_overlapping_passages_of_one_source_are_listed_once(notes: MeaningShelf) -> None:
    (hit,) = [hit for hit in notes.hybrid("recipe").hits if hit.path == "soup.md"]
    assert len(hit.passages) == 1
    assert hit.snippet.marks  # the passage whose words can be marked


def test_passages_of_both_kinds_are_listed_and_that_with_the_words_comes_first(meant: MeaningShelf) -> None:
    parts = ["The receipt number is 4711.", "word " * 300, "The whale sings, and all whales listen."]
    meant.put_meant("long.txt", "\n\n".join(parts))
    for number in range(8):
        meant.put_meant(f"{number}.txt", f"receipt receipt {number}")
    (hit,) = [hit for hit in meant.hybrid("ocean receipt").hits if hit.path == "long.txt"]
    assert hit.why == ("words", "meaning")
    assert [piece.place.start > 0 for piece in hit.passages] == [False, True]


def test_every_passage_with_a_searched_word_comes_before_one_without(meant: MeaningShelf) -> None:
    filler = "word " * 300
    meant.put_meant("long.txt", f"The whale, the sea, the ocean.\n\n{filler}\n\nA receipt.\n\n{filler}\n\nMy receipt.")
    (hit,) = meant.hybrid("receipt whales").hits
    shown = ["receipt" in piece.snippet.text or "whale" in piece.snippet.text for piece in hit.passages]
    assert shown == sorted(shown, reverse=True)
    (hit,) = meant.hybrid("receipt ocean sea").hits
    shown = [bool(piece.snippet.marks) for piece in hit.passages]
    assert len(shown) > 1
    assert shown == sorted(shown, reverse=True)


def test_of_passages_with_the_word_the_one_that_is_near_in_meaning_comes_first(meant: MeaningShelf) -> None:
    filler = "word " * 300
    meant.put_meant(
        "long.txt", f"Crown, crown, crown: the royal crown.\n\n{filler}\n\nThe dentist put a crown on the tooth, teeth."
    )
    for number in range(8):
        meant.put_meant(f"{number}.txt", f"something else {number}")
    (hit,) = [hit for hit in meant.hybrid("crown on teeth").hits if hit.path == "long.txt"]
    assert "dentist" in hit.snippet.text


def test_a_hit_by_meaning_leads_to_the_second_and_the_speaker(meant: MeaningShelf) -> None:
    segments = [
        {"start": 1.0, "end": 4.0, "text": "Welcome to the meeting.", "speaker": "A"},
        {"start": 64.5, "end": 70.0, "text": "A whale of the sea is a whale.", "speaker": "B"},
        {"start": 71.0, "end": 75.0, "text": "The sea is quiet.", "speaker": "B"},
    ]
    content = json.dumps({"segments": segments})
    id_ = meant.put_meant("talk.mp3", kind=Kind.AUDIO, outputs=[upstream("speech-recognition", content)])
    for name, output in (("speech-recognition", content), ("speaker-embedding", None)):
        meant.db.execute(
            """
            INSERT INTO digests (id, file_id, file_path, digester, status, content, settled, created_at, updated_at)
            VALUES (?, ?, 'talk.mp3', ?, 'completed', ?, 1, 'now', 'now')
            """,
            (name, id_, name, output),
        )
    ada = people.add(meant.db, "now")
    people.rename(meant.db, ada, "Ada", "now")
    voice = Voice("B", 5.0, "ear", (1.0, 0.0))
    voices.add(meant.db, id_, voice, voices.add_group(meant.db, ada, voice), True)
    (hit,) = meant.hybrid("ocean").hits
    assert hit.place is not None
    assert (hit.place.seconds, hit.place.speaker, hit.person) == (64.5, "B", "Ada")


def test_a_hit_by_meaning_leads_to_the_page_and_the_box(meant: MeaningShelf) -> None:
    text = "Harbour office\nThe whale of the sea, a whale"
    first, second = (0.1, 0.1, 0.9, 0.2), (0.1, 0.7, 0.5, 0.8)
    lines = (Place(0, 14, page=2, box=first), Place(15, len(text), page=2, box=second))
    id_ = meant.put_meant("sign.jpg", kind=Kind.IMAGE, outputs=[upstream("image-ocr", text, lines)])
    text_places.replace(meant.db, id_, "image-ocr", lines)
    (hit,) = meant.hybrid("ocean").hits
    assert hit.place == Place(15, len(text), page=2, box=second)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MeaningShelf]:
    """150 files that contain the word, 30 of them also found by meaning, and 20 files found by meaning only."""
    db = open_database(tmp_path_factory.mktemp("crowd") / "vault.db")
    shelf = MeaningShelf(db)
    for number in range(150):
        text = f"supper {'once ' * (number % 7)}{number}"
        shelf.put_meant(f"{number}.txt", text) if number < 30 else shelf.put(f"{number}.txt", text)
    for number in range(20):
        shelf.put_meant(f"meant {number}.txt", f"a recipe {number}")
    yield shelf
    db.close()


def test_pages_neither_repeat_nor_miss_and_go_on_by_words(crowd: MeaningShelf) -> None:
    pages = [crowd.hybrid("supper", limit=23, offset=offset) for offset in range(0, 184, 23)]
    paths = [hit.path for page in pages for hit in page.hits]
    assert len(paths) == len(set(paths)) == 170
    assert {(page.total, page.total_is_exact) for page in pages} == {(170, True)}
    assert paths[:50] == [hit.path for hit in crowd.hybrid("supper", limit=50).hits]
    assert paths == [hit.path for hit in crowd.hybrid("supper", limit=200).hits]


def test_facets_count_all_files_found_not_only_the_page(notes: MeaningShelf) -> None:
    payload = as_json(notes.hybrid("supper", limit=1, facets=True))
    assert payload["facets"] == {
        "kind": {"text": 2}, "tag": {"food": 1}, "folder": {"kitchen": 1}, "year": {"2023": 2}, "person": {},
        "status": {"completed": 2},
    }  # fmt: skip
    assert payload["facets_are_exact"] is True
    assert "facets" not in as_json(notes.hybrid("supper"))


def test_facets_of_filters_alone_of_nothing_and_of_meaning_alone(notes: MeaningShelf) -> None:
    def kinds(question: str, mode: str = "both") -> object:
        facets = notes.hybrid(question, mode=mode, facets=True).facets  # type: ignore[arg-type]
        return facets.kind if facets else None

    assert kinds("kind:text") == (("text", 5),)
    assert kinds("") == ()
    assert kinds("supper", "meaning") == (("text", 2),)
    assert kinds("quantum", "meaning") == ()
    assert kinds("numbers", "meaning") == ()  # although one file contains the word


def test_facets_of_words_meaning_and_both(crowd: MeaningShelf) -> None:
    for mode, count in (("words", 150), ("meaning", 50), ("both", 170)):
        facets = crowd.hybrid("supper", mode=mode, facets=True).facets  # type: ignore[arg-type]
        assert facets is not None
        assert facets.kind == (("text", count),), mode

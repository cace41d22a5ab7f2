"""Typical questions, and the files they must find."""

from __future__ import annotations

import pytest
from keyword_vault import Shelf
from upstreams import upstream

from chyme.model import Kind, Place
from chyme.search.tables import passages

pytestmark = pytest.mark.slow  # each takes little time, but there are many

LIBRARY = {
    "notes/tokyo.txt": "東京タワーは東京都港区にある電波塔です。観光客が多い。",
    "notes/beijing.txt": "北京大学是中国著名的高等学府，位于海淀区。",
    "notes/seoul.txt": "서울특별시는 대한민국의 수도이다. 한강이 흐른다.",
    "notes/bangkok.txt": "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย",
    "notes/half_width.txt": "ｶﾒﾗ ＡＢＣ１２３",
    "notes/han.txt": "一个字：𠮷野家",
    "notes/rain.md": "# Weather\n\nIt was raining all day; the gardeners were digesting their naïve lunch.",
    "notes/machine.txt": "Machine learning is a field. Learning a machine takes time.",
    "notes/learn.txt": "Learning by machine alone: the machine was learning.",
    "notes/draft.txt": "The machine budget, still a draft.",
    "code/foo.txt": "call foo-bar(x) AND then NEAR the end; don't panic: 10:30",
    "notes/cafe.txt": "Ein Café in Zürich, geöffnet bis spät. Straße",
    "notes/decomposed.txt": "re\u0301sume\u0301 of the applicant",
    "notes/floor.txt": "The hall has 45 m² of oak floor.",
    "notes/water.txt": "The pump moves H₂O and no CO2.",
}


@pytest.fixture
def library(shelf: Shelf) -> Shelf:
    for path, text in LIBRARY.items():
        shelf.put(path, text)
    return shelf


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("m2", "notes/floor.txt"),
        ("m²", "notes/floor.txt"),
        ("h2o", "notes/water.txt"),
        ("H₂O", "notes/water.txt"),
        ("CO₂", "notes/water.txt"),
        ("東京", "notes/tokyo.txt"),
        ("タワー", "notes/tokyo.txt"),
        ("電波塔", "notes/tokyo.txt"),
        ("客", "notes/tokyo.txt"),
        ("塔", "notes/tokyo.txt"),
        ('"東京都港区"', "notes/tokyo.txt"),
        ("東京の電波塔を見たい", "notes/tokyo.txt"),
        ("北京", "notes/beijing.txt"),
        ("高等学府", "notes/beijing.txt"),
        ("区", "notes/beijing.txt"),
        ("대한민국", "notes/seoul.txt"),
        ("수도", "notes/seoul.txt"),
        ("한강", "notes/seoul.txt"),
        ("ประเทศไทย", "notes/bangkok.txt"),
        ("カメラ", "notes/half_width.txt"),
        ("abc123", "notes/half_width.txt"),
        ("𠮷野", "notes/han.txt"),
        ("rained", "notes/rain.md"),
        ("digestion", "notes/rain.md"),
        ("naive", "notes/rain.md"),
        ("NAÏVE", "notes/rain.md"),
        ("gardners", "notes/rain.md"),  # a letter left out
        ("digetsing", "notes/rain.md"),  # two letters swapped
        ("gardenres", "notes/rain.md"),
        ("wether", "notes/rain.md"),
        ("weat*", "notes/rain.md"),
        ("cafe zurich", "notes/cafe.txt"),
        ("straße", "notes/cafe.txt"),
        ("résumé", "notes/decomposed.txt"),
        ("resume", "notes/decomposed.txt"),
        ("foo-bar", "code/foo.txt"),
        ("don't", "code/foo.txt"),
        ("10:30", "code/foo.txt"),
    ],
)
def test_finds(library: Shelf, question: str, path: str) -> None:
    assert path in library.found(question)


@pytest.mark.parametrize("question", ["京東", "東北", "학교", "xylophone", '"learning machine"', "塔電"])
def test_finds_nothing_that_is_not_there(library: Shelf, question: str) -> None:
    assert library.found(question) == []


def test_a_phrase_must_occur_in_the_file_word_by_word(library: Shelf) -> None:
    assert library.found('"machine learning"') == ["notes/machine.txt"]
    assert library.found('budget "machine learning"') == ["notes/machine.txt"]


def test_minus_leaves_out_files_that_have_the_word_or_phrase(library: Shelf) -> None:
    assert set(library.found("machine -draft")) == {"notes/machine.txt", "notes/learn.txt"}
    assert set(library.found('machine -"machine learning"')) == {"notes/learn.txt", "notes/draft.txt"}
    assert set(library.found("machine NOT draft")) == {"notes/machine.txt", "notes/learn.txt"}


def test_minus_looks_at_the_whole_file_not_only_at_the_matching_passage(shelf: Shelf) -> None:
    shelf.put("long.txt", "apple " + "word " * 600 + "secret")
    shelf.put("short.txt", "apple pie")

    assert shelf.found("apple -secret") == ["short.txt"]


def test_any_word_matches_and_more_words_rank_higher(library: Shelf) -> None:
    assert library.found("machine budget xylophone")[0] == "notes/draft.txt"
    assert len(library.found("machine budget xylophone")) == 3


def test_stop_words_are_ignored_unless_there_is_nothing_else(library: Shelf) -> None:
    assert library.found("the budget of the") == ["notes/draft.txt"]
    assert "notes/rain.md" in library.found("the")


def test_while_typing_the_last_word_may_be_unfinished(library: Shelf) -> None:
    assert library.found("mach bud", typing=True)[0] == "notes/draft.txt"
    assert library.found("mach bud") == []
    for unfinished in ("digest", "digesti", "digestin", "digesting"):
        assert library.found(unfinished, typing=True) == ["notes/rain.md"], unfinished
    assert library.found('"machine lear', typing=True) == ["notes/machine.txt"]


def test_a_word_that_occurs_somewhere_is_not_corrected(shelf: Shelf) -> None:
    shelf.put("a.txt", "form")
    shelf.put("b.txt", "from farm firm")

    result = shelf.ask("form")

    assert [hit.path for hit in result.hits] == ["a.txt"]
    assert result.corrected == {}


def test_a_correction_is_reported_and_takes_the_more_frequent_word(shelf: Shelf) -> None:
    shelf.put("rare.txt", "lattice")
    shelf.put("one.txt", "lettuce salad")
    shelf.put("two.txt", "lettuce soup")

    result = shelf.ask("lettice")

    assert result.corrected == {"lettice": "lettuce"}
    assert {hit.path for hit in result.hits} == {"one.txt", "two.txt"}


def test_two_errors_are_forgiven_in_long_words_only(shelf: Shelf) -> None:
    shelf.put("a.txt", "constitutional table")

    assert shelf.found("constitutinoall") == ["a.txt"]
    assert shelf.found("tbaell") == []


def test_a_hit_has_its_place(shelf: Shelf) -> None:
    text = "page one talks of apples\n" + "filler " * 10 + "\npage two talks of pears"
    second = text.index("page two")
    pages = (Place(0, second, page=1), Place(second, len(text), page=2))
    shelf.put("doc.pdf", kind=Kind.DOCUMENT, outputs=[upstream("doc-to-markdown", text, pages)])
    shelf.put("guide.md", "# Fruit\n\nintroduction\n\n## Quinces\n\nThey are yellow.\n")

    assert (place := shelf.ask("pears").hits[0].place) is not None and place.page == 2
    assert (place := shelf.ask("apples").hits[0].place) is not None and place.page == 1
    quinces = shelf.ask("yellow").hits[0]
    assert quinces.path == "guide.md"
    assert quinces.passages[0].source == "file"


def test_title_weighs_more_than_summary(shelf: Shelf) -> None:
    shelf.put("a.bin", kind=Kind.OTHER, title="other thing", summary="harvest report of the year")
    shelf.put("b.bin", kind=Kind.OTHER, title="harvest report of the year", summary="other thing")

    assert shelf.found("harvest") == ["b.bin", "a.bin"]


def test_files_without_text_are_found_by_name_and_say_so(shelf: Shelf) -> None:
    shelf.put("HolidayPhotos2024.zip", kind=Kind.OTHER)

    (hit,) = shelf.ask("holiday").hits

    assert hit.why == ("name",)
    assert hit.place is None
    assert shelf.found("photos") == shelf.found("2024") == shelf.found("HolidayPhotos2024.zip") == [hit.path]


def test_vanished_files_never_appear(library: Shelf) -> None:
    library.db.execute("UPDATE files SET vanished_at = 'now' WHERE path LIKE '%rain%'")

    assert library.found("raining") == []
    assert library.ask("raining").total == 0
    assert "notes/rain.md" not in library.found("kind:text")


def test_hits_are_grouped_by_file(shelf: Shelf) -> None:
    shelf.put("book.txt", "\n\n".join(f"Chapter {n}. The whale swims. " + "sea " * 150 for n in range(20)))
    shelf.put("note.txt", "whale")

    result = shelf.ask("whale")

    assert sorted(hit.path for hit in result.hits) == ["book.txt", "note.txt"]
    assert result.total == 2 and result.total_is_exact
    book = next(hit for hit in result.hits if hit.path == "book.txt")
    assert len(book.passages) == 3


def test_pages_of_results_neither_repeat_nor_miss(shelf: Shelf) -> None:
    for number in range(45):
        shelf.put(f"{number}.txt", "same words here")

    pages = [shelf.ask("words", limit=10, offset=offset) for offset in range(0, 50, 10)]

    assert len({hit.path for page in pages for hit in page.hits}) == 45
    assert {page.total for page in pages} == {45}


def test_one_big_file_does_not_hide_the_others(shelf: Shelf) -> None:
    shelf.put("big.txt", "\n\n".join("whale " * 100 for _ in range(900)))
    for number in range(30):
        shelf.put(f"{number}.txt", f"a whale among many other words of note {number}")

    result = shelf.ask("whale", limit=40)

    assert len(result.hits) == 31
    assert result.total == 31


def test_the_index_agrees_with_its_texts(library: Shelf) -> None:
    assert passages.check(library.db) == []

"""The contract of every search engine, checked by the same tests for each of them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from contract_vault import ContractVault, Vector

from chyme.model import Kind
from chyme.search.index import Index
from chyme.search.query_embedding.query_vectors import QueryVector
from chyme.search.search import Search
from chyme.search.tables import embedders, passages, vectors

pytestmark = pytest.mark.slow

IndexOf = Callable[[], Index]

LIBRARY = {
    "notes/tokyo.txt": "東京タワーは東京都港区にある電波塔です。観光客が多い。",
    "notes/beijing.txt": "北京大学是中国著名的高等学府，位于海淀区。",
    "notes/seoul.txt": "서울특별시는 대한민국의 수도이다. 한강이 흐른다.",
    "notes/bangkok.txt": "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย",
    "notes/half_width.txt": "ｶﾒﾗ ＡＢＣ１２３",
    "notes/moscow.txt": "Москва — столица России, стоит на реке.",
    "notes/rain.md": "It was raining all day; the gardeners were digesting their naïve lunch.",
    "notes/machine.txt": "Machine learning is a field. Learning a machine takes time.",
    "notes/learn.txt": "Learning by machine alone: the machine was learning.",
    "notes/draft.txt": "The machine budget, still a draft.",
    "code/foo.txt": "call foo-bar(x) AND then NEAR the end; don't panic: 10:30",
    "notes/cafe.txt": "Ein Café in Zürich, geöffnet bis spät. Straße",
}


@pytest.fixture
def library(vault: ContractVault) -> ContractVault:
    for path, text in LIBRARY.items():
        vault.put(path, text)
    return vault


def test_words_are_found_in_their_other_forms_and_spellings(library: ContractVault, index: IndexOf) -> None:
    engine = index()
    for question, path in (
        ("rained", "notes/rain.md"),
        ("digestion", "notes/rain.md"),
        ("NAÏVE", "notes/rain.md"),
        ("naive", "notes/rain.md"),
        ("cafe", "notes/cafe.txt"),
        ("zurich", "notes/cafe.txt"),
        ("foo-bar", "code/foo.txt"),
        ("10:30", "code/foo.txt"),
        ("abc123", "notes/half_width.txt"),
        ("столица", "notes/moscow.txt"),
    ):
        assert library.found(engine, question) == [path], question


def test_words_in_scripts_without_spaces_are_found(library: ContractVault, index: IndexOf) -> None:
    engine = index()
    for question, path in (
        ("東京", "notes/tokyo.txt"),
        ("タワー", "notes/tokyo.txt"),
        ("塔", "notes/tokyo.txt"),
        ('"東京都港区"', "notes/tokyo.txt"),
        ("東京の電波塔を見たいと思っていました", "notes/tokyo.txt"),
        ("高等学府", "notes/beijing.txt"),
        ("대한민국", "notes/seoul.txt"),
        ("ประเทศไทย", "notes/bangkok.txt"),
        ("カメラ", "notes/half_width.txt"),
    ):
        assert library.found(engine, question)[:1] == [path], question


def test_the_last_word_may_be_unfinished_while_typing(library: ContractVault, index: IndexOf) -> None:
    engine = index()
    for unfinished in ("digest", "digesti", "digestin", "digesting"):
        assert library.found(engine, unfinished, typing=True) == ["notes/rain.md"], unfinished
    assert library.found(engine, "mach bud", typing=True)[0] == "notes/draft.txt"
    assert library.found(engine, "mach bud") == []
    assert library.found(engine, "стол", typing=True) == ["notes/moscow.txt"]
    assert library.found(engine, '"machine lear', typing=True) == ["notes/machine.txt"]


def test_a_phrase_must_occur_word_by_word(library: ContractVault, index: IndexOf) -> None:
    engine = index()
    assert library.found(engine, '"machine learning"') == ["notes/machine.txt"]
    assert library.found(engine, 'budget "machine learning"') == ["notes/machine.txt"]
    assert library.found(engine, '"learning machine budget"') == []


def test_minus_leaves_files_out(library: ContractVault, index: IndexOf) -> None:
    engine = index()
    assert set(library.found(engine, "machine -draft")) == {"notes/machine.txt", "notes/learn.txt"}
    assert set(library.found(engine, 'machine -"machine learning"')) == {"notes/learn.txt", "notes/draft.txt"}


def test_any_word_matches_and_more_words_rank_higher(library: ContractVault, index: IndexOf) -> None:
    result = library.ask(index(), "machine budget xylophone")

    assert library.path(result.files[0].file_id) == "notes/draft.txt"
    assert (len(result.files), result.total, result.exact) == (3, 3, True)


def test_a_word_that_occurs_nowhere_is_not_found(library: ContractVault, index: IndexOf) -> None:
    assert library.found(index(), "xylophone") == []


def test_hits_name_the_passages_that_matched_best_first(vault: ContractVault, index: IndexOf) -> None:
    file_id = vault.put("a.txt", "nothing here", "a walrus", "walrus and walrus, the walrus")

    found = vault.ask(index(), "walrus").files[0]

    ordinals = [passage.ordinal for _, passage in passages.by_id(vault.database.read(), found.passages).values()]
    assert (found.file_id, found.by_words, found.by_name) == (file_id, True, False)
    assert len(found.passages) == 2 and set(ordinals) == {1, 2}
    assert passages.by_id(vault.database.read(), found.passages[:1])[found.passages[0]][1].ordinal == 2


def test_names_titles_and_tags_are_found(vault: ContractVault, index: IndexOf) -> None:
    vault.put("bills/Invoice_Acme-2024.pdf", "nothing", title="The heron's bill", tags=["birds"])
    vault.put("other.txt", "a heron")
    engine = index()

    for question in ("invoice", "acme", "birds"):
        found = vault.ask(engine, question).files
        assert [(vault.path(file.file_id), file.by_words, file.by_name) for file in found] == [
            ("bills/Invoice_Acme-2024.pdf", False, True)
        ], question
    assert set(vault.found(engine, "heron")) == {"bills/Invoice_Acme-2024.pdf", "other.txt"}


def test_filters_apply_to_search_by_words(vault: ContractVault, index: IndexOf) -> None:
    vault.put("tax/one.txt", "an otter", tags=["water"], date="2024-03-01")
    vault.put("tax/two.png", "an otter", kind=Kind.IMAGE, date="2023-05-05")
    vault.put("three.txt", "an otter", date="2024-08-08")
    engine = index()

    assert vault.found(engine, "otter kind:image") == ["tax/two.png"]
    assert set(vault.found(engine, "otter folder:tax")) == {"tax/one.txt", "tax/two.png"}
    assert vault.found(engine, "otter tag:water") == ["tax/one.txt"]
    assert set(vault.found(engine, "otter date:2024")) == {"tax/one.txt", "three.txt"}
    assert vault.found(engine, "otter -kind:image date:2024 -folder:tax") == ["three.txt"]
    assert vault.found(engine, "otter folder:nowhere") == []


def test_a_file_that_is_gone_or_vanished_is_not_found(vault: ContractVault, index: IndexOf) -> None:
    gone, vanished = vault.put("gone.txt", "a badger"), vault.put("vanished.txt", "a badger")
    vault.put("stays.txt", "a badger")
    embedder = vault.embedder("tiny", 4)
    vault.embed(gone, embedder, [unit(1, 0, 0, 0)])
    vault.embed(vanished, embedder, [unit(1, 0.1, 0, 0)])
    index()

    vault.purge(gone)
    vault.vanish(vanished)
    engine = index()

    assert vault.found(engine, "badger") == ["stays.txt"]
    assert vault.near(engine, unit(1, 0, 0, 0), embedder) == []


def test_the_former_text_of_a_file_is_not_found(vault: ContractVault, index: IndexOf) -> None:
    vault.put("note.txt", "about herons", "and swans")
    index()

    vault.put("note.txt", "about geese")
    engine = index()

    assert vault.found(engine, "herons swans") == []
    assert vault.found(engine, "geese") == ["note.txt"]


def test_a_longer_list_begins_with_the_shorter_one(vault: ContractVault, index: IndexOf) -> None:
    for number in range(30):
        vault.put(f"{number}.txt", "gull " * (number % 5 + 1) + "sea " * (number % 7))
    engine = index()

    ten, twenty = vault.found(engine, "gull sea", last=10), vault.found(engine, "gull sea", last=20)

    assert (len(ten), len(twenty), twenty[:10]) == (10, 20, ten)
    assert vault.ask(engine, "gull sea", last=10).total == 30


def test_the_nearest_passages_come_in_the_order_of_their_cosines(vault: ContractVault, index: IndexOf) -> None:
    embedder = vault.embedder("tiny", 16)
    chance = random.Random(7)
    vector_by_passage: dict[tuple[str, int], Vector] = {}
    for number in range(40):
        vectors_of_file = [unit(*(chance.gauss(0, 1) for _ in range(16))) for _ in range(3)]
        vault.embed(vault.put(f"{number}.txt", "a"), embedder, vectors_of_file)
        vector_by_passage.update({(f"{number}.txt", at): vector for at, vector in enumerate(vectors_of_file)})
    question = unit(*(chance.gauss(0, 1) for _ in range(16)))
    expected = sorted(
        vector_by_passage, key=lambda key: -sum(a * b for a, b in zip(vector_by_passage[key], question, strict=True))
    )

    assert vault.near(index(), question, embedder, count=25) == expected[:25]


def test_filters_apply_to_search_by_meaning(vault: ContractVault, index: IndexOf) -> None:
    embedder = vault.embedder("tiny", 4)
    vault.embed(vault.put("near.txt", "a"), embedder, [unit(1, 0, 0, 0)])
    vault.embed(vault.put("far.png", "a", kind=Kind.IMAGE), embedder, [unit(0, 1, 0, 0)])
    engine = index()

    assert vault.near(engine, unit(1, 0, 0, 0), embedder) == [("near.txt", 0), ("far.png", 0)]
    assert vault.near(engine, unit(1, 0, 0, 0), embedder, "kind:image") == [("far.png", 0)]
    assert vault.near(engine, unit(1, 0, 0, 0), embedder, "folder:nowhere") == []


def test_embedders_of_different_length_live_side_by_side(vault: ContractVault, index: IndexOf) -> None:
    small, large = vault.embedder("small", 4), vault.embedder("large", 6)
    file_id = vault.put("a.txt", "a")
    vault.embed(file_id, small, [unit(1, 0, 0, 0)])
    vault.embed(file_id, large, [unit(1, 0, 0, 0, 0, 0), unit(0, 1, 0, 0, 0, 0)])
    engine = index()

    assert vault.near(engine, unit(1, 0, 0, 0), small) == [("a.txt", 0)]
    assert vault.near(engine, unit(0, 1, 0, 0, 0, 0), large) == [("a.txt", 1), ("a.txt", 0)]

    vault.database.write(lambda db: embedders.switch(db, large.id))
    while vault.database.write(lambda db: embedders.sweep(db, [large.id])):
        pass
    assert vault.near(index(), unit(0, 1, 0, 0, 0, 0), large) == [("a.txt", 1), ("a.txt", 0)]


def test_matches_contain_their_cosine(vault: ContractVault, index: IndexOf) -> None:
    embedder = vault.embedder("tiny", 2)
    vault.embed(vault.put("a.txt", "a"), embedder, [unit(1, 1)])
    db = vault.database.read()

    (match,) = index().find_by_meaning(unit(1, 0), embedder, vault.condition(), 5)

    assert match.score == pytest.approx(math.sqrt(0.5), abs=1e-3)
    assert match.passage_id == vectors.of_file(db, match.file_id, embedder.id)[0][0]


class ConstantEmbedder:
    """Gives every question the same vector."""

    def __init__(self, vector: Vector) -> None:
        self._vector = vector

    def embed(self, text: str, model: str) -> QueryVector:
        return QueryVector(self._vector)


def test_a_passage_with_the_word_comes_before_one_that_is_nearer_in_meaning(
    vault: ContractVault, index: IndexOf
) -> None:
    embedder = vault.embedder("tiny", 2)
    text_near, text_with_word = "blubbers.", "a walrus."  # as long as the passages that `embed` makes
    vault.embed(vault.put("long.txt", text_near, text_with_word), embedder, [unit(1, 0), unit(0, 1)])
    for number in range(8):
        vault.put(f"{number}.txt", f"walrus walrus {number}")  # so that the word has little weight

    hits = Search(vault.database.read, index(), ConstantEmbedder(unit(1, 0))).search("ocean walrus").hits

    (hit,) = [hit for hit in hits if hit.path == "long.txt"]
    assert hit.why == ("words", "meaning")
    assert [piece.place.start for piece in hit.passages] == [len(text_near), 0]
    assert hit.snippet.text == text_with_word


def unit(*numbers: float) -> Vector:
    length = math.sqrt(sum(number * number for number in numbers))
    return tuple(number / length for number in numbers)

"""A file can be searched by its own text at once; the text that a model writes about it is added later."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterator, Sequence

import pytest
from coordinating import Bench, ScriptedDigester

from chyme.core.store import digest_resets, outdated_digests
from chyme.digester import Digester, Source
from chyme.errors import ChildCrashed
from chyme.model import Again, File, Kind, Lane, Mode, Output
from chyme.search.search_keyword import SearchKeyword
from chyme.search.search_semantic import SearchSemantic
from chyme.search.tables import embedders, vectors

Open = Callable[..., Bench]
SUMMARY = "url-crawl-summary"
PAGE = "\n\n".join(f"Paragraph {n} tells of the sea and of the ships upon it." for n in range(40))


class CountingModel:
    """Gives every text the same vector, and records the texts."""

    model, dimension, window = "all-minilm-l6-v2 384 int8", 2, 40

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> bytes:
        self.texts += texts
        return b"".join(struct.pack("<2f", 1.0, 0.0) for _ in texts)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def reads(self, text: str) -> bool:
        return bool(text)


class CountingKeyword(SearchKeyword):
    """The real digester; counts its runs."""

    count = 0

    def digest(self, source: Source) -> list[Output]:
        self.count += 1
        return super().digest(source)


class CountingSemantic(SearchSemantic):
    count = 0

    def digest(self, source: Source) -> list[Output]:
        self.count += 1
        return super().digest(source)


class Digesters:
    """Digesters of a page, its summary and search; the summary, made by a model or locally, waits for `released`."""

    def __init__(self, by_model: bool) -> None:
        self.summary_text: str | None = "A page about the sea."
        self.released = threading.Event()
        self.started = threading.Event()
        self.page = ScriptedDigester("url-crawl-content", lambda _source: [Output("url-crawl-content", PAGE)])
        lane = Lane.MODEL if by_model else Lane.ORDINARY
        self.summary = ScriptedDigester(SUMMARY, self._summarise, ("url-crawl-content",), waits=by_model, lane=lane)
        self.model = CountingModel()
        self.words, self.meaning = CountingKeyword(), CountingSemantic(load=lambda _settings: self.model)

    @property
    def registry(self) -> tuple[Digester, ...]:
        return (self.page, self.summary, self.words, self.meaning)

    def _summarise(self, _source: Source) -> list[Output]:
        self.started.set()
        assert self.released.wait(60)
        return [Output(SUMMARY, self.summary_text)]


@pytest.fixture
def parts() -> Iterator[Digesters]:
    parts = Digesters(by_model=True)
    yield parts
    parts.released.set()


def sources(vault: Bench, file_id: int, table: str) -> dict[int, str]:
    """Return the passages of a file in this table: id → the source of each."""
    rows = vault.db.execute(f"SELECT id, source FROM {table} WHERE file_id = ? ORDER BY ordinal", (file_id,))
    return dict(rows.fetchall())


def begin(vault: Bench, file_id: int, wish: Again | None = None) -> threading.Thread:
    thread = threading.Thread(target=vault.process, args=(file_id, wish), daemon=True)
    thread.start()
    return thread


def test_a_file_is_searched_by_its_own_text_until_the_model_answers(bench: Open, parts: Digesters) -> None:
    vault = bench(*parts.registry)
    page = vault.drop("page.txt")
    under_way = begin(vault, page)
    assert parts.started.wait(60)

    assert vault.digest(page, SUMMARY)[0] == "in-progress"
    assert (vault.digest(page, "search-keyword")[0], vault.digest(page, "search-semantic")[0]) == ("completed",) * 2
    words, meaning = sources(vault, page, "passages"), sources(vault, page, "semantic_passages")
    assert set(words.values()) == set(meaning.values()) == {"file", "url-crawl-content"}

    parts.released.set()
    under_way.join(60)
    for table, before in (("passages", words), ("semantic_passages", meaning)):
        after = sources(vault, page, table)
        assert {id_: after.get(id_) for id_ in before} == before, "existing passages lost their rows"
        assert [source for id_, source in after.items() if id_ not in before] == [SUMMARY]


def test_only_new_passages_are_embedded(bench: Open, parts: Digesters) -> None:
    vault = bench(*parts.registry)
    page = vault.drop("page.txt")
    parts.released.set()
    vault.process(page)

    assert (parts.words.count, parts.meaning.count) == (2, 2)
    assert len(parts.model.texts) == len(sources(vault, page, "semantic_passages"))
    assert [text.rpartition("\n")[2] for text in parts.model.texts if "about the sea" in text] == [parts.summary_text]
    known = embedders.get_serving(vault.db)
    assert known is not None
    assert all(len(vector) == 8 for _, _, vector in vectors.of_file(vault.db, page, known.id))


def test_without_a_model_everything_is_made_once(bench: Open) -> None:
    parts = Digesters(by_model=False)
    parts.released.set()
    vault = bench(*parts.registry)
    page = vault.drop("page.txt")
    vault.process(page)

    assert SUMMARY in sources(vault, page, "passages").values()
    assert SUMMARY in sources(vault, page, "semantic_passages").values()
    assert (parts.summary.calls, parts.words.count, parts.meaning.count) == (1, 1, 1)


def test_a_summary_without_content_causes_no_second_digest(bench: Open, parts: Digesters) -> None:
    parts.summary_text = None
    parts.released.set()
    vault = bench(*parts.registry)
    page = vault.drop("page.txt")
    vault.process(page)

    assert (parts.words.count, parts.meaning.count) == (1, 1)


def test_a_reset_file_gets_its_summary_back_even_if_the_model_says_the_same(bench: Open, parts: Digesters) -> None:
    vault = bench(*parts.registry)
    page = vault.drop("page.txt")
    parts.released.set()
    vault.process(page)
    parts.released.clear()
    parts.started.clear()

    under_way = begin(vault, page, Again(Mode.RESET))
    assert parts.started.wait(60)
    assert SUMMARY not in sources(vault, page, "passages").values()
    parts.released.set()
    under_way.join(60)
    assert SUMMARY in sources(vault, page, "passages").values()
    assert SUMMARY in sources(vault, page, "semantic_passages").values()


def test_an_older_summary_serves_until_the_model_has_made_another(bench: Open, parts: Digesters) -> None:
    vault = bench(*parts.registry)
    page = vault.drop("page.txt")
    parts.released.set()
    vault.process(page)
    parts.released.clear()
    parts.started.clear()
    parts.summary_text = "Ships, and what carries them."
    vault.database.write(
        lambda db: digest_resets.cascade(
            db, page, (SUMMARY, "search-keyword", "search-semantic"), "2026-03-04T12:00:00"
        )
    )

    under_way = begin(vault, page)
    assert parts.started.wait(60)
    assert vault.digest(page, "search-keyword")[0] == "completed"
    assert vault.db.execute("SELECT text FROM passages WHERE source = ?", (SUMMARY,)).fetchall() == [
        ("A page about the sea.",)
    ]
    parts.released.set()
    under_way.join(60)
    assert vault.db.execute("SELECT text FROM passages WHERE source = ?", (SUMMARY,)).fetchall() == [
        (parts.summary_text,)
    ]


def test_vectors_that_are_gone_are_made_again(bench: Open) -> None:
    """Another process may remove them while a child relies on them."""
    parts = Digesters(by_model=False)
    parts.released.set()
    vault = bench(*parts.registry)
    page = vault.drop("page.txt")
    vault.process(page)
    original_digest = parts.meaning.digest

    def digest(source: Source) -> list[Output]:
        outputs = original_digest(source)
        vault.database.write(lambda db: vectors.remove(db, page))
        parts.meaning.digest = original_digest  # type: ignore[method-assign]
        return outputs

    parts.meaning.digest = digest  # type: ignore[method-assign]
    vault.database.write(lambda db: digest_resets.cascade(db, page, ("search-semantic",), "2026-03-04T12:00:00"))
    vault.process(page)
    assert vault.digest(page, "search-semantic")[:2] == ("failed", "crash")
    vault.clock.forward(60)
    vault.process(page)
    assert vault.digest(page, "search-semantic")[0] == "completed"
    assert set(sources(vault, page, "semantic_passages").values()) == {"file", "url-crawl-content", SUMMARY}


def test_the_model_that_read_a_file_without_text_is_recorded(bench: Open) -> None:
    model = CountingModel()
    vault = bench(SearchKeyword(), SearchSemantic(load=lambda _settings: model))
    empty = vault.drop("empty.txt", " \n")
    vault.process(empty)

    for name in ("search-keyword", "search-semantic"):
        assert (vault.digest(empty, name)[0], vault.content(empty, name)) == ("completed", None)
    assert embedders.find_files_lacking(vault.db, SearchSemantic().settings.model_name, 9) == []
    assert embedders.find_files_lacking(vault.db, "another", 9) == [empty]


def test_a_file_that_is_found_only_by_its_name_has_no_content(bench: Open) -> None:
    vault = bench(SearchKeyword(), ScriptedDigester("never", applies=lambda file: file.kind is Kind.URL))
    blob = vault.drop("blob.bin", b"\x00\x01\x02")
    vault.process(blob)
    file: File = vault.file_of(blob)

    assert file.kind is Kind.OTHER
    assert (vault.digest(blob, "search-keyword")[0], vault.content(blob, "search-keyword")) == ("completed", None)
    assert vault.state(blob) == "completed"


def test_vectors_of_an_older_recipe_are_made_again_also_after_an_attempt_that_failed(bench: Open) -> None:
    model = CountingModel()
    meaning = SearchSemantic(load=lambda _settings: model)
    vault = bench(meaning)
    note = vault.drop("note.txt", PAGE)
    vault.process(note)
    total, embed = len(model.texts), model.embed
    vault.database.write(lambda db: db.execute("UPDATE digests SET recipe = 'older'"))
    vault.database.write(lambda db: outdated_digests.requeue(db, note, ["search-semantic"], "2026-03-04T12:00:00"))

    def crash(texts: Sequence[str]) -> bytes:
        model.embed = embed  # type: ignore[method-assign]
        raise ChildCrashed("note.txt: as asked")

    model.embed = crash  # type: ignore[method-assign]
    vault.process(note)
    assert vault.digest(note, "search-semantic")[:2] == ("failed", "crash")
    model.texts.clear()
    vault.clock.forward(60)
    vault.process(note)

    assert vault.digest(note, "search-semantic")[0] == "completed"
    assert len(model.texts) == total
    assert embedders.find_files_lacking(vault.db, meaning.settings.model_name, 9) == []

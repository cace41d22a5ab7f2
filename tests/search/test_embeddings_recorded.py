"""Vectors of passages are stored and removed with their digest, and the serving embedder is switched in one step."""

from __future__ import annotations

import json
import sqlite3
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest
from coordinating import Bench, Clock, ScriptedDigester
from embedding_server import embeds
from embedding_vault import Made, Meaning, make_again, meant, serving
from model_server import ModelServer
from model_server import fails as failing
from waiting import wait_until

from chyme.application import consistency_checks
from chyme.core.pipeline.coordinator import Coordinator
from chyme.core.pipeline.file_scheduler import BUNDLE, QUIET_SECONDS, FileScheduler
from chyme.core.pipeline.output_updates import prepare_output
from chyme.core.pipeline.transitions import LEASE, Claim, PassResult
from chyme.core.store import documents
from chyme.digester import Source
from chyme.errors import ChildCrashed, DigestError, EngineUnavailable, NetworkFailed
from chyme.model import Again, Embedded, File, Form, Lane, Mode, Output, Passage, Place
from chyme.models.embedding.passage_embedder import PassageEmbedding
from chyme.search.embedder_migration import switch_when_complete
from chyme.search.passage_hashes import SEMANTIC, text_hash
from chyme.search.search_semantic import SearchSemantic
from chyme.search.tables import embedders, vectors

pytestmark = pytest.mark.slow  # each takes little time, but there are many

Open = Callable[..., Bench]


def test_passages_and_vectors_come_with_the_digest(bench: Open) -> None:
    vault = bench(Meaning())
    note = vault.drop("note.txt", "one\ntwo")
    vault.process(note)

    known = embedders.get_serving(vault.db)
    assert known is not None
    assert (known.model, known.dimension) == ("small", 2)
    found = vectors.of_file(vault.db, note, known.id)
    assert [(passage.text, vector) for _, passage, vector in found] == [
        ("one", struct.pack("<2f", 1, 0)),
        ("two", struct.pack("<2f", 1, 0)),
    ]


def test_vectors_of_pictures_are_recorded_beside_those_of_texts(bench: Open) -> None:
    def look(source: Source) -> list[Output]:
        with source.open() as stream:
            seen = stream.read().decode()
        passage = Passage("image-captioning", 0, f"A picture of {seen}.", Place(0, 5))
        row = struct.pack("<3f", 0, 0, 1)
        return [Output("image-embedding", "{}", passages=(passage,), embedded=Embedded("clip", 3, row))]

    class Look(ScriptedDigester):
        embedder = "clip"

    vault = bench(Look("image-embedding", look), Meaning())
    note = vault.drop("note.txt", "one")
    vault.process(note)

    serving_model, known = embedders.get_serving(vault.db), embedders.by_model(vault.db, "clip")
    assert serving_model is not None and known is not None
    assert serving_model.model == "small"
    assert [passage.text for _, passage, _ in vectors.of_file(vault.db, note, known.id)] == ["A picture of one."]
    make_again(vault, note)
    vault.process(note)
    assert [passage.text for _, passage, _ in vectors.of_file(vault.db, note, known.id)] == ["A picture of one."]
    note = vault.drop("note.txt", "two")
    vault.process(note)
    assert [passage.text for _, passage, _ in vectors.of_file(vault.db, note, known.id)] == ["A picture of two."]
    assert [passage.text for _, passage, _ in vectors.of_file(vault.db, note, serving_model.id)] == ["two"]


def test_vectors_of_the_first_passages_are_there_before_the_rest(bench: Open) -> None:
    digester = Meaning()
    embed_all, parts = digester.make, iter((1, 3))

    def embed_some(source: Source) -> list[Output]:
        (made,) = embed_all(source)
        count = next(parts)
        row = struct.pack("<2f", 1, 0)
        first = Embedded("small", 2, row * count) if count == 1 else Embedded("small", 2, row * 2, reused=(0,))
        return [replace(made, passages=made.passages[:count], embedded=first, unfinished=count < 3)]

    digester.make = embed_some
    vault = bench(digester)
    book = vault.drop("book.txt", "one\ntwo\nthree")
    vault.process(book)
    assert meant(vault, book) == ["one"]
    assert vault.digest(book, SEMANTIC) == ("todo", None, 1)
    assert vault.state(book) == "completed"

    vault.process(book)

    assert meant(vault, book) == ["one", "two", "three"]
    assert vault.digest(book, SEMANTIC) == ("completed", None, 2)


def test_a_digest_made_again_replaces_the_passages(bench: Open) -> None:
    upstream = ScriptedDigester("text")
    vault = bench(upstream, Meaning(reads=("text",)))
    note = vault.drop("note.txt", "one\ntwo")
    vault.process(note)
    vault.process(note, Again(Mode.RESET))
    assert meant(vault, note) == ["one", "two"]


def test_a_digest_that_finds_nothing_leaves_nothing(bench: Open) -> None:
    meaning = Meaning()
    vault = bench(meaning)
    note = vault.drop("note.txt", "one")
    vault.process(note)
    meaning.make = lambda _source: [Output(SEMANTIC, '{"passages": 0}')]
    make_again(vault, note)
    vault.process(note)

    assert meant(vault, note) == []


def test_a_failure_leaves_what_was_there(bench: Open) -> None:
    meaning = Meaning()
    vault = bench(meaning)
    note = vault.drop("note.txt", "one")
    vault.process(note)
    meaning.fails["note.txt"] = EngineUnavailable("gone")
    make_again(vault, note)
    vault.process(note)

    assert meant(vault, note) == ["one"]


def test_a_reset_takes_the_vectors_of_all_embedders(bench: Open, clock: Clock) -> None:
    meaning = Meaning()
    vault = bench(meaning)
    note = vault.drop("note.txt", "one")
    vault.process(note)
    meaning.fails["note.txt"] = EngineUnavailable("gone")
    vault.process(note, Again(Mode.RESET))

    assert meant(vault, note) == []


def test_a_changed_file_has_no_passages_until_it_is_read(bench: Open) -> None:
    vault = bench(Meaning())
    note = vault.drop("note.txt", "one")
    vault.process(note)
    vault.drop("note.txt", "another")

    assert meant(vault, note) == []


def test_a_copy_has_the_vectors_of_its_original(bench: Open) -> None:
    meaning = Meaning()
    vault = bench(meaning)
    vault.process(vault.drop("note.txt", "one\ntwo"))
    copy = vault.drop("copy.txt", "one\ntwo")
    vault.process(copy)

    assert meaning.calls == 1
    assert meant(vault, copy) == ["one", "two"]


def test_another_model_serves_when_it_has_embedded_everything_and_not_before(bench: Open) -> None:
    vault = bench(Meaning("small", 2))
    notes = [vault.drop(f"{n}.txt", f"note {n}") for n in range(3)]
    for note in notes:
        vault.process(note)
    vault.close()

    vault = bench(Meaning("large", 3))
    make_again(vault, *notes)
    for note in notes[:2]:
        vault.process(note)
        assert serving(vault) == "small"
        assert [meant(vault, file_id) for file_id in notes] == [["note 0"], ["note 1"], ["note 2"]]
    vault.process(notes[2])

    assert serving(vault) == "large"
    assert [meant(vault, file_id, "large") for file_id in notes] == [["note 0"], ["note 1"], ["note 2"]]


def test_a_new_file_alone_does_not_switch_the_model(bench: Open) -> None:
    vault = bench(Meaning("small", 2))
    vault.process(vault.drop("old.txt", "old"))
    vault.close()

    vault = bench(Meaning("large", 3))
    vault.process(vault.drop("new.txt", "new"))

    assert serving(vault) == "small"


@pytest.mark.parametrize(
    ("error", "serves"), [(ChildCrashed("it"), "large"), (EngineUnavailable("none"), "small")], ids=["file", "model"]
)
def test_an_unreadable_file_does_not_stop_a_model_from_serving_but_a_missing_model_does(
    bench: Open, error: DigestError, serves: str
) -> None:
    vault = bench(Meaning("small", 2))
    notes = [vault.drop(f"{n}.txt", f"note {n}") for n in range(2)]
    for note in notes:
        vault.process(note)
    vault.close()

    larger = Meaning("large", 3)
    larger.fails["1.txt"] = error
    vault = bench(larger)
    make_again(vault, *notes)
    for _ in range(3):
        vault.process(notes[0])
        vault.process(notes[1])
        vault.clock.forward(3600)

    assert vault.digest(notes[1], SEMANTIC)[0] == "failed"
    assert serving(vault) == serves
    assert meant(vault, notes[1], "small") == ["note 1"], "the old vectors are lost"


def test_a_failure_that_is_tried_again_is_waited_for(bench: Open) -> None:
    vault = bench(Meaning("small", 2))
    notes = [vault.drop(f"{n}.txt", f"note {n}") for n in range(2)]
    for note in notes:
        vault.process(note)
    vault.close()

    larger = Meaning("large", 3)
    larger.fails["0.txt"] = NetworkFailed("away")
    vault = bench(larger)
    make_again(vault, *notes)
    for note in notes:
        vault.process(note)
    assert serving(vault) == "small"

    larger.fails.clear()
    vault.clock.forward(3600)
    vault.process(notes[0])
    assert serving(vault) == "large"


def test_the_previous_model_serves_again_while_its_vectors_are_still_there(bench: Open) -> None:
    for model, dimension in (("small", 2), ("large", 3), ("small", 2)):
        vault = bench(Meaning(model, dimension))
        note = vault.drop("note.txt", "one")
        make_again(vault, note)
        vault.process(note)
        assert serving(vault) == model
        assert not vault.database.write(lambda db, model=model: switch_when_complete(db, model))  # type: ignore[misc]
        vault.close()


def test_vectors_of_other_embedders_for_an_older_text_are_removed(bench: Open) -> None:
    """The first attempt to embed the new text fails, so the new text is known before it has vectors."""
    texts = {"old": "old text", "new": "new text"}
    current = ["old"]

    class Upstreamed(Meaning):
        def embed(self, source: Source) -> list[Output]:
            text = texts[current[0]]
            passage = Passage("text", 0, text, Place(0, len(text)))
            row = struct.pack(f"<{self.dimension}f", 1.0, *([0.0] * (self.dimension - 1)))
            content = json.dumps({"text_hash": text_hash([("text", text)]), "model": self.model})
            if source.file.name in self.fails:
                raise self.fails[source.file.name]
            return [Output(SEMANTIC, content, passages=(passage,), embedded=Embedded(self.model, self.dimension, row))]

    def open_with(meaning: Meaning) -> Bench:
        upstream = ScriptedDigester("text", lambda _source: [Output("text", texts[current[0]])])
        return bench(upstream, meaning)

    vault = open_with(Upstreamed("small", 2, ("text",)))
    note, other = vault.drop("note.txt"), vault.drop("other.txt", "other")
    for file_id in (note, other):
        vault.process(file_id)
    vault.close()

    current[0] = "new"
    larger = Upstreamed("large", 3, ("text",))
    larger.fails["note.txt"] = NetworkFailed("away")
    vault = open_with(larger)
    make_again(vault, other)  # so that the model is not switched
    vault.process(note, Again(Mode.RESET, ("text",)))
    vault.process(note)
    assert vault.digest(note, SEMANTIC)[0] == "failed"
    assert meant(vault, note) == ["old text"]

    larger.fails.clear()
    vault.clock.forward(3600)
    vault.process(note)
    assert meant(vault, note, "large") == ["new text"]
    assert meant(vault, note, "small") == []


def test_vectors_of_another_length_than_before_are_refused(bench: Open) -> None:
    meaning = Meaning()
    vault = bench(meaning)
    vault.process(vault.drop("a.txt", "a"))
    meaning.dimension = 3
    note = vault.drop("b.txt", "b")
    vault.process(note)

    assert vault.digest(note, SEMANTIC)[:2] == ("failed", "unavailable")
    assert meant(vault, note) == []


def test_vectors_of_a_model_that_is_not_configured_are_refused(bench: Open) -> None:
    meaning = Meaning()
    vault = bench(meaning)
    stranger = Embedded("stranger", 1, struct.pack("<f", 1))
    passage = Passage("file", 0, "one", Place(0, 3))
    meaning.make = lambda _source: [Output(SEMANTIC, "{}", passages=(passage,), embedded=stranger)]
    note = vault.drop("note.txt")
    vault.process(note)

    assert vault.digest(note, SEMANTIC)[:2] == ("failed", "crash")
    assert embedders.list_all(vault.db) == []


def test_a_document_is_completed_without_it(bench: Open) -> None:
    meaning = Meaning()
    meaning.fails["note.txt"] = EngineUnavailable("no weights")
    vault = bench(ScriptedDigester("search-keyword"), meaning)
    note = vault.drop("note.txt")
    vault.process(note)

    row = documents.of_file(vault.db, note)
    assert row is not None
    assert (row.state, row.degraded) == ("completed", False)
    assert SEMANTIC in vault.rules.uncounted


def test_the_size_of_a_prepared_output_includes_the_vectors() -> None:
    empty = prepare_output(Output(SEMANTIC, ""), Form.DATA)
    full = prepare_output(Output(SEMANTIC, "", embedded=Embedded("small", 2, bytes(800))), Form.DATA)
    assert full.size - empty.size == 800


def process_together(coordinator: Coordinator, file_ids: Sequence[int]) -> None:
    claims = coordinator.claim(list(file_ids), frozenset(Lane))
    coordinator.run_claims([claim for claim in claims if isinstance(claim, Claim)])


def test_small_files_of_one_thread_go_through_it_together(bench: Open) -> None:
    meaning = Meaning(reads=("text",))
    vault = bench(ScriptedDigester("text"), meaning)
    notes = [vault.drop(f"{n}.txt", f"note {n}") for n in range(5)]
    large = vault.drop("large.txt", "word " * 5000)
    process_together(vault.coordinator, [*notes, large])

    assert meaning.groups == [[f"{n}.txt" for n in range(5)]]
    assert [meant(vault, note) for note in notes] == [[f"note {n}"] for n in range(5)]
    assert vault.digest(large, SEMANTIC)[0] == "completed"
    assert meaning.calls == 6


def test_when_a_group_crashes_only_the_guilty_file_fails_and_no_other_loses_an_attempt(bench: Open) -> None:
    meaning = Meaning()
    meaning.guilty = "2.txt"
    vault = bench(meaning)
    notes = [vault.drop(f"{n}.txt", f"note {n}") for n in range(5)]
    process_together(vault.coordinator, notes)

    digests = [vault.digest(note, SEMANTIC) for note in notes]
    assert digests[2] == ("failed", "crash", 1)
    assert digests[:2] + digests[3:] == [("completed", None, 1)] * 4


def test_a_file_that_fails_in_a_group_fails_alone(bench: Open) -> None:
    meaning = Meaning()
    meaning.fails["1.txt"] = EngineUnavailable("no")
    vault = bench(meaning)
    notes = [vault.drop(f"{n}.txt", f"note {n}") for n in range(3)]
    process_together(vault.coordinator, notes)

    assert [vault.digest(note, SEMANTIC)[0] for note in notes] == ["completed", "failed", "completed"]
    assert len(meaning.groups) == 1


def test_a_file_that_changes_meanwhile_is_looked_at_again(bench: Open) -> None:
    class Meddling(Meaning):
        def digest_many(self, sources: Sequence[Source]) -> list[Made]:
            (vault.root / "1.txt").write_text("changed meanwhile")
            return super().digest_many(sources)

    vault = bench(Meddling())
    notes = [vault.drop(f"{n}.txt", f"note {n}") for n in range(3)]
    process_together(vault.coordinator, notes)

    assert [vault.digest(note, SEMANTIC) for note in notes] == [
        ("completed", None, 1),
        ("todo", None, 0),
        ("completed", None, 1),
    ]


def test_files_of_a_bundle_that_could_not_begin_are_given_back(bench: Open) -> None:
    class Broken(Meaning):
        broken = False

        def waits_for(self, file: File) -> bool:
            if self.broken:
                raise sqlite3.OperationalError("disk I/O error")
            return False

    meaning = Broken()
    vault = bench(meaning)
    notes = [vault.drop(f"{n}.txt", f"note {n}") for n in range(3)]
    claims = vault.coordinator.claim(list(notes), frozenset(Lane))
    meaning.broken = True
    with pytest.raises(sqlite3.OperationalError):
        vault.coordinator.run_claims([claim for claim in claims if isinstance(claim, Claim)])
    assert [vault.digest(note, SEMANTIC)[0] for note in notes] == ["in-progress"] * 3

    vault.clock.forward(LEASE.total_seconds() + 1)
    vault.coordinator._leases.renew()
    vault.coordinator.recover()
    assert [vault.digest(note, SEMANTIC)[0] for note in notes] == ["todo"] * 3


def test_a_file_that_must_run_alone_and_could_not_begin_blocks_no_other(shelf: Bench) -> None:
    tired = shelf.drop("tired.txt", "a")
    run_ordinary_lane(shelf, tired)
    shelf.database.write(lambda db: db.execute("UPDATE digests SET interruptions = 2 WHERE file_id = ?", (tired,)))
    supervisor = FileScheduler(shelf.database, shelf.coordinator, 10, shelf.clock, lambda _: None)
    supervisor._ordinary_until -= QUIET_SECONDS
    shelf.database.write(lambda db: db.execute("ALTER TABLE digests RENAME COLUMN content TO away"))
    try:
        with pytest.raises(sqlite3.OperationalError, match="content"):
            supervisor._take(Lane.MEANING)
        shelf.database.write(lambda db: db.execute("ALTER TABLE digests RENAME COLUMN away TO content"))
        assert supervisor._choose_all(Lane.MEANING, {}) == [[tired]]
    finally:
        supervisor.close()


def test_many_small_notes_arrive_in_bundles_while_others_are_read(bench: Open) -> None:
    meaning = Meaning(reads=("search-keyword",), lane=Lane.MEANING)
    keyword = ScriptedDigester("search-keyword", lambda source: [Output("search-keyword", '{"passages": 1}')])
    vault = bench(keyword, meaning)
    for n in range(300):
        (vault.root / f"{n}.txt").write_text(f"note {n}")
    vault.scanner.scan()
    supervisor = FileScheduler(vault.database, vault.coordinator, 10, vault.clock, lambda _: None)
    supervisor.start()
    try:
        wait_until(lambda: vault.db.execute("SELECT count(*) FROM vectors").fetchone()[0] >= 300)
    finally:
        supervisor.close()

    together = sum(map(len, meaning.groups))
    assert together > 250
    assert len(meaning.groups) < 100
    assert max(map(len, meaning.groups)) <= BUNDLE


@pytest.fixture
def shelf(bench: Open) -> Bench:
    """A vault where a file has as many passages as characters."""
    keyword = ScriptedDigester(
        "search-keyword", lambda source: [Output("search-keyword", json.dumps({"passages": source.file.size}))]
    )
    return bench(keyword, Meaning(reads=("search-keyword",), lane=Lane.MEANING))


def run_ordinary_lane(vault: Bench, *file_ids: int) -> None:
    """Process the files as the ordinary lane does."""
    claims = vault.coordinator.claim(list(file_ids))
    vault.coordinator.run_claims([claim for claim in claims if isinstance(claim, Claim)])


def bundles(vault: Bench, under_way: int = 0) -> list[list[int]]:
    supervisor = FileScheduler(vault.database, vault.coordinator, 10, vault.clock, lambda _: None)
    supervisor._bundles = under_way
    try:
        return supervisor._choose_bundles(set(), False)
    finally:
        supervisor.close()


def test_a_book_has_a_bundle_to_itself(shelf: Bench) -> None:
    notes = [shelf.drop(f"{n}.txt", "x" * (n + 1)) for n in range(3)]
    books = [shelf.drop(f"book {n}.txt", "y" * (300 + n)) for n in range(3)]
    run_ordinary_lane(shelf, *notes, *books)

    assert bundles(shelf) == [notes, books[:1]]


def test_files_that_are_still_being_read_are_in_no_bundle(shelf: Bench) -> None:
    notes = [shelf.drop(f"{n}.txt", "x" * (n + 1)) for n in range(4)]
    assert bundles(shelf) == []
    run_ordinary_lane(shelf, *notes[2:])
    assert bundles(shelf) == [notes[2:]]


def test_there_are_no_more_bundles_than_places(shelf: Bench) -> None:
    notes = [shelf.drop(f"{n}.txt", "x" * (n + 1)) for n in range(4)]
    run_ordinary_lane(shelf, *notes)
    assert (bundles(shelf, under_way=1), bundles(shelf, under_way=2)) == ([notes], [])


@pytest.fixture
def service() -> Iterator[ModelServer]:
    with ModelServer(embeds()) as server:
        yield server


def by_service(server: ModelServer) -> SearchSemantic:
    settings = PassageEmbedding(engine="openai", url=server.url, model="far", window=50, seconds=5.0)
    return SearchSemantic(settings)


def test_a_service_gives_the_vectors(bench: Open, service: ModelServer) -> None:
    digester = by_service(service)
    vault = bench(digester)
    note = vault.drop("note.txt", "some words")
    vault.process(note)

    assert meant(vault, note, digester.settings.model_name) == ["some words"]
    assert serving(vault) == digester.settings.model_name


def test_a_file_made_private_is_not_sent_and_loses_its_vectors(bench: Open, service: ModelServer) -> None:
    digester = by_service(service)
    vault = bench(digester)
    note = vault.drop("note.txt", "some words")
    vault.process(note)
    (vault.root / ".chymeprivate").write_text("note.txt\n")
    make_again(vault, note)
    vault.process(note)

    assert len(service.requests) == 1
    assert vault.digest(note, SEMANTIC)[0] == "completed"
    assert json.loads(vault.content(note, SEMANTIC) or "")["indexed"] is False
    assert meant(vault, note, digester.settings.model_name) == []


def test_an_outage_is_waited_for_and_no_other_model_embeds_meanwhile(bench: Open) -> None:
    with ModelServer([failing(503), embeds()]) as server:
        digester = by_service(server)
        vault = bench(digester)
        note = vault.drop("note.txt", "some words")
        vault.process(note)
        assert vault.digest(note, SEMANTIC)[:2] == ("failed", "network")
        assert embedders.list_all(vault.db) == []

        vault.clock.forward(3600)
        vault.coordinator.wake()
        vault.process(note)
    assert meant(vault, note, digester.settings.model_name) == ["some words"]


def test_a_group_embedded_while_the_vault_was_away_is_recorded_when_it_is_back(bench: Open) -> None:
    meaning = Meaning()
    vault = bench(meaning)
    notes = [vault.drop(f"note{number}.txt", f"line {number}") for number in range(3)]
    state, away, embed_many = vault.root / ".chyme", vault.root / "away", meaning.digest_many
    back = threading.Timer(1, lambda: away.rename(state))

    def go_meanwhile(sources: Sequence[Source]) -> list[Made]:
        results = embed_many(sources)
        state.rename(away)
        back.start()
        return results

    meaning.digest_many = go_meanwhile  # type: ignore[method-assign]
    claims = vault.coordinator.claim(list(notes), frozenset(Lane))
    handled = vault.coordinator.run_claims([claim for claim in claims if isinstance(claim, Claim)])

    back.join()
    assert handled == dict.fromkeys(notes, PassResult.DONE)
    assert [meant(vault, note) for note in notes] == [["line 0"], ["line 1"], ["line 2"]]
    assert meaning.groups == [["note0.txt", "note1.txt", "note2.txt"]]
    assert vault.database.write(consistency_checks.find_problems) == []

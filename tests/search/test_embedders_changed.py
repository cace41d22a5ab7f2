"""When the embedder is changed, each file is embedded again, and nothing is lost meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from coordinating import Bench
from embedding_server import embeds
from embedding_vault import Meaning, meant, serving
from model_server import ModelServer

from chyme.digester import Digester
from chyme.model import Again, Mode, iso
from chyme.models.embedding.passage_embedder import PassageEmbedding
from chyme.search import embedder_migration
from chyme.search.passage_hashes import SEMANTIC
from chyme.search.search_semantic import SearchSemantic
from chyme.search.tables import embedders

Open = Callable[..., Bench]


def latin() -> Meaning:
    meaning = Meaning("latin", 2)
    meaning.latin = True
    return meaning


def everything() -> Meaning:
    return Meaning("everything", 3)


def request_reembedding(vault: Bench, model: str) -> None:
    embedder_migration.request_reembedding(vault.database, model, iso(vault.clock()))


def finish_migration(vault: Bench, model: str) -> None:
    embedder_migration.finish_migration(vault.database, model, iso(vault.clock()))


def start(bench: Open, digester: Digester) -> Bench:
    """Do what chyme does when it starts to digest with this embedder."""
    vault = bench(digester)
    assert digester.embedder is not None
    request_reembedding(vault, digester.embedder)
    return vault


def work(vault: Bench, *file_ids: int) -> None:
    for file_id in file_ids:
        vault.process(file_id)
    finish_migration(vault, vault.rules.registry[0].embedder or "")


def test_a_file_that_the_first_embedder_could_not_read_is_read_by_the_next(bench: Open) -> None:
    vault = start(bench, latin())
    english, chinese = vault.drop("en.txt", "hello"), vault.drop("zh.txt", "你好")
    work(vault, english, chinese)
    assert vault.digest(chinese, SEMANTIC)[0] == "completed"
    vault.close()

    vault = start(bench, everything())
    vault.process(english)
    assert serving(vault) == "latin", "it switched although one file is left"
    work(vault, chinese)
    assert serving(vault) == "everything"
    assert [meant(vault, file_id, "everything") for file_id in (english, chinese)] == [["hello"], ["你好"]]


def test_a_file_that_no_embedder_could_read_is_read_by_the_first_that_can(bench: Open) -> None:
    vault = start(bench, latin())
    chinese = vault.drop("zh.txt", "你好")
    work(vault, chinese)
    assert serving(vault) is None
    vault.close()

    vault = start(bench, everything())
    work(vault, chinese)
    assert (serving(vault), meant(vault, chinese, "everything")) == ("everything", ["你好"])


def test_a_file_that_the_next_embedder_cannot_read_is_found_until_that_serves(bench: Open) -> None:
    vault = start(bench, everything())
    english, chinese = vault.drop("en.txt", "hello"), vault.drop("zh.txt", "你好")
    work(vault, english, chinese)
    vault.close()

    vault = start(bench, latin())
    vault.process(chinese)
    assert (serving(vault), meant(vault, chinese, "everything")) == ("everything", ["你好"])
    work(vault, english)
    assert serving(vault) == "latin"
    assert [embedder.model for embedder in embedders.list_all(vault.db)] == ["latin"]
    assert vault.db.execute("SELECT count(*) FROM semantic_passages").fetchone() == (1,)


def test_returning_to_the_old_embedder_before_the_next_serves_loses_nothing(bench: Open) -> None:
    vault = start(bench, everything())
    english, chinese = vault.drop("en.txt", "hello"), vault.drop("zh.txt", "你好")
    work(vault, english, chinese)
    vault.close()
    vault = start(bench, latin())
    vault.process(chinese)
    vault.close()

    vault = start(bench, everything())
    assert meant(vault, chinese, "everything") == ["你好"], "the old vectors are lost before it is read again"
    work(vault, english, chinese)
    assert serving(vault) == "everything"
    assert [meant(vault, file_id, "everything") for file_id in (english, chinese)] == [["hello"], ["你好"]]
    assert '"passages": 1' in (vault.content(chinese, SEMANTIC) or "")
    assert [embedder.model for embedder in embedders.list_all(vault.db)] == ["everything"]


def test_a_changed_text_that_cannot_be_read_removes_the_vectors_of_other_embedders(bench: Open) -> None:
    vault = start(bench, everything())
    note, other = vault.drop("note.txt", "hello"), vault.drop("other.txt", "other")
    work(vault, note, other)
    vault.close()

    vault = start(bench, latin())
    vault.drop("note.txt", "你好")
    vault.process(note)
    assert meant(vault, note, "everything") == []


@pytest.fixture
def service() -> Iterator[ModelServer]:
    with ModelServer(embeds()) as server:
        yield server


def remote_digester(server: ModelServer) -> SearchSemantic:
    return SearchSemantic(PassageEmbedding(engine="openai", url=server.url, model="far", window=50, seconds=5.0))


class PlainModel:
    """Replaces the model in the weights."""

    model, dimension, window = "all-minilm-l6-v2 384 int8", 384, 200

    def embed(self, texts: list[str]) -> bytes:
        return (b"\0\0\x80?" + bytes(4 * 383)) * len(texts)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def reads(self, text: str) -> bool:
        return True


def local_digester() -> SearchSemantic:
    return SearchSemantic(load=lambda _settings: PlainModel())  # type: ignore[arg-type,return-value]


def test_a_private_file_is_read_once_the_embedder_is_on_this_machine(bench: Open, service: ModelServer) -> None:
    vault = start(bench, remote_digester(service))
    (vault.root / ".chymeprivate").write_text("secret.txt\n")
    secret, known = vault.drop("secret.txt", "my diary"), vault.drop("open.txt", "a note")
    work(vault, secret, known)
    assert vault.digest(secret, SEMANTIC)[0] == "completed"
    vault.close()

    vault = start(bench, local_digester())
    work(vault, secret, known)
    assert serving(vault) == PlainModel.model
    assert meant(vault, secret, PlainModel.model) == ["my diary"]
    assert len(service.requests) == 1


def test_a_private_file_is_found_until_a_remote_embedder_serves_and_does_not_prevent_that(
    bench: Open, service: ModelServer
) -> None:
    vault = start(bench, local_digester())
    (vault.root / ".chymeprivate").write_text("secret.txt\n")
    secret, known = vault.drop("secret.txt", "my diary"), vault.drop("open.txt", "a note")
    work(vault, secret, known)
    vault.close()

    far = remote_digester(service)
    vault = start(bench, far)
    vault.process(secret)
    assert (serving(vault), meant(vault, secret, PlainModel.model)) == (PlainModel.model, ["my diary"])
    work(vault, known)
    assert serving(vault) == far.embedder
    assert meant(vault, secret, PlainModel.model) == meant(vault, secret, far.settings.model_name) == []
    assert [embedder.model for embedder in embedders.list_all(vault.db)] == [far.embedder]


def test_the_process_that_started_last_decides_between_two_embedders(bench: Open) -> None:
    vault = start(bench, Meaning("one", 2))
    notes = [vault.drop(f"{n}.txt", f"note {n}") for n in range(3)]
    work(vault, *notes)
    vault.close()

    vault = start(bench, Meaning("other", 3))
    vault.process(notes[0])
    finish_migration(vault, "one")  # as the first process does regularly
    assert [vault.digest(note, SEMANTIC)[0] for note in notes] == ["completed", "todo", "todo"]
    assert meant(vault, notes[0], "other") == ["note 0"], "vectors of the last process were removed"

    work(vault, *notes)
    finish_migration(vault, "one")
    assert serving(vault) == "other"
    assert [vault.digest(note, SEMANTIC)[0] for note in notes] == ["completed"] * 3
    assert [meant(vault, note, "other") for note in notes] == [["note 0"], ["note 1"], ["note 2"]]


def test_a_file_embedded_by_a_process_with_an_older_choice_switches_nothing_and_is_embedded_again(bench: Open) -> None:
    vault = start(bench, Meaning("other", 3))
    note = vault.drop("note.txt", "note")
    work(vault, note)
    vault.close()

    vault = bench(Meaning("one", 2))  # this process started earlier
    vault.process(note, Again(Mode.RESET))
    assert (vault.digest(note, SEMANTIC)[0], serving(vault)) == ("completed", "other")
    finish_migration(vault, "other")
    assert vault.digest(note, SEMANTIC)[0] == "todo"


def test_a_copy_made_during_a_migration_keeps_the_vectors_of_the_serving_embedder(bench: Open) -> None:
    vault = start(bench, Meaning("one", 2))
    old, rest = vault.drop("old.txt", "same words"), vault.drop("rest.txt", "other")
    work(vault, old, rest)
    vault.close()

    meaning = Meaning("other", 3)
    vault = start(bench, meaning)
    vault.process(vault.drop("new.txt", "same words"))
    vault.process(old)
    assert meaning.calls == 1, "it was not copied"
    assert (serving(vault), meant(vault, old, "one"), meant(vault, old, "other")) == (
        "one",
        ["same words"],
        ["same words"],
    )

"""Another embedder is chosen, and another again: each file is read by it, and nothing is lost on the way."""

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


def take_up(vault: Bench, model: str) -> None:
    embedder_migration.request_reembedding(vault.database, model, iso(vault.clock()))


def tidy(vault: Bench, model: str) -> None:
    embedder_migration.finish_migration(vault.database, model, iso(vault.clock()))


def start(bench: Open, digester: Digester) -> Bench:
    """As when chyme begins to digest with this embedder."""
    vault = bench(digester)
    assert digester.embedder is not None
    take_up(vault, digester.embedder)
    return vault


def work(vault: Bench, *file_ids: int) -> None:
    for file_id in file_ids:
        vault.process(file_id)
    tidy(vault, vault.rules.registry[0].embedder or "")


def test_what_one_embedder_could_not_read_is_read_by_the_next(bench: Open) -> None:
    vault = start(bench, latin())
    english, chinese = vault.drop("en.txt", "hello"), vault.drop("zh.txt", "你好")
    work(vault, english, chinese)
    assert vault.digest(chinese, SEMANTIC)[0] == "completed"
    vault.close()

    vault = start(bench, everything())
    vault.process(english)
    assert serving(vault) == "latin", "one file is left"
    work(vault, chinese)
    assert serving(vault) == "everything"
    assert [meant(vault, one, "everything") for one in (english, chinese)] == [["hello"], ["你好"]]


def test_what_no_embedder_could_read_yet_is_read_by_the_first_that_can(bench: Open) -> None:
    vault = start(bench, latin())
    chinese = vault.drop("zh.txt", "你好")
    work(vault, chinese)
    assert serving(vault) is None
    vault.close()

    vault = start(bench, everything())
    work(vault, chinese)
    assert (serving(vault), meant(vault, chinese, "everything")) == ("everything", ["你好"])


def test_what_the_next_embedder_cannot_read_is_found_until_it_serves(bench: Open) -> None:
    vault = start(bench, everything())
    english, chinese = vault.drop("en.txt", "hello"), vault.drop("zh.txt", "你好")
    work(vault, english, chinese)
    vault.close()

    vault = start(bench, latin())
    vault.process(chinese)
    assert (serving(vault), meant(vault, chinese, "everything")) == ("everything", ["你好"])
    work(vault, english)
    assert serving(vault) == "latin"
    assert [one.model for one in embedders.list_all(vault.db)] == ["latin"]
    assert vault.db.execute("SELECT count(*) FROM semantic_passages").fetchone() == (1,)


def test_back_before_the_next_embedder_serves_nothing_is_lost(bench: Open) -> None:
    vault = start(bench, everything())
    english, chinese = vault.drop("en.txt", "hello"), vault.drop("zh.txt", "你好")
    work(vault, english, chinese)
    vault.close()
    vault = start(bench, latin())
    vault.process(chinese)
    vault.close()

    vault = start(bench, everything())
    assert meant(vault, chinese, "everything") == ["你好"], "before it is read again"
    work(vault, english, chinese)
    assert serving(vault) == "everything"
    assert [meant(vault, one, "everything") for one in (english, chinese)] == [["hello"], ["你好"]]
    assert '"passages": 1' in (vault.content(chinese, SEMANTIC) or "")
    assert [one.model for one in embedders.list_all(vault.db)] == ["everything"]


def test_another_text_in_which_nothing_can_be_read_takes_what_others_said_along(bench: Open) -> None:
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


def away(server: ModelServer) -> SearchSemantic:
    return SearchSemantic(PassageEmbedding(engine="openai", url=server.url, model="far", window=50, seconds=5.0))


class Plain:
    """Stands for the model in the weights."""

    model, dimension, window = "all-minilm-l6-v2 384 int8", 384, 200

    def embed(self, texts: list[str]) -> bytes:
        return (b"\0\0\x80?" + bytes(4 * 383)) * len(texts)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def reads(self, text: str) -> bool:
        return True


def here() -> SearchSemantic:
    return SearchSemantic(load=lambda _settings: Plain())  # type: ignore[arg-type,return-value]


def test_a_private_file_is_read_once_the_embedder_is_on_this_machine(bench: Open, service: ModelServer) -> None:
    vault = start(bench, away(service))
    (vault.root / ".chymeprivate").write_text("secret.txt\n")
    secret, known = vault.drop("secret.txt", "my diary"), vault.drop("open.txt", "a note")
    work(vault, secret, known)
    assert vault.digest(secret, SEMANTIC)[0] == "completed"
    vault.close()

    vault = start(bench, here())
    work(vault, secret, known)
    assert serving(vault) == Plain.model
    assert meant(vault, secret, Plain.model) == ["my diary"]
    assert len(service.requests) == 1


def test_a_private_file_is_found_until_an_embedder_elsewhere_serves_and_does_not_keep_it_from_that(
    bench: Open, service: ModelServer
) -> None:
    vault = start(bench, here())
    (vault.root / ".chymeprivate").write_text("secret.txt\n")
    secret, known = vault.drop("secret.txt", "my diary"), vault.drop("open.txt", "a note")
    work(vault, secret, known)
    vault.close()

    far = away(service)
    vault = start(bench, far)
    vault.process(secret)
    assert (serving(vault), meant(vault, secret, Plain.model)) == (Plain.model, ["my diary"])
    work(vault, known)
    assert serving(vault) == far.embedder
    assert meant(vault, secret, Plain.model) == meant(vault, secret, far.settings.model_name) == []
    assert [one.model for one in embedders.list_all(vault.db)] == [far.embedder]


def test_of_two_processes_with_different_embedders_the_one_that_began_last_decides(bench: Open) -> None:
    vault = start(bench, Meaning("one", 2))
    notes = [vault.drop(f"{n}.txt", f"note {n}") for n in range(3)]
    work(vault, *notes)
    vault.close()

    vault = start(bench, Meaning("other", 3))
    vault.process(notes[0])
    tidy(vault, "one")  # as the first process does all along
    assert [vault.digest(note, SEMANTIC)[0] for note in notes] == ["completed", "todo", "todo"]
    assert meant(vault, notes[0], "other") == ["note 0"], "what the last one made is not swept away"

    work(vault, *notes)
    tidy(vault, "one")
    assert serving(vault) == "other"
    assert [vault.digest(note, SEMANTIC)[0] for note in notes] == ["completed"] * 3
    assert [meant(vault, note, "other") for note in notes] == [["note 0"], ["note 1"], ["note 2"]]


def test_what_is_read_by_a_process_with_an_older_choice_switches_nothing_and_is_read_again(bench: Open) -> None:
    vault = start(bench, Meaning("other", 3))
    note = vault.drop("note.txt", "note")
    work(vault, note)
    vault.close()

    vault = bench(Meaning("one", 2))  # it began before
    vault.process(note, Again(Mode.RESET))
    assert (vault.digest(note, SEMANTIC)[0], serving(vault)) == ("completed", "other")
    tidy(vault, "other")
    assert vault.digest(note, SEMANTIC)[0] == "todo"


def test_a_copy_in_a_change_keeps_what_the_embedder_that_serves_said(bench: Open) -> None:
    vault = start(bench, Meaning("one", 2))
    old, rest = vault.drop("old.txt", "same words"), vault.drop("rest.txt", "other")
    work(vault, old, rest)
    vault.close()

    meaning = Meaning("other", 3)
    vault = start(bench, meaning)
    vault.process(vault.drop("new.txt", "same words"))
    vault.process(old)
    assert meaning.calls == 1, "it was copied"
    assert (serving(vault), meant(vault, old, "one"), meant(vault, old, "other")) == (
        "one",
        ["same words"],
        ["same words"],
    )

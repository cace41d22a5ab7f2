"""What a step reads of a file's digests decides the same as reading all of them."""

from __future__ import annotations

from collections.abc import Callable

from coordinating import Bench, ScriptedDigester

from chyme.core.pipeline.plan import input_hash, next_step
from chyme.core.store import digests
from chyme.model import Status

Open = Callable[..., Bench]


def test_a_step_knows_skipped_digests_by_name_and_all_others_whole(bench: Open) -> None:
    vault = bench(
        ScriptedDigester("sound", applies=lambda _file: False),
        ScriptedDigester("text", reads=("sound",)),
        ScriptedDigester("words", reads=("sound", "text"), optional_reads=frozenset({"sound"})),
    )
    note = vault.drop("note.txt", "a note")
    db = vault.database.read()
    whole, read = digests.of_file(db, note), digests.unskipped_of_file(db, note)

    assert whole.keys() == read.keys() == {"sound", "text", "words"}
    assert read["sound"].status is Status.SKIPPED and read["sound"].settled
    assert {name: read[name] for name in ("text", "words")} == {name: whole[name] for name in ("text", "words")}
    file, rules = vault.file("note.txt"), vault.rules
    assert next_step(rules.registry, file, read, "2027") == next_step(rules.registry, file, whole, "2027")
    for digester in rules.registry:
        assert input_hash(digester, file, read) == input_hash(digester, file, whole)

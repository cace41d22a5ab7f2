"""A document whose file vanished while it was being digested, and came back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from coordinating import Bench, ScriptedDigester

from chyme.application import consistency_checks
from chyme.core.pipeline.again import reprocess
from chyme.core.store import documents
from chyme.digester import Source
from chyme.model import Again, Mode, Output, iso

TITLED = [Output("classify-document", '{"title": "told", "tags": []}')]


@pytest.mark.parametrize("deleted", [True, False], ids=["deleted here", "taken away by somebody"])
def test_a_document_that_vanished_while_it_was_digested_does_not_get_stuck(
    bench: Callable[..., Bench], deleted: bool
) -> None:
    classify = ScriptedDigester("classify-document", lambda _source: TITLED)
    vault = bench(classify)
    note = vault.drop("note.txt")
    vault.process(note)
    away = vault.root.parent / "elsewhere.txt"

    def go(_source: Source) -> list[Output]:
        if deleted:
            vault.intake.hide_trashed(vault.file_of(note))
        (vault.root / "note.txt").rename(away)
        vault.scanner.scan()
        return TITLED

    classify.make = go
    vault.process(note, Again(Mode.RESET, ("classify-document",)))
    assert vault.file_of(note).vanished_at is not None
    away.rename(vault.root / "note.txt")
    vault.scanner.scan()
    assert vault.file_of(note).path == "note.txt"
    assert (vault.digest(note, "classify-document")[0], vault.state(note)) == ("completed", "completed")


def test_a_retry_completes_a_document_that_is_stuck(bench: Callable[..., Bench]) -> None:
    vault = bench(ScriptedDigester("classify-document", lambda _source: TITLED))
    note = vault.drop("note.txt")
    vault.process(note)
    vault.database.write(lambda db: documents.set_state(db, note, "processing", "waiting for tags", False, "now"))
    problems = vault.database.write(consistency_checks.find_problems)
    assert "documents that wait though nothing is left to make: note.txt" in problems
    reprocess(vault.database, vault.rules, "home", "note.txt", iso(vault.clock.now), lambda: None)
    assert vault.state(note) == "completed"
    assert vault.database.write(consistency_checks.find_problems) == []

"""A failed document is tried again, and outdated digests are made again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from coordinating import Bench, Clock, ScriptedDigester, fails

from chyme.core.pipeline.again import Reprocessing, find_outdated, reprocess, request_again
from chyme.core.store import file_requests, outdated_digests
from chyme.digester import Source
from chyme.errors import UnreadableFile, UnsupportedFile, UsageError
from chyme.model import Again, Mode, Output, iso

TITLED = '{"title": "told", "tags": []}'
UNTITLED = '{"title": null, "tags": []}'


def reprocess_path(bench: Bench, path: str) -> Reprocessing:
    return reprocess(bench.database, bench.rules, "home", path, iso(bench.clock.now), lambda: None)


def test_a_hundred_clicks_make_one_job(bench: Callable[..., Bench]) -> None:
    classify = ScriptedDigester("classify-document", lambda _source: [Output("classify-document", UNTITLED)])
    vault = bench(classify)
    note = vault.drop("a/note.txt")
    vault.process(note)
    assert vault.state(note) == "needs-classification"

    answers = {reprocess_path(vault, "a/note.txt") for _ in range(100)}
    assert answers == {Reprocessing("classify-doc_home_a/note.txt")}
    assert len(file_requests.of_file(vault.db, note)) == 1
    classify.make = lambda _source: [Output("classify-document", TITLED)]
    vault.process(note)
    assert (classify.calls, vault.state(note)) == (2, "completed")

    # a finished job blocks no other
    assert reprocess_path(vault, "a/note.txt") == Reprocessing("process-doc_home_a/note.txt")
    vault.process(note)
    assert classify.calls == 3


def test_a_failed_document_is_tried_again(bench: Callable[..., Bench]) -> None:
    text = ScriptedDigester("doc-to-markdown", fails(UnreadableFile("broken")))
    vault = bench(text)
    document = vault.drop("paper.pdf", b"%PDF-1.4\n1 0 obj\n")
    vault.process(document)
    assert vault.state(document) == "failed"
    text.make = lambda _source: [Output("doc-to-markdown", "# Now it is there")]
    assert reprocess_path(vault, "paper.pdf").as_json() == {"success": True, "job_id": "process-doc_home_paper.pdf"}
    vault.process(document)
    assert vault.state(document) == "completed"


def test_a_picture_that_could_not_be_read_is_read_again_and_not_only_classified(bench: Callable[..., Bench]) -> None:
    preview = ScriptedDigester("image-preview", fails(UnreadableFile("broken")))
    vault = bench(preview, ScriptedDigester("classify-image", lambda _source: [Output("classify-image", TITLED)]))
    picture = vault.drop("dot.png", b"\x89PNG\r\n\x1a\nbroken")
    vault.process(picture)
    assert vault.state(picture) == "failed"
    preview.make = lambda _source: [Output("image-preview", "{}")]
    assert reprocess_path(vault, "dot.png").job_id == "process-doc_home_dot.png"
    vault.process(picture)
    assert (preview.calls, vault.state(picture)) == (2, "completed")


def test_a_failed_document_is_tried_again_while_another_digest_has_yet_to_be_made(bench: Callable[..., Bench]) -> None:
    text = ScriptedDigester("doc-to-markdown", fails(UnreadableFile("broken")))
    vault = bench(text, ScriptedDigester("slow"))
    document = vault.drop("paper.pdf", b"%PDF-1.4\n1 0 obj\n")
    vault.process(document)
    vault.database.write(
        lambda db: db.execute("UPDATE digests SET status = 'todo', settled = 0 WHERE digester = 'slow'")
    )
    assert vault.state(document) == "failed"
    text.make = lambda _source: [Output("doc-to-markdown", "# Now it is there")]
    reprocess_path(vault, "paper.pdf")
    vault.process(document)
    assert vault.state(document) == "completed"


def test_a_finished_document_is_made_again_while_a_digest_it_does_not_need_is_pending(
    bench: Callable[..., Bench],
) -> None:
    classify = ScriptedDigester("classify-document", lambda _source: [Output("classify-document", TITLED)])
    vault = bench(classify, ScriptedDigester("tag-embeddings"))
    note = vault.drop("note.txt")
    vault.process(note)
    vault.database.write(
        lambda db: db.execute("UPDATE digests SET status = 'todo', settled = 0 WHERE digester = 'tag-embeddings'")
    )
    assert vault.state(note) == "completed"
    reprocess_path(vault, "note.txt")
    vault.process(note)
    assert classify.calls == 2


def test_a_second_request_while_everything_is_being_made_changes_nothing(bench: Callable[..., Bench]) -> None:
    classify = ScriptedDigester("classify-document", lambda _source: [Output("classify-document", TITLED)])
    vault = bench(classify)
    note = vault.drop("note.txt")
    vault.process(note)
    reprocess_path(vault, "note.txt")

    def request_meanwhile(_source: Source) -> list[Output]:
        reprocess_path(vault, "note.txt")
        return [Output("classify-document", TITLED)]

    classify.make = request_meanwhile
    vault.process(note)
    vault.process(note)
    assert (classify.calls, vault.state(note)) == (2, "completed")


def test_a_file_that_no_digester_reads_is_not_tried_again(bench: Callable[..., Bench]) -> None:
    vault = bench(ScriptedDigester("doc-to-markdown", fails(UnsupportedFile("an archive"))))
    document = vault.drop("paper.pdf", b"%PDF-1.4\n1 0 obj\n")
    vault.process(document)
    assert reprocess_path(vault, "paper.pdf").as_json() == {"skipped": True}
    vault.drop("thing.bin", b"\0\1\2\3" * 20)
    assert reprocess_path(vault, "thing.bin").as_json() == {"skipped": True}
    with pytest.raises(UsageError, match="is not a file"):
        reprocess_path(vault, "nowhere.txt")


def test_outdated_digests_are_listed_and_made_again(bench: Callable[..., Bench], clock: Clock) -> None:
    first, second = ScriptedDigester("first", provider="llm"), ScriptedDigester("second")
    vault = bench(first, second)
    notes = [vault.drop(f"{folder}/note.txt", folder) for folder in ("one", "two")]
    for note in notes:
        vault.process(note)
    nothing: list[str] = []
    assert find_outdated(vault.database, vault.rules, nothing, nothing, lambda _path: False) == []

    vars(first)["recipe"] = "another prompt"
    found = find_outdated(vault.database, vault.rules, nothing, nothing, lambda path: path.startswith("two/"))
    assert [(group.digester, group.file_ids, group.calls) for group in found] == [("first", tuple(notes), 1)]
    assert find_outdated(vault.database, vault.rules, ["two"], nothing, lambda _path: False)[0].file_ids == (notes[1],)
    assert find_outdated(vault.database, vault.rules, nothing, ["second"], lambda _path: False) == []

    requests = [(outdated.file_ids, Again(Mode.OUTDATED, (outdated.digester,))) for outdated in found]
    assert sum(request_again(vault.database, vault.rules, *request, iso(clock.now)) for request in requests) == 2
    assert vault.content(notes[0], "first"), "the existing content stays until it is replaced"
    assert vault.state(notes[0]) == "processing"
    for note in notes:
        vault.process(note)
    assert (first.calls, second.calls) == (4, 2)
    assert outdated_digests.count(vault.db, vault.rules.recipes()) == 0

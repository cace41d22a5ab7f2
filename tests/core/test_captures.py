"""A captured web page survives every failed attempt to capture it again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from coordinating import Bench, Clock, ScriptedDigester, fails

from chyme.application import consistency_checks
from chyme.core.store import artifacts, digest_queue, digest_resets, digests, documents, outdated_digests, text_places
from chyme.errors import DigestError, EngineUnavailable, NetworkFailed, UnreadableFile
from chyme.model import THUMBNAIL, Again, Artifact, Mode, Output, Place, iso

Open = Callable[..., Bench]
PAGE = Output(
    "page", "what it said", (Artifact("page.html", b"<p>"), Artifact(THUMBNAIL, b"jpg")), (Place(0, 4, heading="A"),)
)


def capture_page(bench: Open) -> tuple[Bench, int, ScriptedDigester, ScriptedDigester]:
    crawl = ScriptedDigester(
        "crawl", lambda _source: [PAGE, Output("facts", None)], outputs=("page", "facts"), captures=True
    )
    text = ScriptedDigester("text", reads=("page",))
    vault = bench(crawl, text)
    link = vault.drop("a.url")
    vault.process(link)
    assert vault.content(link, "page") == "what it said"
    return vault, link, crawl, text


def captured_state(vault: Bench, link: int) -> tuple[object, ...]:
    path = vault.file("a.url").path
    document = documents.of_file(vault.db, link)
    return (
        vault.content(link, "page"),
        artifacts.of_digest(vault.db, path, "page"),
        text_places.of_digest(vault.db, link, "page"),
        document and document.face,
    )


@pytest.mark.parametrize("error", [UnreadableFile("a.url: gone, 404"), EngineUnavailable("a.url: no browser")])
def test_a_capture_survives_a_reset_whose_attempt_fails(bench: Open, error: DigestError) -> None:
    vault, link, crawl, text = capture_page(bench)
    before, calls_before = captured_state(vault, link), text.calls
    crawl.make = fails(error)

    vault.process(link, Again(Mode.RESET, ("crawl",)))

    assert captured_state(vault, link) == before
    row = digests.of_file(vault.db, link)["page"]
    assert (row.status, row.settled, row.error) == (
        "completed",
        True,
        f"kept from before, because it could not be made again: {error}",
    )
    assert vault.digest(link, "facts")[0] == "completed"
    assert text.calls == calls_before
    assert vault.state(link) == "completed"
    assert vault.database.write(consistency_checks.find_problems) == []


def test_a_preserved_capture_counts_as_outdated_and_is_replaced_when_the_page_is_back(bench: Open) -> None:
    vault, link, crawl, _ = capture_page(bench)
    good = crawl.make
    crawl.make = fails(UnreadableFile("a.url: gone, 404"))
    vault.process(link, Again(Mode.RESET, ("crawl",)))
    assert outdated_digests.count(vault.db, vault.rules.recipes()) == 2

    crawl.make = good
    vault.process(link, Again(Mode.RESET, ("crawl",)))

    assert outdated_digests.count(vault.db, vault.rules.recipes()) == 0
    assert digests.of_file(vault.db, link)["page"].error is None


def test_the_capture_stays_during_retries_and_the_status_is_failed(bench: Open, clock: Clock) -> None:
    vault, link, crawl, _ = capture_page(bench)
    crawl.make = fails(NetworkFailed("a.url: nobody answers"))

    vault.process(link, Again(Mode.RESET, ("crawl",)))
    assert vault.digest(link, "page") == ("failed", "network", 1)
    assert vault.content(link, "page") == "what it said"
    for _ in range(2):
        clock.forward(3600)
        vault.process(link)
    assert vault.digest(link, "page") == ("completed", None, 3)
    assert "nobody answers" in (digests.of_file(vault.db, link)["page"].error or "")


def test_a_page_that_was_never_captured_fails_like_any_other_digest(bench: Open) -> None:
    crawl = ScriptedDigester(
        "crawl", fails(UnreadableFile("a.url: gone, 404")), outputs=("page", "facts"), captures=True
    )
    vault = bench(crawl)
    link = vault.drop("a.url")

    vault.process(link)

    assert vault.digest(link, "page") == ("failed", "validation", 1)


def test_a_link_to_another_page_keeps_nothing_of_the_first(bench: Open) -> None:
    vault, link, crawl, _ = capture_page(bench)
    crawl.make = fails(UnreadableFile("a.url: gone, 404"))

    assert vault.drop("a.url", "another page") == link
    vault.process(link)

    assert vault.content(link, "page") is None
    assert vault.digest(link, "page") == ("failed", "validation", 1)


def capture_link(bench: Open, facts: str) -> tuple[Bench, int, ScriptedDigester]:
    page = Output("url-crawl-content", "what it said", (Artifact(THUMBNAIL, b"jpg"),))
    outputs = ("url-crawl-content", "url-metadata")
    crawl = ScriptedDigester(
        "url-crawl",
        lambda _source: [page, Output("url-metadata", facts, title="The mill")],
        outputs=outputs,
        captures=True,
    )
    text = ScriptedDigester("text", lambda source: [Output("text", source.open().read().decode())], reads=outputs)
    vault = bench(crawl, text)
    link = vault.drop("a.md", "https://example.org/mill\n\nfor the summer\n")
    vault.process(link)
    crawl.make = fails(UnreadableFile("a.md: gone, 404"))
    return vault, link, crawl


@pytest.mark.parametrize(
    "facts",
    [
        '{"url": "https://example.org/mill", "title": "The mill"}',
        '{"url": "https://www.example.org/mill/", "requested_url": "https://example.org/mill", "title": "The mill"}',
    ],
)
def test_another_remark_beside_the_same_address_keeps_the_captured_page(bench: Open, facts: str) -> None:
    vault, link, crawl = capture_link(bench, facts)
    before = documents.of_file(vault.db, link)
    assert before is not None

    assert vault.drop("a.md", "https://example.org/mill\n\nfor the winter\n") == link
    assert documents.of_file(vault.db, link) == replace(before, state="processing", reason="waiting for text")
    assert "summer" in (vault.content(link, "text") or "")
    vault.process(link)

    assert (crawl.calls, vault.content(link, "url-crawl-content")) == (1, "what it said")
    assert "winter" in (vault.content(link, "text") or "")
    assert vault.state(link) == "completed"
    assert vault.database.write(consistency_checks.find_problems) == []


def test_another_address_keeps_nothing_of_the_captured_page(bench: Open) -> None:
    vault, link, crawl = capture_link(bench, '{"url": "https://example.org/mill", "title": "The mill"}')

    vault.drop("a.md", "https://example.org/other\n\nfor the summer\n")
    vault.process(link)

    assert (crawl.calls, vault.content(link, "url-crawl-content")) == (2, None)
    assert vault.digest(link, "url-crawl-content")[0] == "failed"


def test_a_page_that_was_being_fetched_again_is_fetched_for_the_new_remark(bench: Open, clock: Clock) -> None:
    vault, link, crawl = capture_link(bench, '{"url": "https://example.org/mill", "title": "The mill"}')
    crawl.make = fails(NetworkFailed("a.md: nobody answers"))
    vault.process(link, Again(Mode.RESET, ("url-crawl",)))
    assert vault.digest(link, "url-crawl-content")[0] == "failed"

    vault.drop("a.md", "https://example.org/mill\n\nfor the winter\n")
    vault.process(link)

    assert crawl.calls == 3
    assert vault.content(link, "url-crawl-content") == "what it said"


def test_a_link_that_comes_back_with_another_remark_is_digested(bench: Open) -> None:
    vault, link, _ = capture_link(bench, '{"url": "https://example.org/mill", "title": "The mill"}')
    (vault.root / "a.md").unlink()
    vault.scanner.scan()
    assert vault.file_of(link).vanished_at is not None

    assert vault.drop("a.md", "https://example.org/mill\n\nfor the winter\n") == link
    assert digest_queue.list_due(vault.db, iso(vault.clock()), 10)
    vault.process(link)

    assert "winter" in (vault.content(link, "text") or "")
    assert vault.content(link, "url-crawl-content") == "what it said"


def test_a_capture_survives_a_page_that_crashes_chyme_each_time(bench: Open, clock: Clock) -> None:
    vault, link, _, _ = capture_page(bench)
    vault.database.write(lambda db: digest_resets.reset(db, link, ["page", "facts"], 0, "now", {"page", "facts"}))
    for _ in range(5):
        vault.database.write(
            lambda db: digests.start(db, link, ["page", "facts"], "run", "r", "i", iso(clock()), iso(clock()))
        )
        vault.coordinator.recover()

    assert vault.digest(link, "page")[0] == "completed"
    assert vault.content(link, "page") == "what it said"


def test_a_picture_stays_with_its_page_when_the_page_cannot_be_captured_again(bench: Open) -> None:
    crawl = ScriptedDigester("crawl", lambda _source: [PAGE], outputs=("page",), captures=True)
    shot = ScriptedDigester("shot", lambda _source: [Output("shot", "of the page")], reads=("page",), captures=True)
    vault = bench(crawl, shot)
    link = vault.drop("a.url")
    vault.process(link)
    crawl.make = fails(UnreadableFile("a.url: a login instead of the page"))
    shot.make = lambda _source: [Output("shot", "of the login")]

    vault.process(link, Again(Mode.RESET))

    assert (vault.content(link, "page"), vault.content(link, "shot")) == ("what it said", "of the page")
    assert "a login instead" in (digests.of_file(vault.db, link)["shot"].error or "")
    assert vault.digest(link, "shot")[0] == "completed"


def test_a_capture_preserved_because_an_engine_was_missing_is_retried_when_an_engine_may_be_there(bench: Open) -> None:
    vault, link, crawl, _ = capture_page(bench)
    good = crawl.make
    crawl.make = fails(EngineUnavailable("a.url: no browser"))
    vault.process(link, Again(Mode.RESET, ("crawl",)))
    crawl.make = good

    assert vault.database.write(lambda db: digest_queue.wake_unavailable(db, "page", "r", "now")) == 1
    assert vault.database.write(lambda db: digest_queue.wake_unavailable(db, "text", "r", "now")) == 0
    vault.process(link)
    row = digests.of_file(vault.db, link)["page"]
    assert (row.status, row.error) == ("completed", None)

"""Order, readiness and resets follow from `reads`."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from chyme.core.pipeline.plan import (
    find_misordered,
    input_hash,
    next_step,
    readable_inputs,
    readers_of,
    with_siblings,
)
from chyme.digester import Digester, Makes, Source
from chyme.digesters import built_in
from chyme.model import Digest, File, Kind, Lane, Output, Stamp, Status

SEARCH = {"search-keyword", "search-semantic"}
MUST_RESET = {
    "url-crawl-content": {"url-crawl-summary", "tags", *SEARCH},
    "doc-to-markdown": {"tags", *SEARCH},
    "image-ocr": {"tags", *SEARCH},
    "image-captioning": {"tags", *SEARCH},
    "image-objects": {"tags", *SEARCH},
    "speech-recognition": {
        *("speaker-embedding", "speech-recognition-cleanup", "speech-recognition-summary", "tags"),
        *SEARCH,
    },
    "speech-recognition-summary": {"tags", *SEARCH},
    "url-crawl-summary": {"tags", *SEARCH},
}
UNDERSTANDING = ("classify-document", "classify-image", "tags", "slug", "tag-embeddings")


class Fixed(Digester):
    label = description = "fixed"
    name = "fixed"

    def can_digest(self, file: File) -> bool:
        return True

    def digest(self, source: Source) -> list[Output]:
        return []


class Crawl(Fixed):
    name = "crawl"
    makes: ClassVar = dict.fromkeys(("page", "meta"), Makes())


class Summary(Fixed):
    name = "summary"
    reads = ("page",)


class Tags(Fixed):
    name = "tags"
    reads = ("summary", "nobody-makes-this")


def test_a_digester_without_outputs_makes_an_output_of_its_own_name() -> None:
    assert Summary.outputs == ("summary",)
    assert Crawl.outputs == ("page", "meta")


def test_readers_are_known_by_what_they_read() -> None:
    registry = (Crawl(), Summary(), Tags())
    assert readers_of(registry) == {"page": ("summary",), "summary": ("tags",), "nobody-makes-this": ("tags",)}


def test_an_output_stands_for_all_outputs_of_its_digester() -> None:
    registry = (Crawl(), Summary(), Tags())
    assert with_siblings(registry, ["meta"]) == {"page", "meta"}
    assert with_siblings(registry, ["crawl"]) == {"page", "meta"}


def test_a_digester_that_reads_a_later_output_is_reported() -> None:
    assert find_misordered((Crawl(), Summary(), Tags())) == []
    assert find_misordered((Summary(), Crawl())) == ["summary reads page, which is made after it"]
    assert find_misordered((Crawl(), Crawl())) == [
        "crawl makes page, which crawl makes already",
        "crawl makes meta, which crawl makes already",
    ]


def test_our_own_digesters_fit_together_and_reset_what_they_must() -> None:
    registry = built_in()
    assert find_misordered(registry) == []
    for output, readers in MUST_RESET.items():
        assert readers <= set(readers_of(registry)[output]), output


def test_search_comes_before_everything_that_describes_a_file() -> None:
    registry = built_in()
    order = [digester.name for digester in registry]
    assert max(map(order.index, SEARCH)) < min(map(order.index, UNDERSTANDING))
    reads = {name for digester in registry if digester.name in SEARCH for name in digester.reads}
    assert reads.isdisjoint(UNDERSTANDING)


class Text(Fixed):
    name = "text"


class Caption(Fixed):
    """Made by a model if there is one."""

    name = "caption"
    reads = ("text",)
    runs = replace(Fixed.runs, lane=Lane.MODEL)

    def __init__(self, by_model: bool) -> None:
        self.by_model = by_model

    def waits_for(self, file: File) -> bool:
        return self.by_model


class Search(Fixed):
    name = "search"
    reads = ("text", "caption")
    inputs = replace(Fixed.inputs, optional=frozenset({"caption"}))


NOTE = File(1, "note.txt", "note.txt", Kind.TEXT, "text/plain", Stamp("1", "1", 1, 0), "hash", 1)


def row(name: str, status: Status, content_hash: str | None = None) -> Digest:
    settled = status is Status.COMPLETED
    return Digest(
        name, 1, "note.txt", name, status, None, None, 0, 0, settled, None, None, None, content_hash, None, None, None,
        "", "",
    )  # fmt: skip


def rows(**statuses: Status) -> dict[str, Digest]:
    hashes = {name: "made" if status is Status.COMPLETED else None for name, status in statuses.items()}
    return {name: row(name, status, hashes[name]) for name, status in statuses.items()}


def step(by_model: bool, *lanes: Lane, **statuses: Status) -> tuple[str, str]:
    """Return the next step and its digester."""
    registry = (Text(), Caption(by_model), Search())
    found = next_step(registry, NOTE, rows(**statuses), "2026", lanes=lanes or frozenset(Lane))
    return (type(found).__name__, found.digester.name) if found else ("", "")


def test_search_does_not_wait_for_an_output_of_a_model_which_is_made_last() -> None:
    done, todo = Status.COMPLETED, Status.TODO
    assert step(True, text=todo, caption=todo, search=todo) == ("Start", "text")
    assert step(True, text=done, caption=todo, search=todo) == ("Start", "search")
    assert step(True, text=done, caption=todo, search=done) == ("Start", "caption")
    assert step(True, Lane.ORDINARY, text=done, caption=todo, search=todo) == ("Start", "search")
    assert step(True, Lane.ORDINARY, text=done, caption=todo, search=done) == ("", "")


def test_search_waits_for_an_output_made_without_a_model_so_that_it_is_made_once() -> None:
    done, todo = Status.COMPLETED, Status.TODO
    assert step(False, text=done, caption=todo, search=todo) == ("Start", "caption")
    assert step(False, Lane.ORDINARY, text=done, caption=todo, search=todo) == ("Wait", "search")


def test_an_output_that_is_made_again_is_read_in_its_old_state_with_another_input_hash() -> None:
    search = Search()
    done = {"text": row("text", Status.COMPLETED, "a"), "caption": row("caption", Status.COMPLETED, "b")}
    again = done | {"caption": row("caption", Status.TODO, "b")}
    never = done | {"caption": row("caption", Status.TODO)}

    assert readable_inputs(search, done) == readable_inputs(search, again) == ("text", "caption")
    assert readable_inputs(search, never) == ("text",)
    assert readable_inputs(search, done | {"text": row("text", Status.TODO, "a")}) == ("caption",)
    assert len({input_hash(search, NOTE, found) for found in (done, again, never)}) == 3


def test_only_an_input_can_be_optional() -> None:
    class Astray(Fixed):
        inputs = replace(Fixed.inputs, optional=frozenset({"page"}))

    assert find_misordered((Crawl(), Astray())) == ["fixed calls page optional and does not read it"]

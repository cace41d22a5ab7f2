"""Order, readiness and resets follow from `reads`."""

from __future__ import annotations

from chyme.decide.plan import downstream_of, misordered, readers_of, with_siblings
from chyme.digester import Digester, Source
from chyme.digesters import built_in
from chyme.model import File, Output

MUST_RESET = {
    "url-crawl-content": {"search-keyword"},
    "doc-to-markdown": {"search-keyword"},
    "image-ocr": {"search-keyword"},
    "image-captioning": {"search-keyword"},
    "image-objects": {"search-keyword"},
    "speech-recognition": {"search-keyword"},
    "speech-recognition-summary": {"search-keyword"},
}


class Fixed(Digester):
    label = description = "fixed"
    name = "fixed"

    def can_digest(self, file: File) -> bool:
        return True

    def digest(self, source: Source) -> list[Output]:
        return []


class Crawl(Fixed):
    name = "crawl"
    outputs = ("page", "meta")


class Summary(Fixed):
    name = "summary"
    reads = ("page",)


class Tags(Fixed):
    name = "tags"
    reads = ("summary", "nobody-makes-this")


def test_a_digester_without_outputs_makes_one_of_its_own_name() -> None:
    assert Summary.outputs == ("summary",)
    assert Crawl.outputs == ("page", "meta")


def test_readers_are_known_by_what_they_read() -> None:
    registry = (Crawl(), Summary(), Tags())
    assert readers_of(registry) == {"page": ("summary",), "summary": ("tags",), "nobody-makes-this": ("tags",)}
    assert downstream_of(registry, "meta") == ()


def test_one_output_stands_for_all_of_its_digester() -> None:
    registry = (Crawl(), Summary(), Tags())
    assert with_siblings(registry, ["meta"]) == {"page", "meta"}
    assert with_siblings(registry, ["crawl"]) == {"page", "meta"}


def test_who_reads_what_is_made_later_is_told() -> None:
    assert misordered((Crawl(), Summary(), Tags())) == []
    assert misordered((Summary(), Crawl())) == ["summary reads page, which is made after it"]
    assert misordered((Crawl(), Crawl())) == [
        "crawl makes page, which crawl makes already",
        "crawl makes meta, which crawl makes already",
    ]


def test_our_own_digesters_fit_together_and_reset_what_they_must() -> None:
    registry = built_in()
    assert misordered(registry) == []
    for output, readers in MUST_RESET.items():
        assert readers <= set(downstream_of(registry, output)), output

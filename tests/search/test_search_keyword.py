"""search-keyword: all texts of a file as passages, each with its place."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from upstreams import upstream

from chyme.digester import StaysHome
from chyme.digesters import load
from chyme.model import File, Kind, Output, Place, Stamp, Upstream
from chyme.search.search_keyword import SearchKeyword


@dataclass
class PlainSource(StaysHome):
    file: File
    data: bytes = b""
    outputs: dict[str, Upstream] = field(default_factory=dict)
    scratch: Path = Path()

    def open(self) -> BinaryIO:
        return io.BytesIO(self.data)

    def output(self, name: str) -> Upstream | None:
        assert name in SearchKeyword.reads
        return self.outputs.get(name)

    def progress(self, fraction: float) -> None:
        pass


def digest(
    name: str, kind: Kind, data: bytes = b"", *outputs: Upstream, text_limit: int = 5_000_000
) -> tuple[Output, dict[str, Any]]:
    file = File(1, name, name, kind, "", Stamp("1", "1", len(data), 0), "hash", 1)
    source = PlainSource(file, data, {output.name: output for output in outputs})
    (output,) = SearchKeyword(text_limit=text_limit).digest(source)
    return output, json.loads(output.content or "null")


def test_it_reads_every_output_whose_change_must_reach_the_index() -> None:
    assert {
        "url-crawl-content", "doc-to-markdown", "image-ocr", "image-captioning", "image-objects", "speech-recognition",
        "speech-recognition-summary",
    } <= set(SearchKeyword.reads)  # fmt: skip
    assert SearchKeyword.outputs == ("search-keyword",)


def test_it_does_not_wait_for_classification() -> None:
    [search] = [digester for digester in load({}).registry if isinstance(digester, SearchKeyword)]
    assert {"tags", "classify-document", "classify-image", "slug"}.isdisjoint(search.reads)
    assert search.inputs.optional == {
        "image-captioning", "image-objects", "speech-recognition-cleanup", "speech-recognition-summary",
        "url-crawl-summary",
    }  # fmt: skip


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_of_file_has_it(kind: Kind) -> None:
    file = File(1, "a", "a", kind, "", Stamp("1", "1", 0, 0), "", 1)

    assert SearchKeyword().can_digest(file)


def test_a_text_file_is_read_itself_with_its_headings() -> None:
    text = "# Pears\n\nThey are green.\n"
    output, content = digest("fruit.md", Kind.TEXT, text.encode())

    assert content == {"indexed": True, "passages": 1, "words": 3, "sources": ["file"]}
    (passage,) = output.passages
    assert passage.text == "# Pears\n\nThey are green."
    assert passage.place.heading == "Pears"
    assert output.words == ("they", "green", "pears")


def test_a_hash_in_a_plain_text_is_no_heading() -> None:
    output, _ = digest("script.sh", Kind.TEXT, b"# a comment\necho hello\n")

    assert output.passages[0].place.heading is None


@pytest.mark.parametrize(("kind", "data"), [(Kind.OTHER, b"\x00\x01"), (Kind.TEXT, b""), (Kind.TEXT, b" \n\t\n")])
def test_a_file_without_text_has_no_content(kind: Kind, data: bytes) -> None:
    output, _ = digest("blob.bin", kind, data)

    assert output.content is None
    assert not output.passages
    assert not output.words


def test_all_texts_of_a_picture_are_cut_each_by_itself() -> None:
    ocr = upstream("image-ocr", "SALE", (Place(0, 4, box=(0.1, 0.1, 0.2, 0.2)),))
    caption = upstream("image-captioning", "A shop window.")
    things = upstream(
        "image-objects",
        json.dumps(
            {"objects": [{"name": "bicycle", "description": "red, leaning", "box": [0, 0.5, 0.5, 1]}, {"box": 3}]}
        ),
    )
    output, content = digest("shop.jpg", Kind.IMAGE, b"", ocr, caption, things)

    assert content["sources"] == ["image-ocr", "image-captioning", "image-objects"]
    assert [(passage.source, passage.ordinal, passage.text) for passage in output.passages] == [
        ("image-ocr", 0, "SALE"),
        ("image-captioning", 1, "A shop window."),
        ("image-objects", 2, "bicycle. red, leaning"),
    ]
    assert output.passages[0].place.box == (0.1, 0.1, 0.2, 0.2)
    assert output.passages[2].place.box == (0, 0.5, 0.5, 1)


def transcript(name: str, text: str) -> Upstream:
    segments = [
        {"start": 0.0, "end": 2.0, "text": f" {text} ", "speaker": "S1"},
        {"start": 2.0, "end": 4.0, "text": "again", "speaker": "S2"},
    ]
    return upstream(name, json.dumps({"text": "ignored", "segments": segments}))


def test_a_transcript_keeps_seconds_and_speaker() -> None:
    output, _ = digest("talk.mp3", Kind.AUDIO, b"", transcript("speech-recognition", "hello"))

    (passage,) = output.passages
    assert passage.text == "hello\nagain"
    assert passage.place == Place(0, 11, seconds=0.0, until=4.0, speaker="S1")


def test_the_corrected_transcript_replaces_the_raw_one() -> None:
    raw, clean = transcript("speech-recognition", "helo"), transcript("speech-recognition-cleanup", "hello")
    summary = upstream("speech-recognition-summary", "A greeting.")
    _, content = digest("talk.mp3", Kind.AUDIO, b"", raw, clean, summary)

    assert content["sources"] == ["speech-recognition-cleanup", "speech-recognition-summary"]


def test_texts_about_a_file_come_after_its_own_text() -> None:
    """The passages of the text keep their position when a caption or a summary is added."""
    own = [
        upstream("image-ocr", "SALE"),
        upstream("image-preview", json.dumps({"title": "Market day"})),
    ]
    before, _ = digest("shop.jpg", Kind.IMAGE, b"", *own)
    after, _ = digest("shop.jpg", Kind.IMAGE, b"", *own, upstream("image-captioning", "A shop."))

    assert after.passages[: len(before.passages)] == before.passages
    assert [passage.text for passage in after.passages] == ["SALE", "Market day", "A shop."]


@pytest.mark.parametrize(
    "content", ["not json", "[1, 2]", "null", '{"segments": 5}', '{"segments": [1, {"text": 3}]}', "[" * 100_000]
)
def test_content_in_another_shape_does_no_harm(content: str) -> None:
    output, _ = digest("talk.mp3", Kind.AUDIO, b"", upstream("speech-recognition", content))

    assert all(passage.text for passage in output.passages)


def test_the_text_limit_is_respected_and_noted() -> None:
    output, content = digest("big.txt", Kind.TEXT, b"word " * 1000, text_limit=100)

    assert sum(len(passage.text) for passage in output.passages) <= 100
    assert content["note"] == "first 100 bytes of the file indexed"

    _, content = digest("big.pdf", Kind.DOCUMENT, b"", upstream("doc-to-markdown", "word " * 1000), text_limit=100)
    assert content["note"] == "first 100 characters indexed; the limit ended in doc-to-markdown"


def test_unspaced_scripts_are_segmented_and_others_are_not() -> None:
    output, _ = digest("a.txt", Kind.TEXT, "東京".encode())
    assert (output.passages[0].segmented or "").split() == ["東京", "京"]

    output, _ = digest("a.txt", Kind.TEXT, b"Tokyo")
    assert output.passages[0].segmented is None


def test_characters_that_cannot_be_stored_are_replaced() -> None:
    output, _ = digest("a.mp3", Kind.AUDIO, b"", upstream("speech-recognition-summary", "a\ud800b \x00 c"))

    assert output.passages[0].text == "a\ufffdb \ufffd c"


def test_passages_have_the_number_of_their_page() -> None:
    text = "first page\n\nsecond page"
    markdown = upstream("doc-to-markdown", text, (Place(0, 12, page=1), Place(12, 23, page=2)))
    output, _ = digest("a.pdf", Kind.DOCUMENT, b"", markdown)

    assert [(passage.text, passage.place.page) for passage in output.passages] == [
        ("first page", 1),
        ("second page", 2),
    ]


@pytest.mark.parametrize("name", ["doc-to-markdown", "image-ocr", "url-crawl-content"])
def test_notes_of_chyme_are_no_part_of_the_text(name: str) -> None:
    text = "The lease.\n\nThe rent.\n\n> note: page 1 was read from its picture\n\n> note: pages 2-3 are blank"
    output, _ = digest("a.pdf", Kind.DOCUMENT, b"", upstream(name, text, (Place(0, 10, page=1), Place(12, 21, page=2))))

    assert [(passage.text, passage.place.page) for passage in output.passages] == [("The lease.", 1), ("The rent.", 2)]
    assert "picture" not in output.words


def test_a_note_in_the_file_itself_is_indexed() -> None:
    output, _ = digest("a.md", Kind.TEXT, b"The rent.\n\n> note: mine")
    assert "> note: mine" in output.passages[0].text

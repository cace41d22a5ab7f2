"""All readable text of a file, cut to the window of a model and embedded."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import socket
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from embedding_server import SIZE, embeds, texts_of
from free_calls import FreeCalls
from model_server import ModelServer
from upstreams import upstream

from chyme.digester import Calls
from chyme.digesters import in_child
from chyme.errors import ChildCrashed, EngineUnavailable
from chyme.model import File, Kind, Lane, Output, Place, Stamp, Upstream
from chyme.models.embedding.passage_embedder import PassageEmbedding
from chyme.models.weights.catalog import EMBEDDING
from chyme.models.weights.folder import path_of
from chyme.search.passage_hashes import EMBEDDED_BEFORE, ReusablePassages, passage_hash
from chyme.search.search_keyword import SearchKeyword
from chyme.search.search_semantic import (
    ASKS,
    FIRST_PASSAGES,
    LONG_TEXT,
    OPENING,
    PREPARED_FILE,
    TITLE_CHARACTERS,
    SearchSemantic,
)
from chyme.text.passages import markdown_headings

pytestmark = pytest.mark.slow

ENDPOINT = PassageEmbedding(engine="openai", url="http://127.0.0.1:9/v1", model="far", window=50, seconds=7.0)


@dataclass
class TextSource:
    """A file and the outputs made from it."""

    text: str = ""
    inputs: dict[str, Upstream] = field(default_factory=dict)
    kind: Kind = Kind.TEXT
    name: str = "note.txt"
    scratch: Path = Path()
    reported_progress: list[float] = field(default_factory=list)
    calls: Calls = field(default_factory=FreeCalls)

    @property
    def file(self) -> File:
        size = len(self.text.encode())
        return File(1, self.name, self.name, self.kind, "text/plain", Stamp("1", "1", size, 0), "hash", 1)

    def open(self) -> BinaryIO:
        return io.BytesIO(self.text.encode())

    def output(self, name: str) -> Upstream | None:
        return self.inputs.get(name)

    def progress(self, fraction: float) -> None:
        self.reported_progress.append(fraction)

    def connect(self, host: str, port: int, polite: bool = False) -> socket.socket:
        raise AssertionError("it does not go out")

    def hold(self, host: str, seconds: float) -> None:
        raise AssertionError("it does not go out")


def source_with_outputs(kind: Kind = Kind.DOCUMENT, **contents: str) -> TextSource:
    """Return a file that has outputs with these names; underscores stand for dashes."""
    names = {name.replace("_", "-"): content for name, content in contents.items()}
    return TextSource(
        inputs={name: upstream(name, content) for name, content in names.items()}, kind=kind, name="a.bin"
    )


class PlainModel:
    """Counts words as tokens, reads everything except Greek; the vector of a text contains its length."""

    model, dimension, window = "all-minilm-l6-v2 384 int8", 2, 20

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> bytes:
        self.batches.append(list(texts))
        return b"".join(struct.pack("<2f", 1.0, len(text)) for text in texts)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def reads(self, text: str) -> bool:
        return "α" not in text


@pytest.fixture
def plain() -> PlainModel:
    return PlainModel()


def digester_with(model: PlainModel, most_passages: int = 100, text_limit: int = 100_000) -> SearchSemantic:
    """Return the digester with this model instead of the real one from the weights."""
    return SearchSemantic(None, most_passages, text_limit, lambda _settings: model)


def digest(source: TextSource, digester: SearchSemantic) -> tuple[Output, dict[str, Any]]:
    (output,) = digester.digest(source)
    return output, json.loads(output.content or "null")


def long_text(passages: int) -> str:
    """A text of at least as many passages; in its second half every tenth has a heading of its own."""
    paragraphs = [f"Paragraph {number} of this book has a few more words than ten." for number in range(passages)]
    for number in range(passages // 2, passages, 10):
        paragraphs[number] = f"# Chapter {number}\n\n{paragraphs[number]}"
    return "\n\n".join(paragraphs)


def test_of_a_long_text_the_beginning_and_what_follows_headings_comes_first(plain: PlainModel) -> None:
    text = long_text(2 * LONG_TEXT)
    source = source_with_outputs(doc_to_markdown=text)
    source.inputs["doc-to-markdown"] = replace(source.inputs["doc-to-markdown"], places=markdown_headings(text))
    digester = digester_with(plain, most_passages=10_000)

    output, content = digest(source, digester)

    texts = [passage.text for passage in output.passages]
    assert output.unfinished
    assert len(texts) == content["passages"] == FIRST_PASSAGES
    assert [passage.ordinal for passage in output.passages] == list(range(FIRST_PASSAGES))
    assert "Paragraph 0 " in texts[0]
    starts = [passage.place.start for passage in output.passages]
    assert starts == sorted(starts)
    headed = [text for text in texts[OPENING:] if "# Chapter" in text]
    assert len(headed) == len(markdown_headings(text))

    before = Upstream(EMBEDDED_BEFORE, ReusablePassages(2, frozenset(map(passage_hash, texts))).as_json())
    plain.batches.clear()
    rest, all_content = digest(replace(source, inputs={**source.inputs, EMBEDDED_BEFORE: before}), digester)

    assert not rest.unfinished
    assert all_content["passages"] == len(rest.passages) == content["passages"] + content["to_come"]
    assert "to_come" not in all_content
    assert rest.embedded is not None
    assert len(rest.embedded.reused) == FIRST_PASSAGES
    assert sum(map(len, plain.batches)) == content["to_come"]


def test_the_rest_of_a_long_text_uses_all_cores_and_keeps_its_order(
    plain: PlainModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = TextSource(long_text(2 * LONG_TEXT))
    digester = digester_with(plain, most_passages=10_000)
    first, _ = digest(source, digester)
    known = frozenset(passage_hash(passage.text) for passage in first.passages)
    source.inputs[EMBEDDED_BEFORE] = Upstream(EMBEDDED_BEFORE, ReusablePassages(2, known).as_json())
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0})
    by_one, _ = digest(source, digester)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    embed, calls, both_embed = plain.embed, itertools.count(), threading.Barrier(2, timeout=60.0)

    def embed_beside_another(texts: Sequence[str]) -> bytes:
        if next(calls) < 2:
            both_embed.wait()
        return embed(texts)

    monkeypatch.setattr(plain, "embed", embed_beside_another)
    by_two, _ = digest(source, digester)

    assert by_two.embedded == by_one.embedded
    assert by_two.passages == by_one.passages


def test_a_text_that_is_not_long_is_embedded_at_once(plain: PlainModel) -> None:
    output, content = digest(TextSource(long_text(LONG_TEXT // 2)), digester_with(plain, most_passages=10_000))

    assert not output.unfinished
    assert FIRST_PASSAGES <= content["passages"] <= LONG_TEXT


def test_every_text_is_cut_by_itself_and_keeps_its_place(plain: PlainModel) -> None:
    source = source_with_outputs(doc_to_markdown="# Lease\n\nThe rent is due.", url_crawl_summary="A lease.")
    source.inputs["doc-to-markdown"] = replace(source.inputs["doc-to-markdown"], places=(Place(0, 30, page=2),))
    output, content = digest(source, digester_with(plain))

    assert [(passage.source, passage.ordinal, passage.text) for passage in output.passages] == [
        ("doc-to-markdown", 0, "# Lease\n\nThe rent is due."),
        ("url-crawl-summary", 1, "A lease."),
    ]
    assert output.passages[0].place.page == 2
    assert content["sources"] == ["doc-to-markdown", "url-crawl-summary"]
    assert (content["indexed"], content["passages"]) == (True, 2)


def test_the_title_comes_before_every_passage_and_is_no_part_of_it(plain: PlainModel) -> None:
    text = "# Lease of a flat\n\nThe rent is due on the first day of every month, by transfer to the account below."
    output, _ = digest(source_with_outputs(doc_to_markdown=f"{text}\n\n{'It is kept. ' * 9}"), digester_with(plain))

    assert len(output.passages) > 1
    assert plain.batches == [[f"Lease of a flat\n{passage.text.removeprefix('# ')}" for passage in output.passages]]
    assert output.passages[0].text.startswith("# Lease of a flat")


@pytest.mark.parametrize(
    ("source", "title"),
    [
        (
            source_with_outputs(Kind.URL, url_crawl_content="We sell it.", url_metadata='{"title": "Used boats"}'),
            "Used boats",
        ),
        (
            source_with_outputs(Kind.IMAGE, image_ocr="for you", image_preview='{"title": "My garden in May"}'),
            "My garden in May",
        ),
        (
            source_with_outputs(
                Kind.AUDIO,
                speech_recognition='{"language": "en", "segments": [{"start": 0, "end": 1, "text": "It was."}]}',
                media_preview='{"tags": {"title": "Songs of the sea"}}',
            ),
            "Songs of the sea",
        ),
        (TextSource("# Winter tyres\n\nBooked.", name="holiday.md"), "Winter tyres"),
    ],
    ids=["page", "picture", "recording", "note"],
)
def test_the_title_comes_from_the_file_and_not_from_its_name_or_classification(
    plain: PlainModel, source: TextSource, title: str
) -> None:
    digest(source, digester_with(plain))
    classified = json.dumps({"title": "What a model says"})
    source.inputs["classify-document"] = upstream("classify-document", classified)
    source.inputs["classify-image"] = upstream("classify-image", classified)
    digest(replace(source, name="other.bin"), digester_with(plain))

    assert plain.batches[0] == plain.batches[1]
    assert all(text.startswith(f"{title}\n") for text in plain.batches[0])


def test_passages_that_have_their_vectors_are_not_embedded_again(plain: PlainModel) -> None:
    source = source_with_outputs(Kind.URL, url_crawl_content="one two six. " * 60)
    first, _ = digest(source, digester_with(plain))
    before = ReusablePassages(
        PlainModel.dimension, frozenset(passage_hash(passage.text) for passage in first.passages)
    ).as_json()
    source.inputs |= {
        EMBEDDED_BEFORE: upstream(EMBEDDED_BEFORE, before),
        "url-crawl-summary": upstream("url-crawl-summary", "A page about numbers."),
    }
    plain.batches.clear()
    (second,), many = digester_with(plain).digest(source), digester_with(plain).digest_many([source, TextSource("one")])

    assert second.passages[:-1] == first.passages
    assert [text.rpartition("\n")[2] for text in plain.batches[0]] == ["A page about numbers."]
    assert second.embedded is not None
    assert second.embedded.reused == tuple(range(len(first.passages)))
    assert len(second.embedded.vectors) == PlainModel.dimension * 4
    assert many[0] == [second]


def test_a_long_title_is_cut(plain: PlainModel) -> None:
    title = "all about boats " * 20
    digest(
        source_with_outputs(Kind.URL, url_crawl_content="words", url_metadata=json.dumps({"title": title})),
        digester_with(plain),
    )
    assert plain.batches[0][0] == title[:TITLE_CHARACTERS] + "\nwords"


def test_the_vectors_come_in_the_order_of_the_passages(plain: PlainModel) -> None:
    text = " ".join(f"one two number {number}." for number in range(60))
    output, content = digest(TextSource(text), digester_with(plain))

    assert output.embedded is not None
    assert len(output.passages) > 5
    expected = b"".join(struct.pack("<2f", 1.0, len(text)) for text in plain.batches[0])
    assert output.embedded.vectors == expected
    assert (
        (output.embedded.model, output.embedded.dimension)
        == (content["model"], content["dimension"])
        == (PlainModel.model, 2)
    )
    assert all(len(passage.text.split()) <= PlainModel.window for passage in output.passages)


@pytest.mark.parametrize("text", ["T", "1 2 3", "> note: no words were found on page 1"])
def test_a_text_without_a_word_of_its_own_is_not_embedded(plain: PlainModel, text: str) -> None:
    output, _ = digest(source_with_outputs(doc_to_markdown=text), digester_with(plain))

    assert (output.content, output.passages, plain.batches) == (None, (), [])


def test_the_limit_of_passages_is_respected_and_noted(plain: PlainModel) -> None:
    output, content = digest(TextSource("one two six. " * 60), digester_with(plain, most_passages=3))

    assert len(output.passages) == 3
    assert content["note"].startswith("first 3 passages embedded, ")


def test_the_limit_of_text_is_noted(plain: PlainModel) -> None:
    _, content = digest(source_with_outputs(doc_to_markdown="word " * 100), digester_with(plain, text_limit=50))
    assert "first 50 characters indexed" in content["note"]


def test_passages_that_the_model_cannot_read_are_left_out_and_counted(plain: PlainModel) -> None:
    output, content = digest(
        source_with_outputs(doc_to_markdown="readable", url_crawl_summary="ααα"), digester_with(plain)
    )

    assert [passage.text for passage in output.passages] == ["readable"]
    assert (content["sources"], content["note"]) == (
        ["doc-to-markdown"],
        "1 in a script or language that the model cannot read",
    )


def test_a_corrected_transcript_takes_the_place_of_the_first(plain: PlainModel) -> None:
    first = json.dumps({"segments": [{"start": 1.0, "end": 2.0, "text": "wrods", "speaker": "speaker-1"}]})
    better = json.dumps({"segments": [{"start": 1.0, "end": 2.0, "text": "words", "speaker": "speaker-1"}]})
    output, _ = digest(
        source_with_outputs(Kind.AUDIO, speech_recognition=first, speech_recognition_cleanup=better),
        digester_with(plain),
    )

    assert [(passage.text, passage.place.seconds) for passage in output.passages] == [("words", 1.0)]


def test_the_hash_of_the_same_text_does_not_depend_on_the_title(plain: PlainModel) -> None:
    plain_content = digest(source_with_outputs(doc_to_markdown="one two six. " * 60), digester_with(plain))[1]
    titled_content = digest(
        source_with_outputs(
            doc_to_markdown="one two six. " * 60, media_preview='{"tags": {"title": "Some other title"}}'
        ),
        digester_with(plain),
    )[1]
    other_content = digest(source_with_outputs(doc_to_markdown="one two ten. " * 60), digester_with(plain))[1]

    assert plain_content["text_hash"] == titled_content["text_hash"] != other_content["text_hash"]


def test_a_file_without_text_needs_no_model(tmp_path: Path) -> None:
    digester = SearchSemantic(PassageEmbedding(weights_dir=str(tmp_path)))
    output, _ = digest(source_with_outputs(Kind.IMAGE, image_preview='{"title": "x"}', image_ocr=" \n"), digester)

    assert (output.content, output.passages, output.embedded) == (None, (), None)


def test_without_weights_it_says_how_to_get_them_for_each_file(tmp_path: Path) -> None:
    digester = SearchSemantic(PassageEmbedding(weights_dir=str(tmp_path)))
    with pytest.raises(EngineUnavailable, match=r"note\.txt: .*run 'chyme weights embedding'"):
        digester.digest(TextSource("words"))

    results = digester.digest_many([TextSource("words"), TextSource(""), TextSource("more", name="b.txt")])
    assert isinstance(results[0], EngineUnavailable)
    assert isinstance(results[1], list)
    assert str(results[2]).startswith("b.txt: ")


def test_many_files_are_embedded_in_one_go_and_each_gets_its_own(plain: PlainModel) -> None:
    sources = [TextSource("one"), TextSource(""), TextSource("one two six. " * 60), TextSource("three words here")]
    alone = [digester_with(plain).digest(source) for source in sources]
    plain.batches.clear()

    assert digester_with(plain).digest_many(sources) == alone
    assert len(plain.batches) == 1


def test_of_equal_passages_only_one_is_embedded_and_all_get_its_vector(plain: PlainModel) -> None:
    page = "one two six. " * 4
    text = f"{page}\n\n{'other words. ' * 6}\n\n{page}"
    starts = (0, text.index("other"), text.rindex("\n\n") + 2)
    places = tuple(Place(start, len(text), page=number) for number, start in enumerate(starts, 1))
    source = source_with_outputs(doc_to_markdown=text)
    source.inputs["doc-to-markdown"] = replace(source.inputs["doc-to-markdown"], places=places)
    (output,) = digester_with(plain).digest(source)
    together = digester_with(plain).digest_many([source, source])

    assert [passage.text for passage in output.passages] == [
        page.strip(),
        "other words. " * 5 + "other words.",
        page.strip(),
    ]
    assert output.embedded is not None
    (embedded,) = plain.batches[:1]
    assert len(embedded) == 2
    size = PlainModel.dimension * 4
    first, second, third = (output.embedded.vectors[start : start + size] for start in range(0, 3 * size, size))
    assert first == third == struct.pack("<2f", 1.0, len(embedded[0]))
    assert second == struct.pack("<2f", 1.0, len(embedded[1]))
    assert together == [[output], [output]]
    assert plain.batches[1] == embedded


def test_the_model_reads_tables_without_their_lines_and_the_passage_keeps_them(plain: PlainModel) -> None:
    table = "| Country | Capital |\n|---|---|\n| Austria | Vienna |"
    (output,) = digester_with(plain).digest(source_with_outputs(doc_to_markdown=table))

    assert [passage.text for passage in output.passages] == [table]
    assert [text.rpartition("Capital")[2].split() for text in plain.batches[0]] == [["Austria", "Vienna"]]


def test_a_long_text_reports_its_progress(plain: PlainModel) -> None:
    source = TextSource(" ".join(f"one two number {number}." for number in range(2000)))
    digest(source, digester_with(plain, LONG_TEXT))
    assert source.reported_progress == sorted(source.reported_progress)
    assert (len(source.reported_progress), source.reported_progress[-1]) == (len(plain.batches), 1.0)
    assert len(source.reported_progress) > 1


def test_the_time_grows_with_the_text() -> None:
    digester = SearchSemantic()
    note, long = digester.time_limit(TextSource("x")), digester.time_limit(TextSource("x" * 500_000))
    assert note < long < digester.time_limit(source_with_outputs(Kind.AUDIO))
    page = digester.time_limit(source_with_outputs(Kind.URL, url_crawl_content="x" * 500_000))
    assert digester.time_limit(source_with_outputs(Kind.URL, url_crawl_content="x")) < page


def test_which_files_and_where_it_runs() -> None:
    local, remote = SearchSemantic(), SearchSemantic(ENDPOINT)
    file = TextSource().file

    assert {kind for kind in Kind if not local.can_digest(replace(file, kind=kind))} == {Kind.OTHER}
    assert (local.runs.lane, local.waits_for(file), local.asks(file), local.runs.gathers) == (
        Lane.MEANING,
        False,
        None,
        True,
    )
    assert (remote.runs.lane, remote.waits_for(file), remote.asks(file)) == (Lane.MODEL, True, ASKS)
    assert not SearchSemantic.promises.counts


@pytest.mark.parametrize("name", ["image_preview", "media_preview"])
def test_the_text_of_a_preview_is_not_a_passage(plain: PlainModel, name: str) -> None:
    preview = json.dumps({"title": "Harbour", "description": "A pier.", "tags": {"title": "Harbour"}})
    output, _ = digest(source_with_outputs(Kind.IMAGE, **{name: preview}), digester_with(plain))
    assert output.passages == ()


def test_the_recipe_follows_the_model_and_the_limits(tmp_path: Path) -> None:
    recipes = {
        SearchSemantic(PassageEmbedding(weights_dir=str(tmp_path))).recipe,
        SearchSemantic(ENDPOINT).recipe,
        SearchSemantic(replace(ENDPOINT, window=60)).recipe,
        SearchSemantic(ENDPOINT, most_passages=5).recipe,
        SearchSemantic(ENDPOINT, text_limit=5).recipe,
    }
    assert len(recipes) == 5


def test_a_service_receives_the_passages_that_a_child_has_cut(tmp_path: Path) -> None:
    with ModelServer(embeds()) as server:
        digester = SearchSemantic(replace(ENDPOINT, url=server.url))
        source = replace(
            source_with_outputs(
                Kind.URL,
                url_crawl_content=" ".join(f"α two {number}." for number in range(60)),
                url_metadata='{"title": "Two of them"}',
            ),
            scratch=tmp_path,
        )
        digester.prepare(source)
        output, content = digest(replace(source, inputs={}), digester)

    assert output.embedded is not None
    assert [texts_of(request) for request in server.requests] == [
        [f"Two of them\n{passage.text}" for passage in output.passages]
    ]
    assert (output.embedded.model, output.embedded.dimension) == (digester.settings.model_name, SIZE)
    assert (content["passages"], content["dimension"]) == (len(output.passages), SIZE)
    assert content["sources"] == ["url-crawl-content", "url-metadata"]
    assert len(output.passages) > 1


@pytest.mark.parametrize("data", [b"", b"{}", b'{"title": "t", "output": ["other", null, 0, []]}\n', b"\xff" * 9])
def test_prepared_data_of_a_child_is_not_trusted(tmp_path: Path, data: bytes) -> None:
    (tmp_path / PREPARED_FILE).write_bytes(data)
    with pytest.raises(ChildCrashed):
        SearchSemantic(ENDPOINT).digest(TextSource(scratch=tmp_path))


def test_a_private_file_is_not_sent_and_says_so() -> None:
    (output,) = SearchSemantic(ENDPOINT).without_model(TextSource("secret"))
    content = json.loads(output.content or "")
    assert (content["indexed"], content["passages"], output.passages, output.embedded) == (False, 0, (), None)
    assert "private" in content["note"]


def test_the_digest_of_a_private_file_names_the_model_and_the_hash_of_its_text(plain: PlainModel) -> None:
    (output,) = SearchSemantic(ENDPOINT).without_model(TextSource("secret"))
    content = json.loads(output.content or "")
    assert content["model"] == ENDPOINT.model_name
    assert content["text_hash"] == digest(TextSource("secret"), digester_with(plain))[1]["text_hash"]


def test_a_child_knows_how_to_prepare_it() -> None:
    assert {"search-semantic", "search-semantic:prepare", "search-semantic:without"} <= set(in_child({}))


@pytest.mark.parametrize("name", ["search-keyword", "search-semantic"])
def test_the_docs_name_every_field_of_search_digests_and_no_other(plain: PlainModel, name: str) -> None:
    most = LONG_TEXT + 1
    digester = digester_with(plain, most) if name == "search-semantic" else SearchKeyword(text_limit=200)
    (output,) = digester.digest(TextSource(long_text(2 * most)))  # too long, so there is a note
    page = (Path(__file__).parents[2] / "docs/digests.md").read_text()
    section = page.partition(f"## `{name}`\n")[2].partition("\n## ")[0]
    fields = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    example = json.loads(section.partition("```json\n")[2].partition("```")[0])

    assert set(json.loads(output.content or "")) == fields
    assert set(example) == fields - {"note", "to_come"}


@pytest.mark.skipif(path_of(EMBEDDING) is None, reason="needs the weights: run 'chyme weights embedding'")
def test_the_real_model_embeds_every_passage() -> None:
    output, content = digest(TextSource("The flat is rented for two years.\n\n" * 3), SearchSemantic())
    assert output.embedded is not None
    assert content["dimension"] * 4 * len(output.passages) == len(output.embedded.vectors)

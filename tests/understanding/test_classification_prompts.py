"""Which part of a document is sent to a model."""

from __future__ import annotations

import json

import pytest
from growth import grows_linearly

from chyme.understanding.classification.model_question import (
    GAP,
    ModelInput,
    build_model_input,
    model_input_from_json,
    model_input_to_json,
)
from chyme.understanding.classification.result import Candidate, Classification

RULES = Classification(
    "The pier",
    date="2026-04-03",
    language="en",
    tags=("pier",),
    confidence={"title": 0.5},
    evidence={"date": "3 April 2026"},
    dates=(
        Candidate("2026-04-03", "3  April\n2026", "doc-to-markdown", 0.7),
        Candidate("2020-01-01", "2020-01-01", "name", 0.3),
    ),
)


def test_a_short_document_is_sent_whole_without_its_markup() -> None:
    model_input = build_model_input(
        {"doc-to-markdown": "# The **pier**\n\nIt [closes](https://example.org/x) in June."}, RULES, 1000
    )
    assert model_input.text == "# The pier\nIt closes in June."
    assert (model_input.share, model_input.where, model_input.note) == (1.0, "doc-to-markdown", None)


def test_notes_that_chyme_added_to_a_text_are_not_sent() -> None:
    model_input = build_model_input(
        {"doc-to-markdown": "The pier [?] closes.\n\n> note: pages 3 to 9 could not be read\n"}, RULES, 1000
    )
    assert model_input.text == "The pier closes."


@pytest.mark.parametrize("blank", [" ", "\t", "\n", " \n"])
def test_blanks_cost_no_more_than_their_length(blank: str) -> None:
    def read(size: int) -> None:
        build_model_input({"doc-to-markdown": blank * size, "url-crawl-content": blank * size}, RULES, 24_000)

    assert grows_linearly(read, 100_000)


def test_beginning_middle_and_end_of_a_long_document_are_sent_with_the_share_that_was_read() -> None:
    lines = [f"Line {at} speaks of the harbour and of nothing else." for at in range(10_000)]
    model_input = build_model_input({"doc-to-markdown": "\n\n".join(lines)}, RULES, 6000)
    sent = [int(line.split()[1]) for line in model_input.text.splitlines() if line.startswith("Line")]
    assert len(model_input.text) <= 6200
    assert sent[0] == 0
    assert sent[-1] == 9999
    assert any(3000 < at < 7000 for at in sent)
    assert GAP in model_input.text
    assert model_input.share == pytest.approx(0.0118, abs=0.004)
    assert model_input.note == "1% of the text was read"


@pytest.mark.parametrize("name", ["file", "doc-to-markdown", "url-crawl-content"])
def test_one_endless_line_is_sampled_too(name: str) -> None:
    line = "".join(f"{at:06d} the harbour is here. " for at in range(40_000))
    model_input = build_model_input({name: line}, RULES, 9000)
    assert len(model_input.text) < 16_000
    assert "000000" in model_input.text
    assert "039999" in model_input.text
    assert any(f"0{at}" in model_input.text for at in range(15_000, 25_000))


def test_every_text_is_sent_once() -> None:
    segment: dict[str, object] = {"start": 0.0, "end": 1.0, "speaker": None, "words": []}
    texts = {
        "speech-recognition": json.dumps({"segments": [{**segment, "text": "um hello"}]}),
        "speech-recognition-cleanup": json.dumps({"segments": [{**segment, "text": "Hello there, everybody."}]}),
        "media-preview": json.dumps({"tags": {"title": "Greetings"}, "duration": 3}),
        "speech-recognition-summary": "Somebody says hello.\n",
    }
    model_input = build_model_input(texts, Classification(), 1000)
    assert model_input.sent == "Greetings\nHello there, everybody."
    assert model_input.where == "speech-recognition-cleanup"


def test_a_text_that_is_cut_takes_its_summary_along() -> None:
    long = "\n\n".join(f"Line {at} of the harbour." for at in range(1000))
    model_input = build_model_input(
        {"url-crawl-content": long, "url-crawl-summary": "- All about the harbour.\n"}, Classification(), 2000
    )
    assert "All about the harbour" in model_input.sent
    assert "All about the harbour" not in model_input.text


def test_dates_found_in_the_text_are_pointed_out_and_others_are_not() -> None:
    model_input = build_model_input({"doc-to-markdown": "Written on 3 April 2026."}, RULES, 1000)
    assert model_input.sent.splitlines()[-1] == "3 April 2026 = 2026-04-03"
    assert "2020" not in model_input.sent


@pytest.mark.parametrize("texts", [{}, {"file": ""}, {"file": " \n\n "}, {"media-preview": '{"duration": 3}'}])
def test_without_text_the_model_is_not_asked(texts: dict[str, str]) -> None:
    assert build_model_input(texts, RULES, 1000) == ModelInput(RULES)


def test_a_model_input_survives_being_written_and_read() -> None:
    model_input = build_model_input({"file": "Text with \ud800 and ☃"}, RULES, 1000)
    assert model_input_from_json(model_input_to_json(model_input)) == model_input


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b"\xff", b'{"rules": 1, "text": "", "share": 1, "where": "", "more": ""}']
)
def test_other_data_is_no_model_input(data: bytes) -> None:
    with pytest.raises((ValueError, TypeError)):
        model_input_from_json(data)

"""Sentences that never serve as a summary."""

from __future__ import annotations

import pytest

from chyme.understanding.summaries.refusals import has_refused_phrase, is_filler, is_refused
from chyme.understanding.summaries.self_reference import names_document
from chyme.understanding.summaries.shortening import shorten_sentence, strip_marks


@pytest.mark.parametrize(
    "sentence",
    [
        "Name: Ada Winter Date: 3 April 2026 Amount: 120 Reference: the kitchen window.",
        "Filed: 07/13/2017 by the clerk of the court in Varn.",
        "Case No. 17-2400 was entered on the docket by the clerk of the court.",
        "Page 3 of the report of the harbour office about the pier.",
        "Figure 3: The pier of the harbour before it was repaired.",
        "Table 2. Tides of the harbour in the year of the repair.",
        "Photo: The pier of the harbour before it was repaired.",
        "The pier was repaired in June (credit: the harbour office).",
        "and the pier was repaired in June by the harbour office.",
        "of the harbour, which was repaired in June by the office.",
        "The pier of the harbour, which was repaired in June by",
        "The pier (see the map was repaired in June by the office.",
        "12) was repaired in June by the harbour office of the town.",
        "We use cookies to make the pages of the harbour office better for you.",
        "Subscribe to our list and read all about the pier of the harbour.",
        "Dear readers of the harbour news, the pier is being repaired.",
        "If you have any questions about the pier, write to the office.",
        "This e-mail is confidential and intended solely for the harbour office.",
        "You may not use this file unless it is licensed under the terms of the harbour.",
        "Lorem ipsum dolor sit amet, consectetur adipiscing elit in the harbour.",
        "Call pier.repair(steel) before the harbour_office() is closed to all ships.",
        "The value x=12 is set before the harbour is closed to all ships.",
        "Harbour Office, Marport MP 12345, Tel. 555 0101, office@harbour.example, near the pier.",
        "Ines Okafor, Tomas Lind, Ruth Ferrier, Jonas Ferrier, Elena Marsh and Daniel Cole.",
        "Pier 480.00 steel 240.00 and paint 120.00 for the harbour.",
        "THE PIER OF THE HARBOUR IS CLOSED UNTIL JUNE.",
        "tHe pIeR oF thE haRBour waS rePAIred iN juNE.",
    ],
)
def test_no_summary(sentence: str) -> None:
    assert is_refused(sentence, "en")


@pytest.mark.parametrize(
    "sentence",
    [
        "The pier of the harbour is being repaired until June.",
        "An office of the harbour repairs the pier until June.",
        "To repair the pier, the office closes the harbour until June.",
        "From June on, the pier of the harbour is open to all ships.",
        "This privacy policy explains how the harbour office uses cookies.",
        "The harbour office has issued a copyright law for pictures of the pier.",
        "Der Pier des Hafens wird bis Juni vom Hafenamt der Stadt repariert.",
        "Le quai du port est fermé jusqu'en juin à cause des travaux.",
        "港口的旧码头将于六月关闭，因为钢材正在生锈。",
    ],
)
def test_a_plain_sentence_is_not_refused(sentence: str) -> None:
    language = {"D": "de", "L": "fr", "港": "zh"}.get(sentence[0], "en")
    assert not is_refused(sentence, language)


def test_a_document_that_names_itself_refers_to_nothing_missing() -> None:
    assert names_document("This annual report describes the harbour.")
    assert names_document("In dieser Arbeit wird der Hafen beschrieben.")
    assert names_document("This is a short guide to the harbour.")
    assert not names_document("This is no longer the case in the harbour.")
    assert not names_document("This harbour is old.")


@pytest.mark.parametrize(
    ("sentence", "plain"),
    [
        ("¶ 4 The harbour is closed.", "The harbour is closed."),
        ("2.1 The harbour is closed.", "The harbour is closed."),
        ("MARPORT, May 4, 2022 – The harbour is closed.", "The harbour is closed."),
        ("February 14, 2007 Dear Colleagues, the harbour is closed.", "The harbour is closed."),
        ("Background: The harbour is closed.", "The harbour is closed."),
        ("HOLT, J. — The harbour is closed.", "The harbour is closed."),
        ("The harbour: it is closed.", "The harbour: it is closed."),
    ],
)
def test_what_stands_before_a_sentence_is_left_out(sentence: str, plain: str) -> None:
    assert strip_marks(sentence) == plain


def test_a_sentence_is_shortened_by_its_brackets_first() -> None:
    sentence = f"The harbour (which {'is very old and ' * 16}wide) is closed until June."
    assert shorten_sentence(sentence, 400) == "The harbour is closed until June."


def test_a_sentence_without_clauses_is_cut_at_a_word() -> None:
    assert shorten_sentence("word " * 100 + "end.", 400).endswith("word…")


def test_phrases_are_found_at_the_beginning_of_words() -> None:
    assert has_refused_phrase("Please, do not hesitate to write.")
    assert not has_refused_phrase("The office will not redo not-hesitated work.")


def test_latin_is_not_always_filler() -> None:
    assert is_filler("Lorem ipsum dolor sit amet")
    assert not is_filler("Gallia est omnis divisa in partes tres")

"""Our stems are SQLite's stems."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chyme.text.stemmer import fold, stem

WORDS = """
caresses ponies ties caress cats feed agreed plastered bled motoring sing conflated troubled sized hopping tanned
falling hissing fizzed failing filing happy sky relational conditional rational valency hesitancy digitizer
conformably radically differently vilely analogously vietnamization predication operator feudalism decisiveness
hopefulness callousness formality sensitivity sensibility triplicate formative formalize electricity electrical
hopeful goodness revival allowance inference airliner gyroscopic adjustable defensible irritant replacement
adjustment dependent adoption homologou communism activate angularity homologous effective bowdlerize probate rate
cease controll roll digesting digested digestion naive cafe strasse generalizations oscillators by say yyy
"""


def stems_of_sqlite(words: Iterable[str]) -> dict[str, str]:
    db = sqlite3.connect(":memory:")
    try:
        db.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize = 'porter unicode61 remove_diacritics 2')")
        db.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, 'instance')")
        numbered = dict(enumerate(sorted(set(words))))
        db.executemany("INSERT INTO t (rowid, x) VALUES (?, ?)", numbered.items())
        return {numbered[row]: term for term, row in db.execute("SELECT term, doc FROM v")}
    finally:
        db.close()


@pytest.mark.parametrize("word", WORDS.split())
def test_word(word: str) -> None:
    assert stems_of_sqlite([word]) == {word: stem(word)}


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(alphabet="abcdeghilmnorstuvyz", min_size=1, max_size=14), min_size=1, max_size=30))
def test_any_letters(words: list[str]) -> None:
    stems = stems_of_sqlite(words)

    assert stems == {word: stem(word) for word in stems}


@pytest.mark.parametrize("text", ["NAÏVE", "naïve", "nai\u0308ve"])
def test_fold_takes_away_case_and_diacritics(text: str) -> None:
    assert fold(text) == "naive"


def test_all_words_of_a_real_collection(corpus: Path) -> None:
    lines = (corpus / "retrieval/cranfield/corpus.jsonl").read_text(encoding="utf-8").splitlines()
    words = {word for line in lines for word in re.findall("[a-z]+", json.loads(line)["text"].lower())}

    stems = stems_of_sqlite(words)

    assert len(stems) > 5000
    assert stems == {word: stem(word) for word in stems}

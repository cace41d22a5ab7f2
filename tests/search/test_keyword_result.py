"""Search results in the format that the command line and HTTP promise."""

from __future__ import annotations

import pytest
from keyword_vault import Shelf
from upstreams import form_of, upstream

from chyme.model import Kind
from chyme.search.results import as_json
from chyme.search.search import Search
from chyme.search.sqlite_index import SqliteIndex

pytestmark = pytest.mark.slow  # each takes little time, but there are many


def search_with_limit(shelf: Shelf, most_scored: int) -> Search:
    return Search(lambda: shelf.db, SqliteIndex(lambda: shelf.db, most_scored=most_scored), form_of=form_of)


def test_json_has_the_promised_fields(shelf: Shelf) -> None:
    shelf.put("talk.txt", "The <b>whale</b> sings.", title="Sea songs")

    payload = as_json(shelf.ask("whales"))

    assert {"hits", "total", "ms"} <= payload.keys()
    hits = payload["hits"]
    assert isinstance(hits, list)
    (hit,) = hits
    assert hit["path"] == "talk.txt"
    assert hit["title"] == "Sea songs"
    assert hit["why"] == ["words"]
    assert hit["snippet"] == "The <b>whale</b> sings."
    assert [hit["snippet"][start:end] for start, end in hit["marks"]] == ["whale"]
    assert hit["place"] == {"start": 0, "end": 23}


def test_marks_are_right_behind_the_dots_of_a_cut_snippet(shelf: Shelf) -> None:
    shelf.put("long.txt", "filler " * 80 + "whale " + "filler " * 80)

    payload = as_json(shelf.ask("whale"))

    hits = payload["hits"]
    assert isinstance(hits, list)
    snippet = hits[0]["snippet"]
    assert snippet.startswith("… ") and snippet.endswith(" …")
    assert [snippet[start:end] for start, end in hits[0]["marks"]] == ["whale"]


def test_seconds_and_speaker_lead_into_the_recording(shelf: Shelf) -> None:
    transcript = '{"text": "", "segments": [{"start": 3.5, "end": 5, "text": "Hello whale", "speaker": "S1"}]}'
    shelf.put("talk.mp3", kind=Kind.AUDIO, outputs=[upstream("speech-recognition", transcript)])

    (hit,) = shelf.ask("whale").hits

    assert hit.place is not None
    assert (hit.place.seconds, hit.place.until, hit.place.speaker) == (3.5, 5, "S1")


def test_a_search_for_very_frequent_words_is_limited_and_a_note_says_so(shelf: Shelf) -> None:
    for number in range(40):
        shelf.put(f"{number}.txt", "common words")

    result = search_with_limit(shelf, 20).search("common", limit=5)

    assert len(result.hits) == 5
    assert min(int(hit.path.removesuffix(".txt")) for hit in result.hits) >= 19
    assert result.notes == ("these words are almost everywhere; only the newest passages were compared",)
    assert result.total == 40


def test_a_rare_word_limits_the_scored_passages_and_frequent_words_still_count(shelf: Shelf) -> None:
    for number in range(600):
        rare, frequent = number % 3 == 0, number % 5 < 2
        shelf.put(f"{number}.txt", f"{'special' if rare else 'usual'} {'frequent' if frequent else 'seldom'}")

    everything = shelf.index.search("special frequent", limit=100).hits
    narrowed = search_with_limit(shelf, 300).search("special frequent", limit=100).hits

    assert [hit.path for hit in narrowed] == [hit.path for hit in everything]
    assert narrowed[0].score > narrowed[-1].score


def test_words_that_are_adjacent_as_in_the_question_score_higher(shelf: Shelf) -> None:
    shelf.put("apart.txt", "learning of a machine")
    shelf.put("together.txt", "a machine learning of")

    hits = shelf.ask("machine learning").hits

    assert [hit.path for hit in hits] == ["together.txt", "apart.txt"]
    assert hits[0].score > hits[1].score

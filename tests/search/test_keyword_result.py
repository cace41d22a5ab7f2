"""The answer in the shape the command line and HTTP promise."""

from __future__ import annotations

from keyword_shelf import Shelf

from chyme.model import Kind, Upstream
from chyme.search.result import as_json
from chyme.search.sqlite import SqliteIndex


def test_json_has_the_promised_fields(shelf: Shelf) -> None:
    shelf.put("talk.txt", "The <b>whale</b> sings.", title="Sea songs")

    told = as_json(shelf.ask("whales"))

    assert {"hits", "total", "ms"} <= told.keys()
    assert isinstance(hits := told["hits"], list)
    (hit,) = hits
    assert hit["path"] == "talk.txt"
    assert hit["title"] == "Sea songs"
    assert hit["why"] == ["words"]
    assert hit["snippet"] == "The <b>whale</b> sings."
    assert [hit["snippet"][start:end] for start, end in hit["marks"]] == ["whale"]
    assert hit["place"] == {"start": 0, "end": 23}


def test_marks_stand_right_behind_the_dots_of_a_cut_snippet(shelf: Shelf) -> None:
    shelf.put("long.txt", "filler " * 80 + "whale " + "filler " * 80)

    told = as_json(shelf.ask("whale"))

    assert isinstance(hits := told["hits"], list)
    snippet = hits[0]["snippet"]
    assert snippet.startswith("… ") and snippet.endswith(" …")
    assert [snippet[start:end] for start, end in hits[0]["marks"]] == ["whale"]


def test_seconds_and_speaker_lead_into_the_recording(shelf: Shelf) -> None:
    transcript = '{"text": "", "segments": [{"start": 3.5, "end": 5, "text": "Hello whale", "speaker": "S1"}]}'
    shelf.put("talk.mp3", kind=Kind.AUDIO, outputs=[Upstream("speech-recognition", transcript)])

    (hit,) = shelf.ask("whale").hits

    assert hit.place is not None
    assert (hit.place.seconds, hit.place.until, hit.place.speaker) == (3.5, 5, "S1")


def test_words_that_stand_everywhere_are_answered_within_bounds_and_honestly(shelf: Shelf) -> None:
    passage = "\n\n".join("common " * 190 for _ in range(2300))
    for number in range(10):
        shelf.put(f"{number}.txt", passage)

    result = SqliteIndex(lambda: shelf.db).search("common")

    assert len(result.hits) > 0
    assert result.notes == ("these words stand almost everywhere; only the newest passages were compared",)
    assert not result.total_is_exact

"""The readable text in the content of a digest."""

from __future__ import annotations

import json

from upstreams import upstream

from chyme.model import Place
from chyme.text.digest_text import ReadableText, extract_text
from chyme.text.passages import cut_passages


def read(name: str, content: object) -> ReadableText:
    return extract_text(upstream(name, json.dumps(content, ensure_ascii=False)))


def place_of(text: ReadableText, words: str) -> Place:
    start = text.text.index(words)
    return next(place for place in text.places if place.start <= start < place.end)


RECORDING = {
    "duration": 3600.5,
    "container": "m4b",
    "audio": {"codec": "aac", "sample_rate": 44100},
    "tags": {
        "title": "Der Fluß",
        "artist": "Anna Ołówek",
        "album": "Der Fluß",
        "composer": "J. Quelle",
        "genre": "Folk",
        "comment": "Recorded beside the mill",
        "track": "3/9",
        "date": "2021",
    },
    "chapters": [{"start": 0.0, "end": 61.5, "title": "Prologue"}, {"start": 61.5, "end": 90, "title": "The weir"}],
    "peaks": [1, 2, 3],
    "note": "the file is cut short",
}


def test_only_the_tags_and_chapters_of_a_recording_are_read() -> None:
    text = read("media-preview", RECORDING).text
    assert text == "Der Fluß\nAnna Ołówek\nJ. Quelle\nFolk\nRecorded beside the mill\nPrologue\nThe weir"


def test_a_chapter_has_its_seconds_and_a_title_has_none() -> None:
    text = read("media-preview", RECORDING)
    assert (place_of(text, "The weir").seconds, place_of(text, "The weir").until) == (61.5, 90.0)
    assert place_of(text, "Anna").seconds is None
    assert text.text[place_of(text, "The weir").start : place_of(text, "The weir").end] == "The weir"


def test_the_passage_of_a_late_chapter_knows_its_second() -> None:
    chapters = [
        {"start": 60.0 * n, "end": 60.0 * n + 60, "title": f"Chapter {n} of many words " * 12} for n in range(40)
    ]
    text = read("media-preview", {"chapters": chapters})
    last = cut_passages(text.text, text.places)[-1]
    assert last.seconds is not None
    assert last.seconds > 1000


def test_a_recording_without_any_words_reads_as_nothing() -> None:
    assert read("media-preview", {"duration": 3.0, "tags": {}, "peaks": [0, 100]}) == ReadableText("")
    assert read("media-preview", {"tags": "none", "chapters": [{"start": 1}, "x"]}) == ReadableText("")


def test_the_written_information_and_the_camera_of_a_picture_are_read() -> None:
    content = {
        "width": 4000,
        "height": 3000,
        "format": "jpeg",
        "camera": {"make": "Nikon", "model": "Z 6", "lens": "50mm f/1.8"},
        "taken": "2024-05-01T10:00:00",
        "place": {"latitude": 48.1, "longitude": 11.5},
        "title": "Harbour",
        "description": "Boats at noon",
        "keywords": ["boats", "summer", 7],
    }
    assert read("image-preview", content).text == "Harbour\n\nBoats at noon\n\nboats, summer\n\nNikon Z 6 50mm f/1.8"


def test_a_picture_without_written_information_reads_as_nothing() -> None:
    assert read("image-preview", {"width": 10, "height": 10, "keywords": None, "camera": {}}).text == ""


def test_a_caption_is_read_with_the_words_seen_in_the_picture() -> None:
    content = {"text": "A shop front.", "visible_text": "BÄCKEREI", "engine": "local", "composed": True}
    assert read("image-captioning", content).text == "A shop front.\n\nBÄCKEREI"


def test_each_object_of_a_picture_is_read_at_its_box() -> None:
    content = {
        "objects": [
            {"name": "dog", "description": "a brown dog", "category": "animal", "tags": ["pet"], "box": [0, 0, 0.5, 1]},
            {"name": "kite", "tags": ["kite", "toy"], "box": [0.5, 0.1, 1, 0.4], "confidence": 0.9},
            {"box": [0, 0, 1, 1], "confidence": 0.1},
        ]
    }
    text = read("image-objects", content)
    assert text.text == "dog. a brown dog. animal. pet\nkite. toy"
    assert place_of(text, "kite").box == (0.5, 0.1, 1.0, 0.4)


def test_content_in_no_known_shape_is_read_as_it_is() -> None:
    assert extract_text(upstream("media-preview", "not json")).text == "not json"
    assert extract_text(upstream("doc-to-markdown", "# A\nb")).places[0].heading == "A"


def test_characters_that_no_database_stores_are_replaced_without_moving_others() -> None:
    text = read("media-preview", {"tags": {"title": "a\u0000b"}, "chapters": [{"start": 1, "title": "c"}]})
    assert text.text == "a\ufffdb\nc"

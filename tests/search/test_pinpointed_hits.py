"""A hit leads to the line that contains its words, not to the whole passage."""

from __future__ import annotations

import json
import sqlite3

from keyword_vault import Shelf
from upstreams import upstream

from chyme.core.store import text_places
from chyme.model import Kind, Place

FIRST, SECOND = (0.1, 0.1, 0.9, 0.2), (0.1, 0.7, 0.5, 0.8)


def put_photo(shelf: Shelf) -> None:
    text = "Harbour office\nFerries to Zanzibar"
    lines = (Place(0, 14, page=2, box=FIRST), Place(15, 34, page=2, box=SECOND))
    id_ = shelf.put("sign.jpg", kind=Kind.IMAGE, outputs=[upstream("image-ocr", text, lines)])
    text_places.replace(shelf.db, id_, "image-ocr", lines)


def add_digest(db: sqlite3.Connection, file_id: int, path: str, output: str, content: str) -> None:
    db.execute(
        """
        INSERT INTO digests (id, file_id, file_path, digester, status, content, settled, created_at, updated_at)
        VALUES (?, ?, ?, ?, 'completed', ?, 1, 'now', 'now')
        """,
        (path + output, file_id, path, output, content),
    )


def test_a_word_in_a_picture_has_the_box_of_its_line(shelf: Shelf) -> None:
    put_photo(shelf)
    place = shelf.ask("zanzibar").hits[0].place
    assert place == Place(15, 34, page=2, box=SECOND)


def test_the_place_is_the_line_with_most_of_the_words(shelf: Shelf) -> None:
    put_photo(shelf)
    place = shelf.ask("harbour ferries zanzibar").hits[0].place
    assert place is not None
    assert place.box == SECOND


def test_an_object_in_a_picture_has_its_own_box(shelf: Shelf) -> None:
    things = [
        {"name": "dog", "description": "a dog", "category": "animal", "tags": [], "box": FIRST, "confidence": 0.9},
        {"name": "bicycle", "description": "a bicycle", "category": "vehicle", "tags": [], "box": SECOND},
    ]
    content = json.dumps({"objects": things})
    id_ = shelf.put("street.jpg", kind=Kind.IMAGE, outputs=[upstream("image-objects", content)])
    add_digest(shelf.db, id_, "street.jpg", "image-objects", content)
    place = shelf.ask("bicycle").hits[0].place
    assert place is not None
    assert place.box == SECOND


def test_a_word_in_a_recording_has_the_second_of_its_sentence(shelf: Shelf) -> None:
    segments = [
        {"start": 1.0, "end": 4.0, "text": "Welcome to the meeting.", "speaker": "A"},
        {"start": 64.5, "end": 70.0, "text": "The harbour is closed.", "speaker": "B"},
    ]
    content = json.dumps({"segments": segments})
    id_ = shelf.put("talk.mp3", kind=Kind.AUDIO, outputs=[upstream("speech-recognition", content)])
    add_digest(shelf.db, id_, "talk.mp3", "speech-recognition", content)
    place = shelf.ask("harbour").hits[0].place
    assert place is not None
    assert (place.seconds, place.until, place.speaker) == (64.5, 70.0, "B")


def test_a_hit_leads_to_the_recording_even_if_a_summary_matches_better(shelf: Shelf) -> None:
    segments = [
        {"start": 1.0, "end": 4.0, "text": "Good morning to all of you out there.", "speaker": "speaker-1"},
        {"start": 12.0, "end": 15.0, "text": "Tonight we look at the moon.", "speaker": "speaker-2"},
    ]
    transcript = json.dumps({"segments": segments})
    summary = "Looking at the moon.\n\n## Topics\n\n- moon"
    places = (Place(24, 30, seconds=1.0, until=4.0, speaker="speaker-1"),)
    id_ = shelf.put(
        "talk.mp3",
        kind=Kind.AUDIO,
        outputs=[upstream("speech-recognition", transcript), upstream("speech-recognition-summary", summary, places)],
    )
    add_digest(shelf.db, id_, "talk.mp3", "speech-recognition", transcript)
    add_digest(shelf.db, id_, "talk.mp3", "speech-recognition-summary", summary)
    text_places.replace(shelf.db, id_, "speech-recognition-summary", places)
    (hit,) = shelf.ask("moon").hits
    assert hit.place is not None
    assert (hit.place.seconds, hit.place.speaker) == (12.0, "speaker-2")
    (of_summary,) = [piece for piece in hit.passages if piece.source == "speech-recognition-summary"]
    assert of_summary.place.seconds is None


def test_the_heading_is_the_one_above_the_words(shelf: Shelf) -> None:
    text = "# Salt\n\nWhite and dry.\n\n# Pepper\n\nBlack and hot."
    sections = (Place(0, 24, heading="Salt"), Place(24, len(text), heading="Pepper"))
    id_ = shelf.put("spices.docx", kind=Kind.DOCUMENT, outputs=[upstream("doc-to-markdown", text, sections)])
    text_places.replace(shelf.db, id_, "doc-to-markdown", sections)
    for word, heading in (("dry", "Salt"), ("hot", "Pepper")):
        place = shelf.ask(word).hits[0].place
        assert place is not None
        assert place.heading == heading

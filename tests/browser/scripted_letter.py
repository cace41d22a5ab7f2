"""A letter, and the answer of a scripted model about it."""

from __future__ import annotations

LETTER = "Dear Ms Miller, the heating in the flat was repaired on 3 April 2026. The plumber replaced the pump."
GOOD = {
    "title": "Repair of the heating",
    "summary": "A plumber replaced the pump.",
    "date": "2026-04-03",
    "date_text": "3 April 2026",
    "language": "en",
    "tags": ["heating", "repair"],
    "confidence": {"title": 0.9, "summary": 0.9, "date": 0.9, "language": 0.9, "tags": 0.8},
    "title_text": "the heating in the flat was repaired",
}

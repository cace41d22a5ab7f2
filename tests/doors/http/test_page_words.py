"""Where the words of a query are on a page, over HTTP."""

from __future__ import annotations

from pathlib import Path
from sqlite3 import Connection

from described_vault import complete, put
from fastapi.testclient import TestClient

from chyme.application.app import App
from chyme.core.store import text_places
from chyme.model import Place

SAMPLES = Path(__file__).parents[2] / "samples"


def test_words_of_a_text_layer_are_found_and_others_are_not(app: App, http: TestClient) -> None:
    put(app, "a/contract.pdf", (SAMPLES / "contract.pdf").read_bytes())
    found = http.get("/api/page-words/a/contract.pdf", params={"page": 1, "q": "tenant"}).json()
    assert found["page"] == 1 and found["boxes"]
    for left, top, right, bottom in found["boxes"]:
        assert 0 <= left < right <= 1 and 0 <= top < bottom <= 1
    nothing = http.get("/api/page-words/a/contract.pdf", params={"page": 1, "q": "zebra"}).json()
    assert nothing == {"page": 1, "boxes": []}


def test_words_of_a_scanned_page_are_found_by_the_lines_that_were_read(app: App, http: TestClient) -> None:
    file = put(app, "scan.pdf", (SAMPLES / "scanned.pdf").read_bytes())
    text = "The key hangs\nbehind the oar"
    complete(app, file, "doc-to-markdown", text)

    def store_places(db: Connection) -> None:
        lines = [Place(0, 13, 1, box=(0.1, 0.1, 0.5, 0.2)), Place(14, 28, 1, box=(0.1, 0.3, 0.5, 0.4))]
        text_places.replace(db, file.id, "doc-to-markdown", lines)

    app.database.write(store_places)
    assert http.get("/api/page-words/scan.pdf?page=1&q=oars").json()["boxes"] == [[0.1, 0.3, 0.5, 0.4]]


def test_a_file_without_pages_is_reported(app: App, http: TestClient) -> None:
    put(app, "note.txt", "words")
    put(app, "broken.pdf", b"%PDF-1.4 broken")
    for path in ("note.txt", "nowhere.pdf", "..%2fx", "%00"):
        assert http.get(f"/api/page-words/{path}", params={"q": "words"}).status_code == 404
    assert http.get("/api/page-words/broken.pdf", params={"q": "words"}).json()["boxes"] == []
    assert http.get("/api/page-words/note.txt").status_code in (400, 422)

"""What the page calls the steps of a file, and how it counts them."""

from __future__ import annotations

import re
from collections import Counter

from described_vault import complete, put
from fastapi.testclient import TestClient

from chyme.application.app import App
from chyme.doors.page.labels import labels_of


def test_no_two_digesters_have_the_same_label(http: TestClient) -> None:
    digesters = http.get("/api/digesters").json()["digesters"]
    assert not [label for label, times in Counter(digester["label"] for digester in digesters).items() if times > 1]


def test_no_two_digests_of_a_file_have_the_same_label(app: App) -> None:
    labels = labels_of(app)
    outputs = [labels[name] for digester in app.rules.registry for name in digester.outputs]
    assert not [label for label, times in Counter(outputs).items() if times > 1]


def test_a_file_counts_only_the_steps_its_kind_has(app: App, http: TestClient) -> None:
    note = put(app, "note.txt", "A note about the harbour.")
    complete(app, note, "search-keyword", None)
    payload = http.get("/api/digest/note.txt").json()
    applicable = [row for row in payload["digests"] if row["error"] != "not applicable"]
    assert 0 < len(applicable) < len(payload["digests"])
    assert payload["steps"] == {"settled": 1, "total": len(applicable)}
    for address in ("/file/note.txt", "/ui/file/parts?path=note.txt"):
        html = http.get(address).text
        assert re.findall(r"(\d+) of (\d+) steps are done", html) == [("1", str(len(applicable)))]
        assert f'value="1" max="{len(applicable)}"' in html

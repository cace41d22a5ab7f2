"""All documents as a table, over HTTP."""

from __future__ import annotations

import csv
from pathlib import Path

from described_vault import put
from fastapi.testclient import TestClient

from chyme.application.app import open_app
from chyme.doors.http.vault_api import create_vault_api


def test_every_document_is_a_line_and_none_is_a_formula(tmp_path: Path) -> None:
    with open_app(tmp_path) as app:
        for name in ("b.txt", "a.txt", "=1+1.txt", "schön, “so”.txt"):
            put(app, name)
        answer = TestClient(create_vault_api(app)).get("/api/export/documents.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="documents.csv"'
    rows = list(csv.DictReader(answer.text.splitlines()))
    assert [row["path"] for row in rows] == ["'=1+1.txt", "a.txt", "b.txt", "schön, “so”.txt"]

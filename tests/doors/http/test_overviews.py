"""The numbers behind the charts, and the charts: files by time and kind, throughput, spending, a voice's recordings."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from sqlite3 import Connection

import pytest
from described_vault import complete, put
from fastapi.testclient import TestClient

from chyme.application.app import App
from chyme.doors.page.charts import HEIGHT, WIDTH, stacked_bars, years_between

pytestmark = pytest.mark.slow


@pytest.fixture
def dated(app: App) -> App:
    for name, date in (
        ("a.txt", "2019-03-01"),
        ("b.txt", "2019-03-09"),
        ("c.pdf", "2021-12-31"),
        ("d.txt", "9999-01-01"),
    ):
        file = put(app, name)
        complete(app, file, "classify-document", json.dumps({"title": "T", "date": date, "tags": []}))
    return app


class Links(HTMLParser):
    """The addresses in a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.styled = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.styled = self.styled or "style" in values
        self.found.append(values.get("href") or "")


def test_bars_are_stacked_within_the_picture_and_repeated_in_the_table() -> None:
    chart = stacked_bars("T", "Year", ["1", "2", "3"], {"x": {"1": 3.0, "3": 1e9}, "y": {"1": 1.0}})
    assert [len(bar.parts) for bar in chart.bars] == [2, 0, 1]
    assert all(part.y >= 0 and part.y + part.height <= HEIGHT + 0.01 for bar in chart.bars for part in bar.parts)
    assert all(bar.x >= 0 and bar.x + bar.width <= WIDTH for bar in chart.bars)
    assert [(row.label, row.values) for row in chart.rows] == [
        ("1", ("3", "1", "4")), ("3", ("1,000,000,000", "0", "1,000,000,000")),
    ]  # fmt: skip


def test_years_between_are_bounded() -> None:
    assert years_between("0001", "2024", 3) == ["2022", "2023", "2024"]
    assert years_between("x", "2024", 3) == []


def test_files_are_counted_by_year_and_month(dated: App, http: TestClient) -> None:
    counts = http.get("/api/timeline").json()["counts"]
    assert {"period": "2019", "kind": "text", "files": 2} in counts
    assert http.get("/api/timeline?year=2019").json()["counts"] == [{"period": "2019-03", "kind": "text", "files": 2}]
    assert [http.get(f"/api/timeline?year={year}").status_code for year in ("19", "20199", "x' OR 1")] == [422] * 3


def test_bars_lead_to_the_files_they_count(dated: App, http: TestClient) -> None:
    html = http.get("/timeline").text
    links = Links(html)
    assert {"/?q=date%3A2019", "/?q=type%3Atext", "/timeline?year=2019"} <= set(links.found)
    assert not links.styled  # the policy of the page forbids it
    assert "outside of these years" in html  # the year 9999 does not push the others out
    assert http.get("/api/search", params={"q": "date:2019"}).json()["total"] == 2
    assert "2019-03: text 2" in http.get("/timeline?year=2019").text
    assert "No file has a date in 1800" in http.get("/timeline?year=1800").text


def test_an_empty_vault_has_empty_charts(http: TestClient) -> None:
    assert "There are no files yet" in http.get("/timeline").text
    assert "Nothing was digested" in http.get("/ui/activity/throughput").text


def test_what_ended_in_the_last_day_is_counted_by_output_and_hour(app: App, http: TestClient) -> None:
    insert = """INSERT INTO events (at, type, path, digester, status)
                VALUES (strftime('%Y-%m-%dT%H:%M:%SZ', 'now', ?), 'digest', 'a', ?, ?)"""
    rows = [("-1 hours", "tags", "completed"), ("-1 hours", "tags", "failed"), ("-1 hours", "tags", "todo"),
            ("-2 days", "tags", "completed")]  # fmt: skip
    app.database.write(lambda db: db.executemany(insert, rows).rowcount)
    (hour,) = http.get("/api/throughput").json()["hours"]
    assert (hour["output"], hour["completed"], hour["failed"]) == ("tags", 1, 1)
    assert "Digests that ended in each hour" in http.get("/ui/activity/throughput").text


def test_spending_is_counted_by_day_and_provider(app: App, http: TestClient) -> None:
    insert = """INSERT INTO ai_calls (at, provider, host, model, digester, run_id, question, outcome, tokens_in, cost)
                VALUES (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), ?, 'h', 'm', 'tags', 'r', '', 'answered', 5, ?)"""
    app.database.write(lambda db: db.executemany(insert, [("llm", 0.5), ("llm", 0.25), ("vision", None)]).rowcount)
    spend = http.get("/api/ai/spend/daily?days=1").json()["spend"]
    assert [(row["provider"], row["calls"], row["tokens"], row["cost"]) for row in spend] == [
        ("llm", 2, 10, 0.75), ("vision", 1, 5, None),
    ]  # fmt: skip
    assert "Dollars by day and provider" in http.get("/ui/activity/models").text


def test_a_voice_is_followed_across_recordings(app: App, http: TestClient) -> None:
    dates = ("2024-05-02", "2024-05-01")
    talks = [put(app, f"talk {date}.txt") for date in dates]
    for talk, date in zip(talks, dates, strict=True):
        complete(app, talk, "classify-document", json.dumps({"title": "T", "date": date, "tags": []}))

    def hear(db: Connection) -> int:
        db.execute("INSERT INTO people (id, created_at, updated_at) VALUES (1, '', '')")
        db.execute("INSERT INTO voice_groups (id, person_id, model, centroid) VALUES (1, 1, 'm', x'00000000')")
        voices = [(talk.id, speaker, 30.0) for talk in talks for speaker in ("speaker-1", "speaker-2")]
        insert = """INSERT INTO voices (file_id, speaker, group_id, seconds, model, vector, is_new)
                    VALUES (?, ?, 1, ?, 'm', x'00000000', 0)"""
        return db.executemany(insert, voices).rowcount

    app.database.write(hear)
    recordings = http.get("/api/people/1/recordings").json()["recordings"]
    assert [(entry["day"], entry["seconds"]) for entry in recordings] == [("2024-05-01", 60.0), ("2024-05-02", 60.0)]
    assert "/file/talk%202024-05-01.txt" in Links(http.get("/people/1").text).found


def test_recordings_of_nobody_are_not_found(http: TestClient) -> None:
    assert http.get("/api/people/7/recordings").status_code == 404

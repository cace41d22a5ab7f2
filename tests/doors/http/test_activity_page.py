"""/activity and the routes behind it: failures, outdated digests, vanished files, models, and recent events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from sqlite3 import Connection

import pytest
from described_vault import classify, put
from fastapi.testclient import TestClient

from chyme.application.app import App, open_app
from chyme.application.recent_events import describe_events
from chyme.application.settings import Settings
from chyme.core.clock import now
from chyme.core.store import events, files, vault_properties
from chyme.core.store.models import calls
from chyme.core.store.models.calls import CallTotals
from chyme.doors.http.vault_api import create_vault_api
from chyme.doors.page.activity import HEIGHT, cost_bars
from chyme.doors.page.rendering import format_dollars, format_duration, format_time_left
from chyme.model import CallEnd, Question, iso

pytestmark = pytest.mark.slow  # each takes little time, but there are many

MODEL = Settings(llm_url="http://127.0.0.1:9/v1", llm_model="scripted", llm_calls_per_day=10)
EVIL = "<b>x</b>.txt"
PARTS = ("now", "states", "failures", "jobs", "outdated", "vanished", "models", "lately")


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with open_app(tmp_path, MODEL) as opened:
        yield opened


def call(app: App, digester: str, cost: float | None, outcome: str = "answered", days_ago: int = 0) -> None:
    """Record a call of the model in the ledger."""
    question = Question("llm", "127.0.0.1:9", "scripted", "hash")
    at = iso(now() - timedelta(days=days_ago))

    def note(db: Connection) -> None:
        number = calls.begin(db, question, digester, None, "run", at)
        calls.end(db, number, CallEnd(outcome, 1.0, tokens_in=100, tokens_out=20, cost=cost))

    app.database.write(note)


def fail(app: App, path: str, digester: str, message: str) -> None:
    file = files.by_path(app.database.read(), path)
    assert file is not None
    app.database.write(
        lambda db: db.execute(
            "UPDATE digests SET status = 'failed', settled = 1, attempts = 3, error = ?, error_category = 'validation' "
            "WHERE file_id = ? AND digester = ?",
            (message, file.id, digester),
        )
    )


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_the_page_can_be_fetched_alone(http: TestClient, part: str) -> None:
    assert http.get(f"/ui/activity/{part}").status_code == 200


def test_an_unknown_part_is_refused(http: TestClient) -> None:
    assert http.get("/ui/activity/secrets").status_code == 422


def test_documents_are_counted_by_state_and_lead_to_the_vault(app: App, http: TestClient) -> None:
    classify(app, put(app, "a.txt"), "A")
    html = http.get("/activity").text
    for state in ("processing", "stale", "completed", "needs-classification", "failed"):
        assert f'href="/?state={state}"' in html


def test_failures_are_grouped_by_cause_with_a_button_for_each(app: App, http: TestClient) -> None:
    for name in ("a.pdf", "b.pdf"):
        put(app, name, "%PDF-1.7 x")
        fail(app, name, "doc-to-markdown", f"{name}: PDF is encrypted; save a copy without password")
    groups = app.failures.groups()
    assert [group.files for group in groups] == [2]
    html = http.get("/ui/activity/failures").text
    assert "2 files" in html and "these 2" in html
    assert f'data-post="/api/failures/{groups[0].id}/retry"' in html
    assert 'href="/file/a.pdf"' in html and 'href="/file/b.pdf"' in html


def test_names_of_files_are_escaped(app: App, http: TestClient) -> None:
    put(app, EVIL)
    html = http.get("/activity").text
    assert EVIL not in html
    assert "&lt;b&gt;x&lt;/b&gt;.txt" in html
    assert "/file/%3Cb%3Ex%3C/b%3E.txt" in html


def test_outdated_digests_are_counted_first_and_made_again_only_on_request(app: App, http: TestClient) -> None:
    classify(app, put(app, "a.txt", "some words that are worth a digest"), "A")
    payload = http.get("/api/outdated").json()
    assert [(row["digester"], row["files"], row["calls"]) for row in payload["outdated"]] == [
        ("classify-document", 1, 1)
    ]
    assert 'id="redo-classify-document"' in http.get("/ui/activity/outdated").text
    again = http.post("/api/outdated/redo", json={"digesters": ["classify-document"]}).json()
    assert again["digests"] == 1
    assert http.get("/api/outdated").json()["outdated"] == []


def test_an_unknown_digester_is_refused(http: TestClient) -> None:
    assert http.post("/api/outdated/redo", json={"digesters": ["no-such"]}).status_code == 400


def test_vanished_files_wait_for_a_person_when_many_vanished_at_once(app: App, http: TestClient) -> None:
    file = put(app, "gone.txt")
    app.database.write(lambda db: files.mark_vanished(db, file.id, iso(now())))
    app.database.write(lambda db: vault_properties.put(db, "purge-waits", "10 of 10 files vanished at once"))
    html = http.get("/ui/activity/vanished").text
    assert "gone.txt" in html and "They are meant to be gone" in html
    payload = http.get("/api/vanished").json()
    assert (payload["total"], payload["due"], payload["files"][0]["path"]) == (1, 0, "gone.txt")
    assert payload["waits"] == "10 of 10 files vanished at once"
    assert http.post("/api/vanished/forget").json() == {"files": 0}
    for nearly in (0, 1, "true", "yes"):
        assert http.post("/api/vanished/forget", json={"everything": nearly}).status_code == 422
    assert http.get("/api/vanished").json()["waits"] is None
    assert http.post("/api/vanished/forget", json={"everything": True}).json() == {"files": 1}
    assert http.get("/api/vanished").json()["total"] == 0


def test_the_cost_of_models_is_added_up(app: App, http: TestClient) -> None:
    call(app, "classify-document", 0.25)
    call(app, "classify-document", 0.05, days_ago=3)
    call(app, "tags", None, "refused")
    payload = http.get("/api/ai/spend", params={"by": "digester", "days": 2}).json()
    assert (payload["by"], payload["days"]) == ("digester", 2)
    assert [(row["name"], row["calls"], row["failed"], row["cost"]) for row in payload["spend"]] == [
        ("classify-document", 1, 0, 0.25),
        ("tags", 1, 1, None),
    ]
    html = http.get("/ui/activity/models").text
    assert "scripted at 127.0.0.1:9" in html and "of 10 calls" in html
    assert html.count('class="chart-bar"') == 2
    assert "$0.30" in html


@pytest.mark.parametrize("asked", [{"by": "secret"}, {"days": 0}, {"days": 10**30}])
def test_an_unknown_grouping_or_impossible_period_of_spending_is_refused(
    http: TestClient, asked: dict[str, str | int]
) -> None:
    assert http.get("/api/ai/spend", params=asked).status_code == 422


def test_models_are_paused_and_resumed(app: App, http: TestClient) -> None:
    assert http.post("/api/ai/pause").json() == {"paused": ["llm"]}
    assert "Resume" in http.get("/ui/activity/models").text
    assert http.post("/api/ai/resume", json={"provider": "llm"}).json() == {"resumed": ["llm"], "digests": 0}
    assert "Pause" in http.get("/ui/activity/models").text
    refused = http.post("/api/ai/pause", json={"provider": "whale"})
    assert (refused.status_code, refused.json()["detail"]) == (400, "there is no model called 'whale'; there are: llm")


def test_without_a_model_the_page_says_that_nothing_leaves_this_machine(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with open_app(tmp_path / "plain", Settings()) as app, TestClient(create_vault_api(app)) as http:
        assert "Nothing leaves this machine" in http.get("/activity").text
        assert http.post("/api/ai/pause").status_code == 400


def test_recent_events_are_listed_once_for_each_file(app: App) -> None:
    put(app, "in/a.txt")
    app.tags.ban("whale")
    with app.database.snapshot() as db:
        found = describe_events(events.latest(db, 100), 10)
    assert [(event.path, event.words) for event in found] == [(None, "banned “whale”"), ("in/a.txt", "was added")]


def test_a_file_deleted_by_a_person_is_not_reported_as_vanished(app: App) -> None:
    put(app, "a.txt")
    app.trash.put(["a.txt"])
    put(app, "b.txt")
    (app.vault.root / "b.txt").unlink()
    app.scan(["b.txt"])
    with app.database.snapshot() as db:
        found = {event.path: event.words for event in describe_events(events.latest(db, 100), 10)}
    assert found == {"a.txt": "was deleted", "b.txt": "has vanished"}


def test_a_step_that_lacks_something_says_so_and_offers_no_useless_retry(app: App, http: TestClient) -> None:
    put(app, "a.txt")
    fail(app, "a.txt", "slug", "a.txt: pages are not fetched; set crawl to true to have them")
    app.database.write(
        lambda db: db.execute("UPDATE digests SET error_category = 'unavailable' WHERE status = 'failed'")
    )
    html = http.get("/ui/activity/failures").text
    assert "Set crawl to true to have them." in html and "Until then there is nothing to retry." in html
    assert "badge-red" not in html and "data-post" not in html


def test_a_failure_is_described_with_its_cause_without_repeating_its_name() -> None:
    failed = (2, "at", "document", "in/a.pdf", None, "failed", "a.pdf: is broken")
    added = (1, "at", "file", "in/a.pdf", None, "new", None)
    (event,) = describe_events([failed, added], 10)
    assert (event.words, event.why, event.tone) == ("failed", "is broken", "red")


def test_bars_are_as_high_as_what_they_stand_for() -> None:
    drawn = cost_bars([_account("2026-03-01", 1.0), _account("2026-03-03", 4.0)], date(2026, 3, 3), 3)
    assert [bar.day for bar in drawn.bars] == ["2026-03-01", "2026-03-02", "2026-03-03"]
    assert [bar.height for bar in drawn.bars] == [HEIGHT / 4, 0.0, HEIGHT]
    assert all(bar.y + bar.height == HEIGHT for bar in drawn.bars)
    assert (drawn.of, drawn.highest) == ("dollars", 4.0)


def test_bars_stand_for_calls_where_no_price_is_known() -> None:
    drawn = cost_bars([_account("2026-03-03", None)], date(2026, 3, 3), 30)
    assert (drawn.of, drawn.highest, drawn.bars[-1].height) == ("calls", 7, HEIGHT)
    assert cost_bars([], date(2026, 3, 3), 30).highest == 0


def test_times_and_prices_are_formatted_for_people() -> None:
    assert [format_duration(seconds) for seconds in (0.2, 61, 600, 7200, 40_000)] == [
        "1 s",
        "61 s",
        "10 min",
        "2.0 h",
        "11 h",
    ]
    assert [format_time_left(seconds) for seconds in (3, 90, 7200)] == ["under a minute", "about 2 min", "about 2 h"]
    assert [format_dollars(cost) for cost in (None, 0.0, 0.0012, 3.5)] == ["price unknown", "$0.00", "$0.0012", "$3.50"]


def test_pages_contain_no_inline_style_or_script(http: TestClient) -> None:
    for address in ("/activity", "/tags", "/settings", "/trash"):
        html = http.get(address).text
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)|javascript:", html), address


def _account(name: str, cost: float | None) -> CallTotals:
    return CallTotals(name, 7, 0, 1, 1, cost, 1.0)

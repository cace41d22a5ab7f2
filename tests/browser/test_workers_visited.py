"""Workers on the activity page in a real browser: they come, work, are set aside and vanish while the page is open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback_nats import LoopbackNats, loopback_nats
from made_up_worker import made_up_worker
from playwright.sync_api import APIResponse, Page, Route, expect
from running_chyme import SAMPLES, RunningChyme
from visiting import House, check_a11y, layout_shift, served

pytestmark = pytest.mark.slow

VAULT = "photos"


@pytest.fixture(scope="module")
def nats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackNats]:
    with loopback_nats(tmp_path_factory.mktemp("nats")) as server:
        yield server


@pytest.fixture
def house(tmp_path: Path, nats: LoopbackNats) -> Iterator[House]:
    def set_up(chyme: RunningChyme) -> None:
        chyme.settings |= {
            "CHYME_WORKERS_URL": nats.url,
            "CHYME_WORKERS_VAULT": VAULT,
            "CHYME_HOME_PLACES": "0",
        }

    with served(tmp_path / "house", set_up) as house:
        yield house


def drop_pictures(house: House, *names: str) -> None:
    data = (SAMPLES / "dot.png").read_bytes()
    for number, name in enumerate(names):
        house.drop(name, data + bytes([number]))  # otherwise one digest serves all


def test_a_worker_appears_with_what_it_does_and_is_marked_when_it_is_set_aside(
    house: House, nats: LoopbackNats, page: Page
) -> None:
    page.goto(f"{house.base}/activity")
    workers = page.get_by_role("region", name="Workers", exact=True)
    expect(workers).to_contain_text("No worker has been heard of yet")
    with made_up_worker(nats.url, VAULT, "shed") as worker:
        row = workers.get_by_role("row", name="shed")
        expect(row).to_contain_text("live")  # without reloading the page
        drop_pictures(house, "till.png", "jar.png", "pot.png")
        run = worker.claim()
        worker.report_progress(run, 0.4)
        expect(row.get_by_role("progressbar")).to_have_attribute("value", "0.4")
        expect(row.get_by_role("link")).to_have_count(1)
        check_a11y(page)
        worker.fail(run)
        for _ in range(2):
            worker.fail(worker.claim())
        expect(row).to_contain_text("set aside")
        expect(row).to_contain_text("Gets no more work: failed with 3 files in a row")
        expect(row).to_contain_text("start 'chyme work' on shed.lan again")
        check_a11y(page)
        assert layout_shift(page) < 0.25
        worker.leave()
        expect(row).to_have_count(0)


def test_in_the_dark_and_by_keyboard_the_table_can_be_read(house: House, nats: LoopbackNats, dark: Page) -> None:
    with made_up_worker(nats.url, VAULT, "shed", makes=frozenset({"image-ocr"})):
        dark.goto(f"{house.base}/activity")
        expect(dark.get_by_role("row", name="shed")).to_contain_text("live")
        table = dark.get_by_role("region", name="Workers and what they do")
        table.focus()
        expect(table).to_be_focused()
        dark.keyboard.press("Tab")
        reasons = dark.locator("#workers-unfit")
        expect(reasons.locator("summary")).to_be_focused()
        dark.keyboard.press("Enter")
        expect(reasons).to_contain_text("0 of 1 worker fits, because: 1 × not among --only")
        check_a11y(dark)


def test_the_page_says_when_nats_is_away_and_when_it_is_back(house: House, nats: LoopbackNats, page: Page) -> None:
    page.goto(f"{house.base}/activity")
    workers = page.get_by_role("region", name="Workers", exact=True)
    expect(workers).to_contain_text("Connected to NATS")
    nats.kill()
    expect(workers.get_by_role("status")).to_contain_text("Not connected to NATS")
    check_a11y(page)
    nats.start()
    expect(workers).to_contain_text("Connected to NATS;")


def test_an_answer_that_is_older_than_the_last_event_does_not_stay(
    house: House, nats: LoopbackNats, page: Page
) -> None:
    held: list[tuple[Route, APIResponse]] = []

    def hold_first(route: Route) -> None:
        """Hold the answer that NATS is away; an event from before may have asked for another."""
        if held:
            route.continue_()
            return
        answer = route.fetch()
        if "Not connected" in answer.text():
            held.append((route, answer))
        else:
            route.fulfill(response=answer)

    page.goto(f"{house.base}/activity")
    workers = page.get_by_role("region", name="Workers", exact=True)
    expect(workers).to_contain_text("Connected to NATS")
    page.evaluate("addEventListener('chyme:status', (event) => { window.seen = event.detail.workers; }, true)")
    page.route("**/ui/activity/workers", hold_first)
    nats.kill()
    while not held:
        page.wait_for_timeout(50)
    nats.start()
    page.wait_for_function("() => window.seen && window.seen.connected")

    route, older = held[0]
    route.fulfill(response=older)

    expect(workers).to_contain_text("Connected to NATS;")


def test_without_workers_the_page_does_not_mention_them(tmp_path: Path, page: Page) -> None:
    with served(tmp_path / "house") as house:
        page.goto(f"{house.base}/activity")
        expect(page.get_by_role("heading", name="Now")).to_be_visible()
        expect(page.get_by_role("region", name="Workers", exact=True)).to_have_count(0)

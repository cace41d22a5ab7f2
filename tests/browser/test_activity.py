"""The activity page in a real browser: failures by cause, outdated and stale documents, models, jobs, trash."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from model_server import ModelServer, says
from playwright.sync_api import Page, expect
from plugin_package import install
from running_chyme import RunningChyme
from scripted_letter import GOOD, LETTER
from visiting import DESKTOP, PHONE, House, Visits, check_a11y, eventually, layout_shift, served

pytestmark = pytest.mark.slow

GATED = '''
from chyme.errors import UnreadableFile

class Gated(Digester):
    """Fails until somebody opens the gate."""

    name = "gated"
    label = "Gatekeeper"
    description = "Fails until somebody opens the gate."

    def can_digest(self, file: File) -> bool:
        return file.name.startswith("gated")

    def digest(self, source: Source) -> list[Output]:
        if not os.path.exists(os.path.join(os.path.dirname(__file__), "open")):
            raise UnreadableFile(f"{source.file.name}: the gate is closed; open it first")
        return [Output(self.name, "through")]
'''


def furnish(chyme: RunningChyme) -> None:
    install(chyme.site, "gates", GATED, {"gated": "Gated"})
    for number in (1, 2, 3):
        chyme.drop(f"gated {number}.txt", f"{LETTER} Copy {number}.")
    chyme.drop("plain.txt", f"{LETTER} It is a plain one.")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with served(tmp_path_factory.mktemp("activity"), furnish) as house:
        house.settled()
        yield house


def change(house: House, statement: str) -> None:
    """Change the database as time or an older chyme would."""
    with closing(sqlite3.connect(house.vault / ".chyme/vault.db", timeout=30)) as db, db:
        db.execute(statement)


def test_failures_are_grouped_by_cause_and_a_button_retries_the_group(house: House, page: Page) -> None:
    page.goto(f"{house.base}/activity")
    group = page.locator("[data-group]", has_text="Gatekeeper")
    expect(group).to_contain_text("3 files")
    expect(group).to_contain_text("he gate is closed")
    expect(group).to_contain_text("pen it first")
    expect(group.get_by_role("link", name="gated 1.txt")).to_be_visible()
    check_a11y(page)
    (house.chyme.site / "open").touch()
    group.get_by_role("button", name="Retry these 3").click()
    expect(page.locator("#toasts")).to_contain_text("Trying 3 files again")
    expect(page.locator("[data-group]", has_text="Gatekeeper")).to_have_count(0)  # without reloading the page
    eventually(lambda: house.http.get("/api/status").json()["digests"]["failed"] == 0)


def test_an_added_file_appears_at_once_and_links_to_its_page(house: House, page: Page) -> None:
    page.goto(f"{house.base}/activity")
    house.drop("later.txt", f"{LETTER} It came later.")
    lately = page.locator("[data-part=lately]")
    expect(lately.get_by_role("link", name="later.txt")).to_be_visible()
    expect(lately.locator("li", has_text="later.txt")).to_contain_text(re.compile("is ready|needs classification"))
    assert layout_shift(page) < 0.1


def test_outdated_digests_are_run_again_on_request(house: House, page: Page) -> None:
    house.settled()
    change(house, "UPDATE digests SET recipe = 'older' WHERE digester = 'slug' AND status = 'completed'")
    page.goto(f"{house.base}/activity")
    part = page.locator("[data-part=outdated]")
    expect(part.get_by_role("button", name=re.compile("^Run again"))).to_be_visible()
    expect(part).to_contain_text("Takes about")
    check_a11y(page)
    part.get_by_role("button", name=re.compile("^Run again")).click()
    expect(page.locator("#toasts")).to_contain_text("digests will be made again")
    expect(part.get_by_role("button")).to_have_count(0)
    eventually(lambda: house.http.get("/api/status").json()["outdated"] == 0)


def test_a_stale_document_is_counted_and_links_to_the_vault(house: House, page: Page) -> None:
    house.settled()
    change(
        house,
        "UPDATE documents SET state = 'processing', moved_at = '2020-01-01T00:00:00.000000Z' "
        "WHERE file_id = (SELECT id FROM files WHERE path = 'plain.txt')",
    )
    page.goto(f"{house.base}/activity")
    still = page.locator("[data-state=stale]")
    expect(still).to_contain_text("1")
    still.click()
    expect(page).to_have_url(re.compile(r"/\?state=stale"))
    change(house, "UPDATE documents SET state = 'completed' WHERE state = 'processing'")


def test_a_deleted_file_is_restored_or_deleted_for_good(house: House, page: Page) -> None:
    for name in ("old one.txt", "old two.txt"):
        house.drop(name, f"{LETTER} {name}.")
        eventually(lambda name=name: house.http.get(f"/api/digest/{name}").status_code == 200)  # type: ignore[misc]
    house.settled()
    for name in ("old one.txt", "old two.txt"):
        assert house.http.delete(f"/api/files/{name}").status_code == 200
    page.goto(f"{house.base}/settings")
    page.locator("#main").get_by_role("link", name="Trash", exact=True).click()
    expect(page.locator(".trash-row")).to_have_count(2)
    check_a11y(page)
    page.get_by_role("button", name="Restore old one.txt").click()
    expect(page.locator(".trash-row")).to_have_count(1)
    assert (house.vault / "old one.txt").exists()
    page.get_by_role("button", name="Delete old two.txt for good").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("This cannot be undone")
    page.keyboard.press("Escape")
    expect(page.locator(".trash-row")).to_have_count(1)
    page.get_by_role("button", name="Empty the trash").click()
    dialog.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_role("heading", name="The trash is empty")).to_be_visible()
    assert not (house.vault / "old two.txt").exists()


def test_the_cost_of_models_is_displayed_and_a_provider_is_paused_and_resumed(tmp_path: Path, page: Page) -> None:
    with ModelServer([says(GOOD, tokens=(700, 300))]) as model:

        def furnish(chyme: RunningChyme) -> None:
            chyme.settings |= {
                "CHYME_LLM_URL": model.url,
                "CHYME_LLM_MODEL": "gpt-4o-mini",
                "CHYME_LLM_CALLS_PER_DAY": "50",
            }
            chyme.drop("letter.txt", LETTER)

        with served(tmp_path / "models", furnish) as house:
            house.settled()
            page.goto(f"{house.base}/activity")
            provider = page.locator("[data-provider=llm]")
            expect(provider).to_contain_text("gpt-4o-mini")
            expect(provider).to_contain_text("ready")
            expect(provider).to_contain_text("of 50 calls a day")
            expect(page.locator(".chart-bar")).to_have_count(1)
            expect(page.get_by_role("row", name=re.compile("^Document classification"))).to_have_count(1)
            check_a11y(page)
            provider.get_by_role("button", name=re.compile("^Pause")).click()
            expect(provider).to_contain_text("paused")
            house.drop("second.txt", f"{LETTER} It is the second one.")
            house.settled()
            expect(provider).to_contain_text("made without it")  # without a reload
            provider.get_by_role("button", name=re.compile("^Resume")).click()
            expect(provider).to_contain_text("ready")
            eventually(lambda: house.document("second.txt")["title"] == GOOD["title"])


@pytest.mark.parametrize("look", ["light", "dark"])
@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_the_pages_fit_and_are_accessible(house: House, visits: Visits, look: str, width: str) -> None:
    viewport = PHONE if width == "phone" else DESKTOP
    with visits.visit(viewport=viewport, color_scheme=look, is_mobile=width == "phone") as page:
        for address in ("activity", "tags", "settings", "trash"):
            page.goto(f"{house.base}/{address}")
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            if address == "settings":
                expect(page.locator("#settings-doctor .doctor-row").first).to_be_visible()
            check_a11y(page)
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), (
                address
            )

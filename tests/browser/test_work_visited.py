"""Work in progress in a real browser: the progress of a file, paused jobs, a choice of vaults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, expect
from plugin_package import install
from running_chyme import RunningChyme
from visiting import House, check_a11y, served
from waiting import AMPLE

pytestmark = pytest.mark.slow

LOOM = """
class Loom(Digester):
    name = "loom"
    label = "Loom"
    description = "Weaves two fifths of the way, and the rest when somebody says so."

    def can_digest(self, file: File) -> bool:
        return file.name.endswith(".yarn.md")

    def digest(self, source: Source) -> list[Output]:
        while not os.path.exists(os.path.join(os.path.dirname(__file__), "go on")):
            source.progress(0.4)
            time.sleep(0.1)
        return [Output(self.name, "woven")]
"""
LONG = AMPLE * 1000  # milliseconds until something is digested on a busy machine


def furnish(chyme: RunningChyme) -> None:
    install(chyme.site, "looms", LOOM, {"loom": "Loom"})
    for number in range(6):
        chyme.drop(f"wool {number}.yarn.md", f"# Wool {number}\n\nIt is blue.")


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with served(tmp_path / "mill", furnish) as house:
        yield house


def go_on(house: House) -> None:
    (house.chyme.site / "go on").touch()


def test_an_added_file_displays_its_progress_until_it_is_ready(house: House, page: Page) -> None:
    go_on(house)
    house.settled()
    (house.chyme.site / "go on").unlink()
    page.goto(house.base)
    page.keyboard.press("n")
    silk = FilePayload(name="silk.yarn.md", mimeType="text/markdown", buffer=b"# Silk\n\nIt is red.")
    page.set_input_files("#add-input", silk)
    card = page.locator('#results [data-path="silk.yarn.md"]')
    expect(card).to_have_attribute("data-state", "processing")
    expect(card.locator("[data-doing]")).to_have_text("Loom 40%", timeout=LONG)
    expect(card.locator("progress")).to_have_attribute("value", "0.4")
    expect(page.locator("#status")).to_have_attribute("data-mood", "busy")
    check_a11y(page)
    go_on(house)
    expect(card).to_have_attribute("data-state", "completed", timeout=LONG)
    expect(card.locator("progress")).to_have_count(0)
    expect(page.locator("#status")).to_have_text(re.compile("All digested"), timeout=LONG)


def test_a_job_over_many_files_is_paused_resumed_and_cancelled(house: House, page: Page) -> None:
    go_on(house)
    house.settled()
    (house.chyme.site / "go on").unlink()
    assert house.http.post("/api/digest", json={"all": True, "digesters": ["loom"]}).status_code == 202
    page.goto(house.base + "/activity")
    job = page.locator("[data-job]")
    expect(job).to_contain_text("of 6 files")
    job.get_by_role("button", name="Pause").click()
    expect(job.locator(".badge")).to_have_text("paused")
    check_a11y(page)
    job.get_by_role("button", name="Resume").click()
    expect(job.locator(".badge")).to_have_text("running")
    job.get_by_role("button", name="Cancel").click()
    expect(job.locator(".badge")).to_have_text("cancelled")
    expect(job.get_by_role("button")).to_have_count(0)
    go_on(house)
    house.settled()


def test_several_vaults_can_be_chosen_and_do_not_mix(tmp_path: Path, page: Page) -> None:
    other = tmp_path / "photos"
    other.mkdir()
    (other / "pier.md").write_text("# The pier\n\nA heron stands on it.")
    with served(
        tmp_path / "papers", lambda chyme: chyme.drop("lease.md", "# The lease\n\nA roof."), str(other)
    ) as house:
        page.goto(house.base)
        expect(page.get_by_role("heading", name="Vaults")).to_be_visible()
        check_a11y(page)
        page.get_by_role("link", name=re.compile("photos")).click()
        expect(page.locator('#results [data-path="pier.md"]')).to_be_visible(timeout=LONG)
        expect(page.locator("#results [data-path]")).to_have_count(1)
        page.locator("#vault-switch").select_option(label="vault")
        expect(page.locator('#results [data-path="lease.md"]')).to_be_visible(timeout=LONG)
        expect(page.locator("#results [data-path]")).to_have_count(1)

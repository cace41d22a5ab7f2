"""Charts in a real browser: bars lead to their files, and every chart can be read as a table, light and dark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

import pytest
from playwright.sync_api import Page, expect
from running_chyme import RunningChyme
from visiting import House, check_a11y, served

pytestmark = pytest.mark.slow


def furnish(chyme: RunningChyme) -> None:
    for year in (2019, 2019, 2021):
        number = len(list(chyme.vault.iterdir()))
        chyme.drop(f"letter {number}.txt", f"Date: 3 March {year}\n\nDear Ada, the lighthouse was repaired. {number}")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with served(tmp_path_factory.mktemp("charts"), furnish) as house:
        house.settled()
        yield house


def test_a_bar_leads_to_the_files_of_its_year(house: House, page: Page) -> None:
    page.goto(f"{house.base}/timeline")
    check_a11y(page)
    bar = page.get_by_role("link", name=re.compile("^2019: text 2"))
    bar.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("date"))
    assert "date:2019" in unquote(page.url)
    expect(page.locator("#main")).to_contain_text("letter 1")


def test_the_numbers_can_be_read_as_a_table(house: House, phone: Page) -> None:
    phone.goto(f"{house.base}/timeline?year=2021")
    phone.locator("#numbers-times summary").click()
    expect(phone.locator("#numbers-times tbody")).to_contain_text("2021-03")
    check_a11y(phone)
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_activity_page_shows_the_last_day_in_the_dark_too(house: House, dark: Page) -> None:
    dark.goto(f"{house.base}/activity")
    part = dark.locator("[data-part=throughput]")
    expect(part.get_by_role("group", name=re.compile("each hour of the last day"))).to_be_visible()
    part.locator("#throughput-table summary").click()
    expect(part.locator("#throughput-table")).to_contain_text("Keyword")
    check_a11y(dark)

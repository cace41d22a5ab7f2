"""Bringing an export of another program on the page: chosen, counted, imported, and found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from made_exports import household, zipped
from playwright.sync_api import Page, expect
from visiting import House, check_a11y, served

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with served(tmp_path_factory.mktemp("imports"), lambda chyme: chyme.drop("here.txt", "Here before.")) as running:
        yield running


def test_an_export_is_counted_then_imported_and_its_properties_are_shown(
    house: House, page: Page, tmp_path: Path
) -> None:
    export = zipped(household(tmp_path / "export"), tmp_path / "export.zip")
    page.goto(house.base)
    page.get_by_role("button", name="Add", exact=True).first.click()
    page.get_by_role("tab", name="Import").click()
    expect(page.locator("#import-source")).to_be_focused()

    page.get_by_role("button", name="Count what is in it").click()
    expect(page.locator("#add-problem")).to_have_text("Choose the exported file first.")
    page.set_input_files("#import-file", export)
    page.get_by_role("button", name="Count what is in it").click()
    status = page.locator("[data-import-progress]")
    expect(status).to_contain_text("Counted export.zip: 2 new")
    check_a11y(page)

    page.locator("[data-import-start]").click()
    expect(status).to_contain_text("Imported export.zip: 2 added")
    page.goto(f"{house.base}/file/scan%2017.txt")
    expect(page.locator('[data-property="correspondent"]')).to_have_text("Stadtwerke der Freien und Hansestadt Lübeck")
    expect(page.locator('[data-property="archive number"]')).to_have_text("1042")
    check_a11y(page)

    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(house.base)
    page.locator(".tabbar-add").click()
    page.get_by_role("tab", name="Import").click()
    expect(page.locator("#import-file")).to_be_visible()
    width = page.evaluate("document.querySelector('#add').scrollWidth - document.querySelector('#add').clientWidth")
    assert width <= 0
    check_a11y(page)
    page.set_input_files("#import-file", {"name": "b.zip", "mimeType": "application/zip", "buffer": b"nonsense"})
    page.get_by_role("button", name="Count what is in it").click()
    expect(page.locator("#add-problem")).to_contain_text("neither a folder nor an intact zip archive")

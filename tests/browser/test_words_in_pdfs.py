"""The words of a hit are marked at their place on the page of a PDF."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from running_chyme import SAMPLES, RunningChyme
from visiting import DESKTOP, PHONE, House, Visits, check_a11y, served

pytestmark = pytest.mark.slow


def fill(chyme: RunningChyme) -> None:
    for name in ("contract.pdf", "scanned.pdf"):
        chyme.drop(name, (SAMPLES / name).read_bytes())


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with served(tmp_path_factory.mktemp("marked"), fill) as house:
        house.settled()
        yield house


@pytest.mark.parametrize("look", ["light", "dark"])
@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_the_words_of_a_hit_are_marked_on_its_page(house: House, visits: Visits, look: str, width: str) -> None:
    phone = width == "phone"
    with visits.visit(viewport=PHONE if phone else DESKTOP, color_scheme=look, is_mobile=phone) as page:
        page.goto(f"{house.base}/?q=tenant")
        page.locator('[data-path="contract.pdf"] .passage').first.click()
        layer = page.locator("[data-word-boxes]")
        expect(layer).to_be_visible()
        number = int(page.locator("#page-number").input_value())
        words = house.http.get("/api/page-words/contract.pdf", params={"page": number, "q": "tenant"}).json()
        assert words["page"] == number and words["boxes"]
        expect(layer.locator(".box-word")).to_have_count(len(words["boxes"]))
        times = "once" if len(words["boxes"]) == 1 else f"{len(words['boxes'])} times"
        expect(layer).to_have_accessible_name(f"“tenant” is marked {times} on page {number}")
        sheet, first = page.locator("[data-sheet]").bounding_box(), layer.locator("rect").first.bounding_box()
        assert sheet and first
        middle = (
            words["boxes"][0][0] / 2 + words["boxes"][0][2] / 2,
            words["boxes"][0][1] / 2 + words["boxes"][0][3] / 2,
        )
        assert abs((first["x"] + first["width"] / 2 - sheet["x"]) / sheet["width"] - middle[0]) < 0.01
        assert abs((first["y"] + first["height"] / 2 - sheet["y"]) / sheet["height"] - middle[1]) < 0.01
        check_a11y(page)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_marks_disappear_with_their_page_and_come_back(house: House, page: Page) -> None:
    pages = house.document("contract.pdf")["pages"]
    counts = [
        len(house.http.get("/api/page-words/contract.pdf", params={"page": number, "q": "tenant"}).json()["boxes"])
        for number in range(1, pages + 1)
    ]
    page.goto(f"{house.base}/file/contract.pdf?page=1&q=tenant")
    for number in (*range(1, pages + 1), 1):
        page.locator("#page-number").fill(str(number))
        page.locator("#page-number").press("Enter")
        expect(page.locator("[data-sheet]")).to_have_attribute("alt", f"Page {number}")
        marks = page.locator("[data-word-boxes]:not([hidden]) .box-word")
        expect(marks).to_have_count(counts[number - 1])


def test_without_a_question_nothing_is_marked(house: House, page: Page) -> None:
    page.goto(f"{house.base}/file/contract.pdf?page=1")
    expect(page.locator("[data-sheet]")).to_be_visible()
    expect(page.locator("[data-word-boxes]")).to_be_hidden()

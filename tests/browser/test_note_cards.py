"""Cards of notes display their first lines; cards of other files display a picture."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect
from running_chyme import RunningChyme
from visiting import DESKTOP, PHONE, House, Visits, check_a11y, served

pytestmark = pytest.mark.slow

HOSTILE = "<img src=x onerror=alert(1)> **bold** <script>alert(2)</script>"


def fill(chyme: RunningChyme) -> None:
    chyme.drop("boathouse.md", "---\ntags: [key]\n---\n# The boathouse\n\nThe **key** hangs behind the third oar.\n")
    chyme.drop("hello.py", "def hello():\n    return 'world'\n")
    chyme.drop("people.csv", "name,town\nAda,Bath\nBob,York\n")
    chyme.drop("tokyo.txt", "東京の会議は四月三日に開かれる。\n議題は予算である。")
    chyme.drop("long.txt", "word " * 5_000)
    chyme.drop("hostile.txt", HOSTILE)
    chyme.drop("empty.txt", "")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with served(tmp_path_factory.mktemp("notes"), fill) as house:
        house.settled()
        yield house


@pytest.mark.parametrize("look", ["light", "dark"])
@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_cards_of_notes_show_their_first_lines(house: House, visits: Visits, look: str, width: str) -> None:
    phone = width == "phone"
    with visits.visit(viewport=PHONE if phone else DESKTOP, color_scheme=look, is_mobile=phone) as page:
        page.goto(f"{house.base}/?sort=name&dir=up")
        excerpts = {
            name: page.locator(f'[data-path="{name}"] .tile-excerpt')
            for name in ("boathouse.md", "hello.py", "people.csv", "tokyo.txt", "long.txt", "hostile.txt")
        }
        expect(excerpts["boathouse.md"]).to_have_text("The boathouse\nThe key hangs behind the third oar.")
        expect(excerpts["hello.py"]).to_have_text("def hello():\n    return 'world'")
        expect(excerpts["people.csv"]).to_have_text("name,town\nAda,Bath\nBob,York")
        expect(excerpts["tokyo.txt"]).to_have_text("東京の会議は四月三日に開かれる。\n議題は予算である。")
        expect(excerpts["hostile.txt"]).to_have_text(HOSTILE)  # unchanged, and no script in it runs
        assert len(excerpts["long.txt"].inner_text()) <= 400
        expect(page.locator('[data-path="empty.txt"] .tile-empty')).to_have_text("Empty")
        for excerpt in excerpts.values():
            inside, around = excerpt.bounding_box(), excerpt.locator("xpath=..").bounding_box()
            assert inside and around and inside["height"] <= around["height"] and inside["width"] <= around["width"]
        link = page.get_by_role("link", name="The boathouse")
        expect(link).to_have_accessible_name(link.locator(".tile-text").inner_text().replace("\n", " "))
        check_a11y(page)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_the_api_returns_the_first_lines_and_none_for_other_kinds(house: House) -> None:
    house.drop("data.bin", b"\0\1\2\3")
    house.settled()
    excerpts = {file["path"]: file["excerpt"] for file in house.http.get("/api/files").json()["files"]}
    assert excerpts["people.csv"] == "name,town\nAda,Bath\nBob,York"
    assert (excerpts["empty.txt"], excerpts["data.bin"]) == (None, None)

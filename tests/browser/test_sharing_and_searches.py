"""Sharing files by a link and saving searches, in a real browser; and what people see who have a link."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from running_chyme import SAMPLES, RunningChyme
from visiting import House, check_a11y, eventually, layout_shift, served

pytestmark = pytest.mark.slow

NOTE = """# The boathouse

The key hangs behind the third oar. <script>alert(1)</script> [a page](https://example.org/)

And [another](https://example.com/) of them.
"""


def fill(chyme: RunningChyme) -> None:
    chyme.drop("notes/boathouse.md", NOTE)
    chyme.drop("notes/other.md", "# Nobody knows\n\nThis note is about the boathouse, too, and is not shared.")
    chyme.drop("private/bank.txt", "The number of the account, which is private.")
    chyme.drop(".chymeprivate", "private/\n")
    for name in ("contract.pdf", "media/cover.mp3"):
        chyme.drop(Path(name).name, (SAMPLES / name).read_bytes())


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with served(tmp_path_factory.mktemp("sharing"), fill) as house:
        house.settled(300)
        yield house


def link_to(house: House, *paths: str, **more: object) -> str:
    made = house.http.post("/api/shares", json={"paths": list(paths), **more})
    assert made.status_code == 201, made.text
    return str(made.json()["address"])


def test_a_file_is_shared_from_its_page_and_the_link_is_ended(house: House, page: Page) -> None:
    page.goto(f"{house.base}/file/notes/boathouse.md")
    page.get_by_role("button", name="Share", exact=True).click()
    dialog = page.get_by_role("dialog", name="Share by a link")
    expect(dialog).to_contain_text("1 file, read only")
    check_a11y(page)
    dialog.get_by_label("How long it works").select_option("7 days")
    dialog.get_by_label("A heading").fill("For Ada & <b>")
    dialog.get_by_label("A heading").press("Enter")
    address = dialog.get_by_label("The link", exact=True)
    expect(address).to_have_value(re.compile(r"^http://127\.0\.0\.1:\d+/s/[\w-]{51}$"))
    check_a11y(page)
    link = address.input_value()

    page.goto(link)
    expect(page.get_by_role("heading", name="The boathouse").first).to_be_visible()
    expect(page.locator("body")).to_contain_text("For Ada & <b>")
    expect(page.locator("body")).to_contain_text("behind the third oar")
    expect(page.locator("nav, input, .rail, #status")).to_have_count(0)
    expect(page.get_by_role("link", name="a page")).to_have_attribute("rel", re.compile("noreferrer"))
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == "boathouse.md"
    check_a11y(page)

    page.goto(f"{house.base}/shares")
    row = page.locator(".sharing-row").filter(has_text="For Ada & <b>")
    expect(row).to_contain_text("opened 1 time")
    check_a11y(page)
    row.get_by_role("button", name="End the link to For Ada").click()
    page.get_by_role("dialog").get_by_role("button", name="End it").click()
    expect(row).to_contain_text("ended")
    expect(row.get_by_role("button")).to_have_count(0)
    page.expected_errors = ["410"]  # type: ignore[attr-defined]
    page.goto(link)
    expect(page.get_by_role("heading", name="This link has ended")).to_be_visible()


def test_a_selection_is_shared_and_private_files_only_when_a_person_agrees(house: House, page: Page) -> None:
    page.goto(f"{house.base}/?view=table")
    page.get_by_role("checkbox", name="Select The number of the account").or_(
        page.locator('[data-path="private/bank.txt"] [data-select]')
    ).first.check()
    page.locator('[data-path="contract.pdf"] [data-select]').check()
    page.get_by_role("region", name="What to do with the selection").get_by_role("button", name="Share").click()
    dialog = page.get_by_role("dialog", name="Share by a link")
    expect(dialog).to_contain_text("2 files")
    page.expected_errors = ["409"]  # type: ignore[attr-defined]
    dialog.get_by_role("button", name="Make a link").click()
    expect(dialog.get_by_role("alert")).to_contain_text("private")
    dialog.get_by_role("checkbox", name="Show the private files all the same").check()
    dialog.get_by_role("button", name="Make a link").click()
    expect(dialog.get_by_label("The link", exact=True)).to_have_value(re.compile("/s/"))
    page.goto(dialog.get_by_label("The link", exact=True).input_value())
    expect(page.locator(".shared-rows li")).to_have_count(2)
    expect(page.locator(".shared-rows img").first).to_be_visible()
    check_a11y(page)


def test_the_page_of_a_link_fits_a_phone_and_plays_sound(house: House, phone: Page) -> None:
    phone.goto(link_to(house, "contract.pdf", "cover.mp3", "notes/boathouse.md", label="Three files"))
    expect(phone.get_by_role("heading", name="Three files")).to_be_visible()
    check_a11y(phone)
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    phone.locator(".shared-rows li a").first.click()
    picture = phone.get_by_role("img", name="The first page")
    expect(picture).to_be_visible()
    eventually(lambda: picture.evaluate("image => image.naturalWidth > 100"))
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    phone.get_by_role("link", name="Three files").click()
    phone.locator(".shared-rows li").nth(1).get_by_role("link").first.click()
    audio = phone.locator("audio")
    eventually(lambda: audio.evaluate("sound => sound.duration > 0 && !sound.error"))
    audio.evaluate("sound => { sound.currentTime = sound.duration / 2; }")
    eventually(lambda: audio.evaluate("sound => !sound.seeking && sound.currentTime > 0"))


def test_the_page_of_a_link_is_dark_where_the_system_is(house: House, dark: Page) -> None:
    dark.goto(link_to(house, "notes/boathouse.md"))
    light = "rgb(250, 249, 246)"
    assert dark.evaluate("getComputedStyle(document.documentElement).backgroundColor") != light
    check_a11y(dark)


def test_a_search_is_saved_and_tells_what_is_new(house: House, page: Page) -> None:
    page.goto(f"{house.base}/?q=boathouse")
    page.get_by_role("button", name="Save this search").click()
    dialog = page.get_by_role("dialog", name="Save this search")
    expect(dialog).to_contain_text("boathouse")
    check_a11y(page)
    dialog.get_by_label("Name").fill("About boats & <b>")
    dialog.get_by_label("Name").press("Enter")
    strip = page.get_by_role("navigation", name="Saved searches")
    chip = strip.get_by_role("link", name="About boats & <b>")
    expect(chip).to_have_attribute("aria-current", "true")
    expect(page.locator("[data-saved]")).to_contain_text("nothing new")
    expect(page.get_by_role("button", name="Save this search")).to_have_count(0)

    house.drop("notes/fresh.md", "# Fresh paint\n\nThe boathouse was painted today, by the harbour.")
    house.settled()
    page.goto(f"{house.base}/")
    expect(chip).to_contain_text("1 new")
    assert layout_shift(page) < 0.05
    chip.click()
    expect(page.locator('[data-path="notes/fresh.md"]')).to_contain_text("New")
    expect(page.locator(".badge-new").filter(has_text=re.compile("^New$"))).to_have_count(1)
    check_a11y(page)
    page.get_by_role("button", name="Mark as seen").click()
    expect(page.locator("[data-saved]")).to_contain_text("nothing new")
    expect(strip.locator(".badge-new")).to_have_count(0)
    page.get_by_role("searchbox", name="Search the vault").fill("harbour")
    expect(page.locator("[data-saved]")).to_have_count(0)


def test_saved_searches_are_renamed_followed_by_a_feed_and_deleted(house: House, page: Page) -> None:
    house.http.post("/api/searches", json={"name": "Letters", "query": "kind:text boathouse"})
    page.goto(f"{house.base}/searches")
    row = page.locator(".sharing-row").filter(has_text="kind:text boathouse")
    row.get_by_role("button", name="Rename Letters").click()
    page.get_by_role("dialog").get_by_label("Name").fill("Notes")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(row).to_contain_text("Notes")
    row.get_by_role("button", name="Make a feed of Notes").click()
    address = page.get_by_role("dialog", name="Feed").get_by_label("The address for your feed reader")
    expect(address).to_have_value(re.compile(r"/feeds/[\w-]{51}\.atom$"))
    check_a11y(page)
    feed = address.input_value()
    assert "boathouse" in house.http.get(feed).text
    page.keyboard.press("Escape")
    expect(row).to_contain_text("has a feed")
    row.get_by_role("button", name="End the feed of Notes").click()
    expect(row).not_to_contain_text("has a feed")
    assert house.http.get(feed).status_code == 404
    row.get_by_role("button", name="Delete Notes").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row).to_have_count(0)


def test_saved_searches_fit_a_phone_and_the_dark(house: House, phone: Page, dark: Page) -> None:
    for number in range(6):
        house.http.post(
            "/api/searches", json={"name": f"A rather long name of a search {number}", "query": "kind:text"}
        )
    for page in (phone, dark):
        page.goto(f"{house.base}/")
        expect(page.get_by_role("navigation", name="Saved searches")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        check_a11y(page)
        page.goto(f"{house.base}/searches")
        expect(page.get_by_role("heading", name="Saved searches")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        check_a11y(page)

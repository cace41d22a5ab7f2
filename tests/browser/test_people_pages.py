"""The people of a vault in a real browser: playing voices, naming, merging, splitting, undoing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from running_chyme import SAMPLES, RunningChyme
from visiting import House, check_a11y, eventually, served

pytestmark = pytest.mark.slow


def fill(chyme: RunningChyme) -> None:
    for name in ("dialogue.mp3", "memo.ogg"):
        chyme.drop(name, (SAMPLES / "speech" / name).read_bytes())


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with served(tmp_path_factory.mktemp("house"), fill) as house:
        house.settled(300)
        yield house


def displayed_names(house: House) -> list[str]:
    return [person["called"] for person in house.http.get("/api/people").json()["people"]]


def test_a_person_is_played_named_merged_and_split_again(house: House, page: Page) -> None:
    page.goto(f"{house.base}/people")
    people = page.locator(".person")
    expect(people).to_have_count(len(displayed_names(house)))
    check_a11y(page)
    listen = people.first.locator(".listen")
    listen.click()
    expect(listen).to_have_attribute("aria-pressed", "true")
    listen.click()
    expect(listen).to_have_attribute("aria-pressed", "false")

    page.get_by_role("button", name="Give a name to Person 1").click()
    page.get_by_label("Name", exact=True).fill("Ada <b>")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Ada <b>")).to_be_visible()
    eventually(lambda: "Ada <b>" in displayed_names(house))
    expect(page.get_by_role("button", name="Rename Ada <b>")).to_be_focused()

    before = len(displayed_names(house))
    page.get_by_label("Choose Ada <b>").check()
    page.get_by_label("Choose Person 2").check()
    page.get_by_role("button", name="These 2 are one person").click()
    expect(people).to_have_count(before - 1)
    expect(page.get_by_role("button", name="Rename Ada <b>")).to_be_focused()
    page.locator(".toast-action").last.click()
    expect(people).to_have_count(before)
    page.get_by_role("button", name="Undo").first.click()
    expect(page.get_by_role("heading", name="Person 1")).to_be_visible()


def test_a_voice_is_moved_to_another_person_and_back(house: House, page: Page) -> None:
    page.goto(f"{house.base}/people/1")
    check_a11y(page)
    voices = page.locator(".voice")
    count = voices.count()
    page.locator("[data-move]").first.select_option(label="Person 2")
    if count == 1:
        page.wait_for_url("**/people")
    else:
        expect(voices).to_have_count(count - 1)
    page.locator(".toast-action").last.click()
    eventually(lambda: len(house.http.get("/api/people/1").json()["voices"]) == count)


def test_the_transcript_links_to_its_speaker(house: House, page: Page) -> None:
    page.goto(f"{house.base}/file/dialogue.mp3")
    page.locator(".who a").first.click()
    expect(page.locator("h1")).to_contain_text("Person")
    page.locator(".voice-file").first.click()
    expect(page.locator("[data-player]")).to_be_visible()


def test_a_transcript_that_is_replaced_is_still_searched_and_scrolled(house: House, page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")  # it scrolls at once
    page.goto(f"{house.base}/file/dialogue.mp3")
    page.set_viewport_size({"width": 1280, "height": 120})  # small, so that the transcript must be scrolled
    page.locator("#find-said").fill("the")
    found = page.locator("[data-found-count]")
    expect(found).to_contain_text("found")
    before = found.text_content() or ""
    page.evaluate("document.querySelector('[data-lines]').scrollTop = 40")
    page.locator("#find-said").blur()
    speaker = page.locator(".who a").first.get_attribute("href") or ""
    number = speaker.rsplit("/", 1)[-1]
    house.http.patch(f"/api/people/{number}", json={"name": "Grace"}).raise_for_status()
    expect(page.locator(".who a").first).to_have_text("Grace")
    expect(page.locator("#find-said")).to_have_value("the")
    expect(found).to_have_text(before)
    assert page.locator(".line.hit").count() == int(before.split()[0])
    assert page.evaluate("document.querySelector('[data-lines]').scrollTop") == 40
    house.http.post("/api/people/undo").raise_for_status()


def test_people_fit_a_phone(house: House, phone: Page) -> None:
    for address in ("/people", "/people/1"):
        phone.goto(house.base + address)
        expect(phone.locator("h1")).to_be_visible()
        assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
        check_a11y(phone)


def test_people_are_readable_in_the_dark(house: House, dark: Page) -> None:
    dark.goto(f"{house.base}/people/2")
    expect(dark.locator("h1")).to_be_visible()
    check_a11y(dark)

"""Tags and settings in a real browser: find, merge, rename, ban and undo; the doctor, the theme, and no secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from running_chyme import RunningChyme
from visiting import House, check_a11y, eventually, layout_shift, served

pytestmark = pytest.mark.slow

SECRET = "sk-not-for-anybodys-eyes"
TEXT = "The harbour of the town was built of granite, and its lantern shines over the water at night. Number {}."


def furnish(chyme: RunningChyme) -> None:
    (chyme.vault / ".chyme").mkdir()
    (chyme.vault / ".chyme/settings.toml").write_text(f'concurrency = 3\nmeilisearch_key = "{SECRET}"\n')
    for number in range(5):
        chyme.drop(f"{number}.txt", TEXT.format(number))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with served(tmp_path_factory.mktemp("tags"), furnish) as house:
        house.settled()
        tag(house, "0.txt", "harbour", "harbor", "read/write & more")
        tag(house, "1.txt", "harbour", "lantern")
        for hundred in range(3):  # more than a file may have
            tag(house, f"{hundred + 2}.txt", *(f"number {hundred}{number:02}" for number in range(100)))
        yield house


def tag(house: House, path: str, *tags: str) -> None:
    answer = house.http.patch(f"/api/files/{path}", json={"tags": list(tags)})
    assert answer.status_code == 200, answer.text


def tags_of(house: House, path: str) -> Any:
    return house.document(path)["tags"]


def row(page: Page, name: str) -> Any:
    return page.locator(".tag-row").filter(has=page.get_by_role("link", name=name, exact=True))


def test_a_tag_is_found_as_you_type_and_leads_to_its_files(house: House, page: Page) -> None:
    page.goto(f"{house.base}/tags")
    expect(page.locator(".tag-row").first).to_contain_text("harbour")
    assert page.locator(".tag-row").count() == 120
    page.keyboard.press("f")
    page.keyboard.type("write")
    expect(page.locator(".tag-row")).to_have_count(1)
    check_a11y(page)
    row(page, "read/write & more").get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"/\?tag=read%2Fwrite%20%26%20more|/\?tag=read/write%20%26%20more"))


def test_more_tags_are_loaded_by_scrolling(house: House, page: Page) -> None:
    page.goto(f"{house.base}/tags?sort=name&q=number")
    expect(page.locator(".tag-row").first).to_contain_text("number 000")
    page.mouse.move(600, 500)
    for _ in range(20):
        page.mouse.wheel(0, 3000)
        if page.locator(".tag-row").count() == 300:
            break
        page.wait_for_timeout(100)
    expect(page.locator(".tag-row")).to_have_count(300)
    expect(page.locator(".tag-more")).to_have_count(0)


def test_chosen_tags_are_merged_and_the_merge_is_undone(house: House, page: Page) -> None:
    page.goto(f"{house.base}/tags?q=harbo")
    page.get_by_role("checkbox", name="Choose harbor", exact=True).check()
    expect(page.locator("#tags-count")).to_have_text("1 tag chosen")
    expect(page.get_by_role("button", name="Merge …")).to_be_disabled()
    page.get_by_role("checkbox", name="Choose harbour", exact=True).check()
    page.get_by_role("button", name="Merge …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("radio", name="harbour")).to_be_checked()  # it is on more files
    check_a11y(page)
    dialog.get_by_role("button", name="Merge").click()
    expect(row(page, "harbor")).to_have_count(0)
    expect(row(page, "harbour").get_by_role("link")).to_be_focused()
    assert "harbor" not in tags_of(house, "0.txt")
    expect(page.locator("#tags-decided")).to_contain_text("harbor → harbour")
    page.locator("#toasts").get_by_role("button", name="Undo").click()
    expect(row(page, "harbor")).to_have_count(1)
    assert "harbor" in tags_of(house, "0.txt")


def test_a_tag_is_renamed_by_keys_alone(house: House, page: Page) -> None:
    page.goto(f"{house.base}/tags?q=lantern")
    page.get_by_role("button", name="Rename lantern").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.type("Lighthouse")
    page.keyboard.press("Enter")
    eventually(lambda: "lighthouse" in tags_of(house, "1.txt"))
    expect(page.locator("#tags-decided")).to_contain_text("lantern → lighthouse")
    expect(page.get_by_role("searchbox", name=re.compile("letters"))).to_be_focused()  # no tag has this name any more


def test_renaming_to_an_existing_tag_offers_a_merge(house: House, page: Page) -> None:
    page.goto(f"{house.base}/tags?q=number 00")
    page.get_by_role("button", name="Rename number 001").click()
    page.get_by_label("New name").fill("number 002")
    page.keyboard.press("Enter")
    dialog = page.locator("#merge-dialog")
    expect(dialog.get_by_role("radio", name="number 002")).to_be_checked()
    page.keyboard.press("Escape")
    assert "number 001" in tags_of(house, "2.txt")


def test_a_tag_is_banned_and_allowed_again(house: House, page: Page) -> None:
    house.http.post("/api/tags/ban", json={"tag": "granite quarry"})
    page.goto(f"{house.base}/tags")
    page.get_by_role("button", name="Allow granite quarry again").click()
    expect(page.locator("#toasts")).to_contain_text("unbanned “granite quarry”")
    expect(page.get_by_role("button", name="Allow granite quarry again")).to_have_count(0)
    page.get_by_role("searchbox", name=re.compile("letters")).fill("number 29")
    expect(page.locator(".tag-row")).to_have_count(10)
    page.get_by_role("button", name="Ban number 298").click()
    expect(page.locator("#tags-decided")).to_contain_text("number 298")
    expect(page.get_by_role("button", name="Ban number 298")).to_be_focused()  # it was set by hand, so it stays


def test_settings_are_listed_by_topic_and_secrets_never(house: House, page: Page) -> None:
    page.goto(f"{house.base}/settings")
    expect(page.locator("#settings-doctor .doctor-row").first).to_be_visible()
    expect(page.locator("#settings-vault")).to_contain_text(str(house.vault))
    changed = page.locator("details.topic", has=page.get_by_role("heading", name="Changed"))
    expect(changed).to_contain_text("concurrency = 3")
    expect(changed).to_contain_text("from settings.toml")
    expect(changed).to_contain_text("default: 10")
    expect(changed.locator(".setting", has_text="meilisearch_key")).to_contain_text("its value is never shown")
    assert SECRET not in page.content()
    check_a11y(page)
    page.get_by_role("searchbox", name="Find a setting").fill("robots")
    expect(page.locator(".setting:visible")).to_have_count(1)
    expect(page.locator(".setting:visible")).to_contain_text("web_robots = false")
    assert layout_shift(page) < 0.1


def test_a_line_is_copied(house: House, page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=house.base)
    page.goto(f"{house.base}/settings")
    page.get_by_role("button", name="Copy the line of concurrency").first.click()
    expect(page.locator("#toasts")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "concurrency = 3"


def test_the_theme_is_chosen_and_remembered(house: House, page: Page) -> None:
    page.goto(f"{house.base}/settings")
    page.get_by_label("Dark", exact=True).check()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.get_by_label("Dark", exact=True)).to_be_checked()
    page.get_by_label("As the system has it").check()
    expect(page.locator("html")).not_to_have_attribute("data-theme", "dark")

"""Settings are changed in a real browser: saved, tried, refused; keys stay away; private files are counted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from model_server import ModelServer, fails, says
from playwright.sync_api import Locator, Page, expect
from running_chyme import RunningChyme
from visiting import House, check_a11y, eventually, served

pytestmark = pytest.mark.slow

KEY = "sk-typed-once-and-never-shown"
LETTER = "Dear Ada, the lighthouse keeper wrote to me about the lantern and the long winter at sea. Yours, Grace"


def furnish(chyme: RunningChyme) -> None:
    (chyme.vault / ".chyme").mkdir()
    (chyme.vault / ".chyme/settings.toml").write_text("# by hand\nconcurrency = 3  # small\n")
    chyme.drop("letter.txt", LETTER)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with served(tmp_path_factory.mktemp("settings"), furnish) as house:
        house.settled()
        yield house


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer([says({"color": "blue"})]) as server:
        yield server


def opened(house: House, page: Page, topic: str) -> Locator:
    page.goto(f"{house.base}/settings")
    group = page.locator("#settings-forms details").filter(has=page.get_by_role("heading", name=topic, exact=True))
    group.locator("summary").click()
    return group


def test_a_model_is_tried_saved_and_used_without_a_restart(house: House, page: Page, model: ModelServer) -> None:
    group = opened(house, page, "Language model")
    expect(group).to_contain_text("will be sent to this address")
    group.get_by_label("llm_url").fill(model.url)
    group.get_by_label("llm_model").fill("scripted")
    group.get_by_label("llm_key").fill(KEY)
    group.get_by_role("button", name="Try it").click()
    expect(group.get_by_role("status")).to_contain_text("It works: scripted at 127.0.0.1")
    assert house.http.get("/api/ai").json()["providers"] == []
    group.get_by_role("button", name="Save").click()
    expect(page.locator("#toasts")).to_contain_text("in use from now on")
    expect(group.get_by_label("llm_key", exact=True)).to_have_value("")
    assert KEY not in page.content()
    check_a11y(page)
    assert len(house.http.get("/api/ai").json()["providers"]) == 1
    assert house.vault.joinpath(".chyme/settings.toml").read_text().startswith("# by hand\nconcurrency = 3  # small\n")
    house.drop("second.txt", LETTER.replace("lantern", "harbour"))
    model.script([fails(500)])  # it is asked about the new file, by the server that was not restarted
    eventually(lambda: model.count >= 2)
    group = opened(house, page, "Language model")
    group.get_by_label("llm_url").fill("")
    group.get_by_label("llm_model").fill("")
    group.get_by_label("Remove the stored key").check()
    group.get_by_role("button", name="Save").click()
    expect(page.locator("#toasts")).to_contain_text("in use from now on")
    eventually(lambda: house.http.get("/api/ai").json()["providers"] == [])
    house.settled()


def test_a_refused_value_is_explained_beside_its_field(house: House, phone: Page) -> None:
    phone.expected_errors = ["422", "409"]  # type: ignore[attr-defined]
    group = opened(house, phone, "Web pages")
    group.get_by_label("web_hops").fill("1.5")
    group.get_by_role("button", name="Save").click()
    expect(group.locator("#set-web_hops-problem")).to_contain_text("must be a whole number")
    expect(group.get_by_label("web_hops")).to_be_focused()
    check_a11y(phone)
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    house.http.patch("/api/settings", json={"values": {"web_delay": 2}})  # somebody else
    group.get_by_label("web_hops").fill("4")
    group.get_by_role("button", name="Save").click()
    expect(group.locator("[data-problem-of-form]")).to_contain_text("changed meanwhile")


def test_what_the_environment_sets_is_locked(house: House, page: Page) -> None:
    group = opened(house, page, "Web pages")
    expect(group.get_by_label("crawl", exact=True)).to_be_disabled()
    expect(group).to_contain_text("CHYME_CRAWL in the environment")


def test_private_files_are_counted_before_they_are_saved(house: House, dark: Page) -> None:
    group = opened(house, dark, "Private files")
    group.get_by_label("Patterns").fill("letter.*\n")
    group.get_by_role("button", name="Count the files").click()
    expect(group.get_by_role("status")).to_contain_text("1 file of")
    check_a11y(dark)
    group.get_by_role("button", name="Save").click()
    eventually(lambda: house.http.get("/api/private").json()["patterns"] == 1)

"""The page of a file in a real browser: from a search to the place, editing, failures, players, boxes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from plugin_package import install
from running_chyme import SAMPLES, RunningChyme
from visiting import House, check_a11y, eventually, layout_shift, served

pytestmark = pytest.mark.slow

NOTE = """# The boathouse

The key hangs behind the third oar.

## Winter

Turn off the water before the first frost.

- drain the pump
- lift the dinghy
"""
HOSTILE = "<img src=x onerror=alert(1)> [x](javascript:alert(2)) <script>alert(3)</script>"
FAILS_FIRST = """
class Stubborn(Digester):
    name = "stubborn"
    label = "Stubborn"
    description = "Fails as long as a file lies in the way."

    def can_digest(self, file: File) -> bool:
        return file.name.endswith(".stubborn.md")

    def digest(self, source: Source) -> list[Output]:
        from chyme.errors import UnreadableFile
        if os.path.exists(WAY):
            raise UnreadableFile("it is <b>stubborn</b>; take the file out of the way, then retry")
        return [Output(self.name, "it gave in")]
"""


def fill(chyme: RunningChyme) -> None:
    """Samples of every kind, and a plug-in that fails while a file is in its way."""
    way = chyme.folder / "in the way"
    way.touch()
    source = FAILS_FIRST.replace("WAY)", f"{str(way)!r})")
    install(chyme.site, "stubborn_digester", source, {"stubborn": "Stubborn"})
    chyme.drop("notes/boathouse.md", NOTE)
    chyme.drop("notes/mule.stubborn.md", "# A mule\n\nIt does not move.")
    chyme.drop("notes/hostile.md", HOSTILE)
    chyme.drop("broken.pdf", b"%PDF-1.4 broken")
    chyme.drop("people.csv", "name,town\nAda,Bath\nBob,York\n")
    chyme.drop("IMG_0001.bin", b"\0\1\2")
    for name in ("contract.pdf", "minutes.docx", "scenes/stop.jpg", "speech/dialogue.mp3", "speech/film.mp4"):
        chyme.drop(Path(name).name, (SAMPLES / name).read_bytes())


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with served(tmp_path_factory.mktemp("house"), fill) as house:
        house.settled(300)
        yield house


def at(house: House, path: str) -> str:
    return f"{house.base}/file/{path}"


def find(house: House, page: Page, question: str) -> None:
    """Search for it in the vault and click the passage that was found."""
    page.goto(f"{house.base}/?q={question}")
    page.locator("#results .passage", has=page.locator("mark")).first.click()
    page.wait_for_url(re.compile("/file/"))
    page.wait_for_load_state()


def test_a_hit_in_a_note_leads_to_the_marked_words(house: House, page: Page) -> None:
    find(house, page, "frost")
    expect(page.locator("mark").first).to_have_text(re.compile("frost", re.IGNORECASE))
    expect(page.locator(".found").first).to_be_in_viewport()
    check_a11y(page)


def test_a_hit_in_a_pdf_leads_to_its_page_which_stays_after_a_new_digest(house: House, page: Page) -> None:
    find(house, page, "deposit")
    sheet = page.locator("[data-sheet]")
    expect(sheet).to_have_attribute("alt", "Page 2")
    page.get_by_role("button", name="Next page").click()
    expect(sheet).to_have_attribute("alt", "Page 3")
    sheet.evaluate(
        """one => {
            one.old = true;
            one.closest("[data-part]").dataset.version = "older";
            document.dispatchEvent(new CustomEvent("chyme:digest", {detail: {path: "contract.pdf"}}));
        }"""
    )
    page.wait_for_function("() => !document.querySelector('[data-sheet]').old")  # its part was loaded again
    expect(sheet).to_have_attribute("alt", "Page 3")


def test_pages_are_turned_by_button_key_and_number(house: House, page: Page) -> None:
    page.goto(f"{at(house, 'contract.pdf')}?page=2&box=0.1,0.1,0.4,0.2")
    sheet = page.locator("[data-sheet]")
    expect(sheet).to_have_attribute("alt", "Page 2")
    expect(page.locator("#found")).to_be_visible()
    page.get_by_role("button", name="Previous page").click()
    expect(sheet).to_have_attribute("alt", "Page 1")
    expect(page.locator("#found")).to_be_hidden()
    expect(page.get_by_role("button", name="Previous page")).to_be_disabled()
    page.locator("[data-paper]").focus()
    page.keyboard.press("ArrowRight")
    expect(sheet).to_have_attribute("alt", "Page 2")
    page.get_by_label("Page", exact=True).fill("1")
    page.get_by_label("Page", exact=True).press("Enter")
    expect(sheet).to_have_attribute("alt", "Page 1")
    eventually(lambda: page.evaluate("document.querySelector('[data-sheet]').naturalWidth") >= 1000)
    assert "page=1" in page.url
    check_a11y(page)


def test_an_edit_is_visible_at_once_outlives_a_reset_and_is_undone(house: House, page: Page) -> None:
    page.goto(at(house, "notes/boathouse.md"))
    page.get_by_role("button", name="Edit the title").click()
    page.get_by_label("Title", exact=True).fill("Where the key hangs")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Where the key hangs")
    expect(page.get_by_text("The title is “Where the key hangs” now")).to_be_visible()
    eventually(lambda: house.document("notes/boathouse.md")["title"] == "Where the key hangs")
    assert house.http.post("/api/digest/notes/boathouse.md").json()["document"]["title"] == "Where the key hangs"
    page.reload()
    expect(page.locator("h1")).to_have_text("Where the key hangs")
    page.get_by_text("What the machine said").click()
    expect(page.locator(".said")).to_contain_text("The boathouse")
    page.get_by_role("button", name="Undo the last change").click()
    expect(page.locator("h1")).to_have_text("The boathouse")
    expect(page.get_by_role("button", name="Undo the last change")).to_have_count(0)


def test_escape_leaves_the_title_alone_and_focus_where_it_was(house: House, page: Page) -> None:
    page.goto(at(house, "minutes.docx"))
    before = page.locator("h1").inner_text()
    page.keyboard.press("e")
    page.get_by_label("Title", exact=True).fill("something else")
    page.keyboard.press("Escape")
    expect(page.locator("h1")).to_have_text(before)
    expect(page.get_by_role("button", name="Edit the title")).to_be_focused()


def test_an_invalid_date_stays_in_its_field_with_the_reason(house: House, page: Page) -> None:
    page.expected_errors = ["400 (Bad Request)"]  # type: ignore[attr-defined]
    page.goto(at(house, "people.csv"))
    page.get_by_role("button", name="Edit the date").click()
    page.get_by_label("Date, as in").fill("tomorrow")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("is no date")
    expect(page.get_by_label("Date, as in")).to_have_value("tomorrow")
    expect(page.get_by_label("Date, as in")).to_be_focused()
    check_a11y(page)
    page.get_by_label("Date, as in").fill("2024-05")
    expect(page.get_by_role("alert")).to_have_count(0)
    page.keyboard.press("Enter")
    eventually(lambda: house.document("people.csv")["date"] == "2024-05")
    page.locator(".toast-action").last.click()
    eventually(lambda: house.document("people.csv")["date"] != "2024-05")


def test_tags_are_added_and_removed(house: House, page: Page) -> None:
    page.goto(at(house, "minutes.docx"))
    page.get_by_label("Add a tag").fill("Harbour")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Remove the tag harbour")).to_be_visible()
    expect(page.get_by_label("Add a tag")).to_be_focused()
    page.get_by_role("button", name="Remove the tag harbour").click()
    expect(page.get_by_role("button", name="Remove the tag harbour")).to_have_count(0)
    eventually(lambda: "harbour" not in house.document("minutes.docx")["tags"])


def test_a_tag_that_is_refused_stays_in_its_field_with_the_reason(house: House, page: Page) -> None:
    page.expected_errors = ["400 (Bad Request)"]  # type: ignore[attr-defined]
    page.goto(at(house, "minutes.docx"))
    page.get_by_label("Add a tag").fill("one, two")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Add a tag")).to_have_value("one, two")
    expect(page.locator(".tag-list")).not_to_contain_text("one, two")


def test_the_effect_of_undo_is_visible_while_a_field_is_being_edited(house: House, page: Page) -> None:
    page.goto(at(house, "IMG_0001.bin"))
    page.get_by_label("Add a tag").fill("Lighthouse")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Remove the tag lighthouse")).to_be_visible()
    page.get_by_role("button", name="Edit the date").click()
    page.get_by_role("button", name="Undo the last change").click()
    expect(page.get_by_role("button", name="Remove the tag lighthouse")).to_have_count(0)
    expect(page.get_by_label("Date, as in")).to_have_count(0)
    expect(page.locator("[data-part=details] :focus")).to_have_count(1)


def test_a_retry_that_fails_again_says_so_and_keeps_the_focus(house: House, page: Page) -> None:
    page.goto(at(house, "broken.pdf"))
    page.get_by_role("button", name="Retry processing").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("It is being tried again")).to_be_visible()
    expect(page.get_by_text("It failed again: ")).to_be_visible()
    expect(page.get_by_role("button", name="Retry processing")).to_be_focused()


def test_a_retry_whose_end_is_noticed_without_an_event_says_why_too(house: House, page: Page) -> None:
    page.route("**/api/events*", lambda route: None)  # no event arrives
    page.goto(at(house, "broken.pdf"))
    page.get_by_role("button", name="Retry processing").click()
    expect(page.get_by_text("It is being tried again")).to_be_visible()
    house.settled()
    begun = "{detail: {path: 'broken.pdf', status: 'processing'}}"
    page.evaluate(f"document.dispatchEvent(new CustomEvent('chyme:document', {begun}))")
    expect(page.get_by_text("It failed again: ")).to_be_visible()


def test_the_page_of_a_moved_file_says_where_it_is_now(house: House, page: Page) -> None:
    page.expected_errors = ["404"]  # type: ignore[attr-defined]
    house.drop("wanderer.md", "# A wanderer\n\nIt never stays.")
    eventually(lambda: house.http.get("/api/digest/wanderer.md").status_code == 200)
    house.settled()
    page.goto(at(house, "wanderer.md"))
    (house.vault / "wanderer.md").rename(house.vault / "notes/wanderer.md")
    expect(page.get_by_role("heading", name="This file is not here any more")).to_be_visible()
    expect(page.get_by_role("button", name="Delete")).to_have_count(0)
    eventually(lambda: house.http.get("/api/digest/notes/wanderer.md").status_code == 200)
    page.get_by_role("link", name="To its new place").click()
    expect(page.locator("h1")).to_have_text("A wanderer")


def test_a_failure_is_red_and_says_what_next(house: House, dark: Page) -> None:
    dark.goto(at(house, "broken.pdf"))
    state = dark.locator("[data-part=state]")
    expect(state).to_contain_text("This file could not be digested.")
    expect(state).to_contain_text("What next: open it in its own program")
    expect(state.get_by_role("button", name="Retry processing")).to_be_visible()
    check_a11y(dark)


def test_a_failed_digest_is_run_again_and_completes_without_a_reload(house: House, page: Page) -> None:
    page.goto(at(house, "notes/mule.stubborn.md"))
    card = page.locator('[data-part="digest stubborn"]')
    expect(card).to_contain_text("It is <b>stubborn</b>")
    expect(card.locator(".badge")).to_have_text("failed")
    page.get_by_label("Add a tag").fill("half a ta")
    (house.chyme.folder / "in the way").unlink()
    card.get_by_role("button", name="Re-run").click()
    expect(card.locator(".badge")).to_have_text("completed")
    expect(card.get_by_role("button", name="Re-run")).to_be_focused()
    expect(card).to_have_attribute("data-status", "completed")
    expect(page.get_by_label("Add a tag")).to_have_value("half a ta")
    card.get_by_text("What it holds").click()
    expect(card).to_contain_text("it gave in")


def test_a_file_is_watched_from_dropped_to_digested(house: House, page: Page) -> None:
    house.drop("fresh.md", "# Fresh bread\n\nIt rises in the morning.")
    eventually(lambda: house.http.get("/api/digest/fresh.md").status_code == 200)
    page.goto(at(house, "fresh.md"))
    expect(page.locator("h1")).to_have_text("Fresh bread")
    expect(page.locator("[data-part=state]")).to_have_attribute("data-state", "completed")
    assert layout_shift(page) < 0.1


def test_a_hit_in_a_recording_leads_to_the_second_and_words_play(house: House, page: Page) -> None:
    find(house, page, "telescope")
    media = page.locator("[data-media]")
    eventually(lambda: media.evaluate("one => one.currentTime") > 0.5)
    expect(page.locator(".line.target")).to_contain_text("telescope")
    expect(page.locator(".line.target")).to_be_in_viewport()
    line = page.locator(".line", has_text="bicycles")
    line.hover()
    line.locator(".w", has_text="bicycles").click()
    start = float(line.get_attribute("data-start") or 0)
    eventually(lambda: media.evaluate("one => one.currentTime") > start)
    expect(line).to_have_class(re.compile(r"\bnow\b"))
    page.locator("h1").click()
    page.keyboard.press(" ")
    eventually(lambda: media.evaluate("one => one.paused"))
    before = media.evaluate("one => one.currentTime")
    page.keyboard.press("ArrowLeft")
    eventually(lambda: media.evaluate("one => one.currentTime") < before - 1)
    page.get_by_label("Find in what is said").fill("moon")
    expect(page.locator("[data-found-count]")).to_have_text("1 found")
    page.get_by_label("Speed").select_option("1.5")
    assert media.evaluate("one => one.playbackRate") == 1.5
    check_a11y(page)


def test_a_film_has_its_subtitles(house: House, page: Page) -> None:
    page.goto(at(house, "film.mp4"))
    video = page.locator("video")
    eventually(lambda: video.evaluate("one => one.readyState >= 1 && one.textTracks[0].cues?.length > 0"))
    check_a11y(page)


def test_boxes_are_displayed_with_labels_of_their_content(house: House, page: Page) -> None:
    find(house, page, "stop")
    expect(page.locator("#found")).to_be_visible()
    page.locator("[data-show=objects]").click()
    thing = page.locator("[data-layer=objects] .box").first
    thing.hover()
    expect(page.locator("[data-label]")).to_contain_text("stop sign")
    page.locator("[data-show=objects]").click()
    expect(thing).to_be_hidden()
    picture = page.locator(".sheet-box img").bounding_box()
    overlay = page.locator(".boxes").bounding_box()
    assert picture and overlay and abs(picture["width"] - overlay["width"]) < 1 and abs(picture["x"] - overlay["x"]) < 1
    check_a11y(page)


@pytest.mark.parametrize(
    "path",
    ["contract.pdf", "minutes.docx", "stop.jpg", "dialogue.mp3", "film.mp4", "notes/boathouse.md", "people.csv",
     "broken.pdf", "IMG_0001.bin"],
)  # fmt: skip
def test_every_kind_fits_a_phone(house: House, phone: Page, path: str) -> None:
    phone.goto(at(house, path))
    expect(phone.locator("h1")).to_be_visible()
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    check_a11y(phone)


def test_hostile_words_do_nothing(house: House, page: Page) -> None:
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
    page.goto(at(house, "notes/hostile.md"))
    expect(page.locator("[data-text]")).to_contain_text("<script>alert(3)</script>")
    assert page.locator("[data-text] img, [data-text] script, [data-text] a").count() == 0


def test_a_deleted_file_can_be_restored(house: House, page: Page) -> None:
    house.drop("passing.md", "# Passing")
    eventually(lambda: house.http.get("/api/digest/passing.md").status_code == 200)
    house.settled()
    page.goto(at(house, "passing.md"))
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", name="“passing.md” is in the trash")).to_be_visible()
    assert not (house.vault / "passing.md").exists()
    page.get_by_role("button", name="Bring it back").click()
    expect(page.locator("h1")).to_have_text("Passing")
    assert (house.vault / "passing.md").exists()


def test_going_back_from_a_renamed_file_skips_its_old_name(house: House, page: Page) -> None:
    house.drop("scan0001.md", "# The lighthouse keeper\n\nHe counts the ships.")
    eventually(lambda: house.http.get("/api/digest/scan0001.md").status_code == 200)
    house.settled()
    page.goto(f"{house.base}/tags")
    page.goto(at(house, "scan0001.md"))
    page.get_by_role("button", name="Rename it").click()
    expect(page.locator("#toasts")).to_contain_text("It is called")
    expect(page).to_have_url(re.compile("lighthouse-keeper"))
    page.go_back()
    expect(page).to_have_url(re.compile("/tags$"))


def test_a_file_that_is_not_here_says_so(house: House, page: Page) -> None:
    page.expected_errors = ["404"]  # type: ignore[attr-defined]
    page.goto(at(house, "nope.pdf"))
    expect(page.get_by_role("heading", name="This file is not here")).to_be_visible()
    check_a11y(page)

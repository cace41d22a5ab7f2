"""The vault in a real browser: adding, live cards, search as you type, filters, keys, phone, dark theme."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Page, Route, expect
from running_chyme import RunningChyme
from visiting import House, check_a11y, eventually, layout_shift, script, served

pytestmark = pytest.mark.slow

HARBOUR = "# Harbour light\n\nThe lighthouse keeper of Skarholm winds the clock every evening.\n"
LEASE = "# Lease of the workshop\n\nThe rent is 640 crowns a month, due on the first working day.\n"
BROKEN = b"%PDF-1.4\n1 0 obj <<broken\n%%EOF"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
OTHERS = 70  # more than fit on one sheet


def furnish(chyme: RunningChyme) -> None:
    chyme.settings |= {"CHYME_UPLOAD_BYTES": "2000000"}
    chyme.drop("letters/harbour.md", HARBOUR)
    chyme.drop("contracts/lease.md", LEASE)
    chyme.drop("broken.pdf", BROKEN)
    chyme.drop("torn.png", PIXEL[:30])
    for number in range(OTHERS):
        chyme.drop(f"parts/part {number:02}.dat", bytes([0, 255, number]))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with served(tmp_path_factory.mktemp("vault"), furnish) as house:
        eventually(lambda: house.http.get("/api/status").json()["files"] == OTHERS + 4)
        house.settled()
        yield house


def card(path: str) -> str:
    return f'#results [data-path="{path}"]'


def same_page(page: Page) -> bool:
    """Whether the page was not reloaded since `stay` was called."""
    return bool(page.evaluate("window.stayed === true"))


def mark_page(page: Page) -> None:
    page.evaluate("window.stayed = true")


def test_an_added_file_displays_its_progress_and_appears_without_a_reload(house: House, page: Page) -> None:
    page.goto(house.base + "/")
    mark_page(page)
    page.get_by_role("button", name="Add", exact=True).first.click()
    expect(page.get_by_role("dialog", name="Add to the vault")).to_be_visible()
    check_a11y(page)
    note = b"# Gulls of the pier\n\nA list of gulls.\n"
    page.set_input_files("#add-input", {"name": "gulls.md", "mimeType": "text/markdown", "buffer": note})
    new = page.locator(card("gulls.md"))
    expect(new).to_be_visible()
    expect(page.get_by_text("1 file added.")).to_be_visible()
    expect(page.locator(card("gulls.md") + "[data-state=completed]")).to_be_visible()
    expect(new.locator(".tile-title")).to_have_text("Gulls of the pier")
    expect(page.locator("#results [data-path]").first).to_have_attribute("data-path", "gulls.md")
    expect(page.locator("#status")).to_have_attribute("data-mood", "done")
    (house.vault / "gulls.md").unlink()
    expect(new).to_have_count(0)  # it disappears without a reload, too
    assert same_page(page)


def test_files_dropped_anywhere_go_into_the_displayed_folder(house: House, page: Page) -> None:
    page.goto(house.base + "/?folder=contracts")
    drag = """kind => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File(["The boat shed is let to nobody."], "boat shed.txt", {type: "text/plain"}));
        document.body.dispatchEvent(new DragEvent(kind, {dataTransfer, bubbles: true, cancelable: true}));
    }"""
    page.evaluate(drag, "dragenter")
    expect(page.get_by_text("Drop to add to contracts")).to_be_visible()
    page.evaluate(drag, "drop")
    expect(page.locator("#drop")).to_be_hidden()
    expect(page.locator(card("contracts/boat shed.txt"))).to_be_visible()
    assert (house.vault / "contracts/boat shed.txt").read_text() == "The boat shed is let to nobody."


def test_links_and_notes_are_added_by_pasting(house: House, page: Page) -> None:
    page.goto(house.base + "/?folder=letters")
    paste = """text => {
        const clipboardData = new DataTransfer(); clipboardData.setData("text/plain", text);
        document.body.dispatchEvent(new ClipboardEvent("paste", {clipboardData, bubbles: true, cancelable: true}));
    }"""
    page.evaluate(paste, "https://harbour.example/tides")
    expect(page.locator("#add-url")).to_have_value("https://harbour.example/tides")
    page.get_by_role("button", name="Add link").click()
    expect(page.get_by_text("Link added.")).to_be_visible()
    expect(page.locator('#results [data-path^="letters/"][data-path$=".url"]')).to_be_visible()
    page.evaluate(paste, "Remember the lantern oil.\nTwo cans.")
    expect(page.locator("#add-text")).to_have_value("Remember the lantern oil.\nTwo cans.")
    page.get_by_role("button", name="Add note").click()
    expect(page.get_by_text("Note added.")).to_be_visible()
    expect(page.locator('#results [data-path*="antern"]')).to_be_visible()
    assert list((house.vault / "letters").glob("*antern*"))


def test_the_reason_for_a_refused_file_is_beside_its_name(house: House, page: Page) -> None:
    page.goto(house.base + "/?folder=.chyme")
    page.expected_errors.append("400")  # type: ignore[attr-defined]
    page.keyboard.press("n")
    page.set_input_files("#add-input", {"name": "x.txt", "mimeType": "text/plain", "buffer": b"x"})
    expect(page.locator(".upload-why")).to_be_visible()
    expect(page.get_by_text("Not added")).to_be_visible()


def test_a_file_that_is_too_large_is_not_even_sent(house: House, page: Page) -> None:
    page.goto(house.base + "/")
    page.keyboard.press("n")
    page.set_input_files("#add-input", {"name": "film.mp4", "mimeType": "video/mp4", "buffer": bytes(2_000_001)})
    expect(page.locator(".upload-why")).to_have_text("It is larger than 2.0 MB, the upload limit (upload_bytes).")
    page.set_input_files("#add-input", {"name": "small.txt", "mimeType": "text/plain", "buffer": b"It fits."})
    expect(page.locator(card("small.txt"))).to_be_visible()


def test_a_refused_file_among_hundreds_is_reported(house: House, page: Page) -> None:
    page.goto(house.base + "/?folder=many")
    page.keyboard.press("n")
    names = ["film.mp4", *(f"{number}.txt" for number in range(204))]
    files = [FilePayload(name=name, mimeType="text/plain", buffer=name.encode()) for name in names]
    files[0]["buffer"] = bytes(2_000_001)
    page.set_input_files("#add-input", files)
    eventually(lambda: len(list((house.vault / "many").glob("*.txt"))) == 204)
    expect(page.locator("[data-failed]")).to_have_count(1)
    expect(page.locator(".upload-why")).to_contain_text("It is larger than 2.0 MB")


def test_a_hidden_tab_takes_no_connection(house: House, page: Page) -> None:
    streams: list[str] = []
    page.on("request", lambda request: streams.append(request.url) if "/api/events" in request.url else None)
    page.add_init_script("Object.defineProperty(document, 'hidden', {get: () => !window.looked, configurable: true})")
    page.goto(house.base + "/")
    page.wait_for_timeout(300)
    assert not streams
    page.evaluate("window.looked = true; document.dispatchEvent(new Event('visibilitychange'))")
    eventually(lambda: page.evaluate("true") and streams)


def test_events_are_requested_once_every_script_is_loaded(house: House, page: Page) -> None:
    streams: list[str] = []
    late: list[Route] = []
    page.on("request", lambda request: streams.append(request.url) if "/api/events" in request.url else None)
    page.route("**/scripts/vault.js", lambda route, _: late.append(route))
    page.goto(house.base + "/", wait_until="commit")
    eventually(lambda: page.evaluate("true") and late)

    def frame_runs() -> bool:
        page.locator("[data-theme-toggle]").first.click()
        return page.locator("html").get_attribute("data-theme") is not None

    eventually(frame_runs)
    assert not streams
    late[0].continue_()
    eventually(lambda: page.evaluate("true") and streams)


def test_a_page_from_the_browsers_cache_receives_events_again(house: House, page: Page) -> None:
    streams: list[str] = []
    page.on("request", lambda request: streams.append(request.url) if "/api/events" in request.url else None)
    page.goto(house.base + "/?folder=back")
    eventually(lambda: page.evaluate("true") and len(streams) == 1)
    for kind in ("pagehide", "pageshow"):
        page.evaluate(f"dispatchEvent(new PageTransitionEvent('{kind}', {{persisted: true}}))")
    eventually(lambda: page.evaluate("true") and len(streams) == 2)
    house.drop("back/again.md", "It came after the page did.")
    expect(page.locator(card("back/again.md"))).to_be_visible()


def test_hits_appear_while_typing_and_lead_to_their_place(house: House, page: Page) -> None:
    page.goto(house.base + "/")
    mark_page(page)
    page.keyboard.press("/")
    page.keyboard.type("lightho", delay=30)
    hit = page.locator(card("letters/harbour.md"))
    expect(hit.locator("mark")).to_have_text(["lighthouse"])  # found by words only, while unfinished
    page.wait_for_timeout(600)
    expect(hit).to_be_visible()  # it also stays during a pause within a word
    page.keyboard.type("use clcok", delay=30)
    expect(page.get_by_text("Nothing has clcok; showing clock")).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?q=lighthouse\+clcok$"))
    expect(page.locator("#results .badge", has_text="words").first).to_be_visible()
    assert same_page(page)
    page.keyboard.press("ArrowDown")
    expect(hit.locator(".tile-link")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#search")).to_have_value("")
    expect(page.locator(".tiles .tile").first).to_be_visible()  # the whole vault again
    page.go_back()
    page.go_forward()
    page.goto(house.base + "/?q=zzxqy+kwyjibo")
    expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
    page.goto(house.base + "/?q=lighthouse")
    page.locator(card("letters/harbour.md") + " .tile-link").press("Enter")
    expect(page).to_have_url(re.compile(r"/file/letters/harbour\.md\?.*q=lighthouse"))


def test_a_focused_hit_keeps_the_focus_when_the_full_view_arrives(house: House, page: Page) -> None:
    page.goto(house.base + "/?q=lighthouse")
    waiting: list[Route] = []
    page.route(re.compile(r"/ui/vault\?q=lighthouse"), lambda route: waiting.extend([route]))
    hit = page.locator(card("letters/harbour.md"))
    page.locator("#search").press("Enter")
    eventually(lambda: page.evaluate("true") and waiting)
    page.keyboard.press("ArrowDown")
    expect(hit.locator(".tile-link")).to_be_focused()
    with page.expect_response(re.compile(r"/ui/vault\?q=lighthouse")):
        waiting[0].continue_()
    expect(page.locator("#results.waiting")).to_have_count(0)
    expect(hit.locator(".tile-link")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#search")).to_be_focused()


def test_an_older_answer_never_replaces_a_newer_answer(house: House, page: Page) -> None:
    page.goto(house.base + "/")
    waiting: list[Route] = []
    page.route(re.compile(r"/ui/hits\?q=rent"), lambda route: waiting.extend([route]))
    page.locator("#search").press_sequentially("rent", delay=5)
    page.wait_for_timeout(250)  # long enough to send the request, too short to finish
    with page.expect_response(re.compile(r"/ui/vault\?q=lighthouse")):
        page.locator("#search").fill("lighthouse")
    expect(page.locator(card("letters/harbour.md"))).to_be_visible()
    assert waiting
    waiting[0].continue_()
    page.wait_for_timeout(700)
    expect(page.locator(card("contracts/lease.md"))).to_have_count(0)
    expect(page.locator(card("letters/harbour.md"))).to_be_visible()


def test_filters_and_order_change_the_list_and_going_back_restores_it(house: House, page: Page) -> None:
    page.goto(house.base + "/")
    mark_page(page)
    page.locator(".kinds").get_by_role("link", name=re.compile("Documents")).click()
    expect(page.locator("#results [data-path]")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"\?kind=document$"))
    expect(page.locator(".kinds a[aria-current]")).to_be_focused()
    page.go_back()
    expect(page.locator("#results [data-path]")).not_to_have_count(1)
    page.get_by_role("button", name="Table").click()
    expect(page.get_by_role("columnheader", name="Title")).to_be_visible()
    page.get_by_role("columnheader", name="Title").get_by_role("link").click()
    expect(page.get_by_role("columnheader", name="Title")).to_have_attribute("aria-sort", "ascending")
    first = page.locator("#results tbody tr").first.get_attribute("data-path")
    page.get_by_role("columnheader", name="Title").get_by_role("link").click()
    expect(page.get_by_role("columnheader", name="Title")).to_have_attribute("aria-sort", "descending")
    assert page.locator("#results tbody tr").first.get_attribute("data-path") != first
    assert same_page(page)
    check_a11y(page)
    page.goto(house.base + "/")
    expect(page.locator("table.lines")).to_be_visible()  # the view is remembered


def test_more_of_the_list_is_loaded_by_scrolling(house: House, page: Page) -> None:
    page.goto(house.base + "/?folder=parts&sort=name&dir=up")
    page.mouse.move(600, 400)
    page.mouse.wheel(0, 1500)
    expect(page.locator("#results .sheet")).to_have_count(2)  # fetched as soon as the end is near
    found = page.locator("#results [data-path]").evaluate_all("all => all.map(one => one.dataset.path)")
    assert found == [f"parts/part {number:02}.dat" for number in range(OTHERS)]
    expect(page.locator(".more")).to_have_count(0)


def test_a_picture_that_cannot_be_read_is_red_on_its_card_and_on_its_page(house: House, page: Page) -> None:
    page.goto(house.base + "/?kind=image")
    torn = page.locator(card("torn.png"))
    expect(torn).to_have_attribute("data-state", "failed")
    expect(torn.locator(".badge-red")).to_have_text("Failed")
    expect(torn.get_by_role("button", name="Retry processing")).to_be_visible()
    expect(torn.locator(".tile-title")).to_have_text("torn.png")
    why = torn.locator(".tile-why").inner_text()
    torn.locator(".tile-title").click()
    notice = page.locator("[data-part=state] .notice-red")
    expect(notice).to_contain_text(why.split(";")[0])
    expect(notice.get_by_role("button", name="Retry processing")).to_be_visible()
    expect(page.locator(".notice-amber")).to_have_count(0)


def test_a_failed_file_is_red_with_the_reason_and_a_retry_button(house: House, page: Page) -> None:
    page.goto(house.base + "/?kind=document")
    red = page.locator(card("broken.pdf"))
    expect(red).to_have_attribute("data-state", "failed")
    expect(red.locator(".badge-red")).to_have_text("Failed")
    expect(red.locator(".tile-why")).to_contain_text("PDF is broken")
    mark_page(page)
    with page.expect_response(re.compile(r"/api/documents/broken\.pdf/reprocess$")) as response:
        red.get_by_role("button", name="Retry processing").click()
    assert response.value.ok and response.value.json()["success"]
    expect(page.get_by_text("Trying again.")).to_be_visible()
    house.settled()
    expect(red.get_by_role("button", name="Retry processing")).to_be_enabled()
    house.drop("broken.pdf", (Path(__file__).parents[1] / "samples/contract.pdf").read_bytes())
    expect(page.locator(card("broken.pdf") + "[data-state=completed] img")).to_be_visible(timeout=90_000)
    assert same_page(page)


def test_everything_can_be_done_from_the_keyboard(house: House, page: Page) -> None:
    page.goto(house.base + "/?folder=parts&sort=name&dir=up")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("ArrowRight")
    expect(page.locator(card("parts/part 01.dat") + " .tile-link")).to_be_focused()
    page.keyboard.press("x")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+X")
    expect(page.locator("#actions")).to_contain_text("3 selected")
    expect(page.locator("#results :checked")).to_have_count(3)
    check_a11y(page)
    page.get_by_role("button", name="Delete").press("Enter")
    expect(page.get_by_text("3 files are in the trash.")).to_be_visible()
    expect(page.locator(card("parts/part 02.dat"))).to_have_count(0)
    assert not (house.vault / "parts/part 02.dat").exists()
    page.get_by_role("button", name="Undo").press("Enter")
    expect(page.locator(card("parts/part 02.dat"))).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Help and keys")).to_contain_text("Select the file")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("a")
    expect(page).to_have_url(house.base + "/activity")


def test_a_selection_or_all_hits_are_digested_again_after_the_cost_is_displayed(house: House, page: Page) -> None:
    page.goto(house.base + "/?folder=letters")
    page.locator(card("letters/harbour.md")).locator("[data-select]").check(force=True)
    page.get_by_role("button", name=re.compile("^Select all ")).click()
    page.get_by_role("button", name="Digest again").click()
    dialog = page.get_by_role("dialog", name="Digest again")
    expect(dialog.locator("[data-plan]")).to_contain_text("will be made again")
    dialog.get_by_label("What to make again").select_option("search-keyword")
    expect(dialog.locator("[data-plan]")).to_contain_text(re.compile(r"^\d+ digests? of \d+ files? "))
    dialog.get_by_role("button", name="Start").click()
    expect(page.get_by_text("Started.")).to_be_visible()
    expect(page.locator("#actions")).to_be_hidden()
    house.settled()


def test_a_phone_has_two_columns_a_bar_below_and_filters_in_a_sheet(house: House, phone: Page) -> None:
    phone.goto(house.base + "/?folder=letters")
    expect(phone.locator(".tabbar")).to_be_visible()
    expect(phone.locator(".rail")).to_be_hidden()
    assert (
        phone.evaluate("getComputedStyle(document.querySelector('.tiles')).gridTemplateColumns.split(' ').length") == 2
    )
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    phone.get_by_role("button", name="Filters").tap()
    expect(phone.locator("#filters")).to_be_visible()
    check_a11y(phone)
    phone.locator("#filters").get_by_role("button", name="Close").tap()
    expect(phone.locator("#filters")).to_be_hidden()
    phone.get_by_role("button", name="More").tap()
    more = phone.get_by_role("dialog", name="More")
    expect(more.get_by_role("link", name="Tags")).to_be_visible()
    expect(more.get_by_role("link", name="Trash")).to_be_visible()
    more.get_by_role("button", name="Help").tap()
    expect(phone.get_by_role("dialog", name="Help and keys")).to_contain_text("kind:image")


def test_counts_follow_changes_of_the_files(house: House, page: Page) -> None:
    page.goto(house.base + "/?folder=counted")
    house.drop("counted/below/one.md", "The first of them.")
    texts = page.locator(".kinds").get_by_role("link", name=re.compile("Texts"))
    expect(page.locator(card("counted/below/one.md"))).to_be_visible()
    expect(texts.locator(".count")).to_have_text("1")
    expect(page.locator(".facet", has_text="Folders").locator(".count")).to_have_text("1")
    house.drop("counted/below/two.md", "The second of them.")
    expect(texts.locator(".count")).to_have_text("2")
    expect(page.locator(".vault-total")).to_have_text(re.compile(r"2\s+files"))
    house.settled()
    expect(page.locator(".facet", has_text="State")).to_contain_text(re.compile(r"Ready\s*2"))


def test_a_selection_is_dropped_with_its_view(house: House, page: Page) -> None:
    page.goto(house.base + "/?folder=parts")
    page.locator(card("parts/part 05.dat")).locator("[data-select]").check(force=True)
    expect(page.locator("#actions")).to_contain_text("1 selected")
    page.locator("#sort").select_option(label="Name")
    expect(page).to_have_url(re.compile("sort=name"))
    expect(page.locator("#actions")).to_be_visible()  # the same files in another order
    page.locator(".kinds").get_by_role("link", name=re.compile("Documents|Texts")).first.click()
    expect(page.locator("#actions")).to_be_hidden()
    page.go_back()
    expect(page.locator("#results :checked")).to_have_count(0)


def test_going_back_and_reloading_lead_to_the_same_place(house: House, page: Page) -> None:
    page.goto(house.base + "/?folder=parts&sort=name&dir=up")
    page.mouse.move(600, 400)
    page.mouse.wheel(0, 1500)
    expect(page.locator("#results .sheet")).to_have_count(2)
    last = page.locator(card("parts/part 68.dat"))
    last.scroll_into_view_if_needed()
    eventually(lambda: page.evaluate("history.state?.sheets") == 2)
    page.wait_for_timeout(300)
    before = last.evaluate("one => one.getBoundingClientRect().top")
    for leave in ("reload", "go back"):
        if leave == "reload":
            page.reload()
        else:
            last.locator(".tile-link").click()
            page.go_back()
        expect(page.locator("#results .sheet")).to_have_count(2)
        eventually(lambda: abs(last.evaluate("one => one.getBoundingClientRect().top") - before) < 5)


def test_only_the_newest_change_can_be_undone(house: House, page: Page) -> None:
    page.goto(house.base + "/file/letters/harbour.md")
    toasts = page.locator("#toasts .toast")
    load = f"""Promise.all([import("{script(page, "server")}"), import("{script(page, "toasts")}")])
        .then(([server, toasts]) => Object.assign(window, {{...server, ...toasts}}))"""
    page.evaluate(f"{load}.then(() => null)")
    page.evaluate("showToast('Files are in the trash.', {label: 'Undo', action() {}, specificUndo: true}) && null")
    change = """async ([body, words]) => {
        await callApi("PATCH", "/api/files/letters/harbour.md", body);
        if (words) showToast(words, {label: "Undo", action() {}});
    }"""
    page.evaluate(change, [{"add_tags": ["alpha"]}, "Tagged alpha"])
    page.evaluate(change, [{"add_tags": ["beta"]}, "Tagged beta"])
    expect(toasts).to_have_text([re.compile("in the trash"), re.compile("Tagged beta")])  # the first knows its files
    page.evaluate("callApi('POST', '/api/files/letters/harbour.md/undo')")
    expect(toasts).to_have_text([re.compile("in the trash")])  # undone elsewhere, so nothing else can be undone
    page.evaluate("showProblem(new Error('letters/harbour.md: there is nothing to undo')) && null")
    expect(page.get_by_text("There is nothing left to undo.")).to_be_visible()
    expect(page.locator(".toast-red")).to_have_count(0)


def test_a_signed_out_user_returns_to_the_page_and_learns_what_was_not_saved(tmp_path: Path, page: Page) -> None:
    def lock(chyme: RunningChyme) -> None:
        chyme.drop("letters/harbour.md", HARBOUR)
        added = chyme.run("users", "add", "ada", "--password-stdin", typed="a long enough password\n")
        assert added.code == 0, added.err

    def sign_in() -> None:
        page.get_by_label("Name").fill("ada")
        page.get_by_label("Password").fill("a long enough password")
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("#vault [data-path]")).to_be_visible()
        page.wait_for_load_state()  # before that, keys have no effect

    page.expected_errors.append("401")  # type: ignore[attr-defined]
    with served(tmp_path, lock) as house:
        page.goto(house.base + "/?folder=letters")
        sign_in()
        page.context.clear_cookies()
        page.keyboard.press("n")
        page.get_by_role("tab", name="Note").click()
        page.locator("#add-text").fill("Something long.")
        page.get_by_role("button", name="Add note").click()
        expect(page.locator("#add-problem")).to_have_text("You are signed out, so this was not saved.")
        expect(page.locator("#add-text")).to_have_value("Something long.")  # it can still be copied
        page.keyboard.press("Escape")
        page.locator(".toast-red").get_by_role("button", name="Sign in").click()
        sign_in()
        expect(page).to_have_url(house.base + "/?folder=letters")
        page.context.clear_cookies()
        page.get_by_role("button", name="Table").click()  # requests a part of the page
        page.locator(".toast-red").get_by_role("button", name="Sign in").click()
        sign_in()
        expect(page).to_have_url(house.base + "/?folder=letters")
        expect(page.locator("table.lines")).to_be_visible()


def test_a_lost_server_is_reported_by_the_status_and_by_one_message(tmp_path: Path, page: Page) -> None:
    page.expected_errors.append("ERR_")  # type: ignore[attr-defined]
    with served(tmp_path) as house:
        page.goto(house.base + "/")
        expect(page.locator("#status")).to_have_attribute("data-mood", "done")
    page.locator("#search").press_sequentially("lighthouse", delay=5)
    expect(page.locator(".toast-red")).to_have_text([re.compile("The server does not answer")])
    expect(page.locator("#status")).to_have_attribute("data-mood", "away")
    expect(page.locator("#status")).to_contain_text("No connection")
    expect(page.locator(".toast-red")).to_have_count(1)


def test_search_results_change_with_the_files(house: House, page: Page) -> None:
    house.drop("found/oil.md", "# Lantern oil\n\nQuills and quorfs are kept in the cellar.\n")
    house.settled()
    page.goto(house.base + "/?q=quorfs")
    hit = page.locator(card("found/oil.md"))
    expect(hit.locator(".snippet").first).not_to_contain_text("#")
    expect(hit.locator("mark").first).to_have_text("quorfs")
    house.drop("found/more.md", "# More\n\nQuorfs again.\n")
    expect(page.get_by_role("button", name="1 new – show")).to_be_visible()
    page.get_by_role("button", name="1 new – show").click()
    expect(page.locator(card("found/more.md"))).to_be_visible()
    (house.vault / "found/oil.md").unlink()
    expect(hit).to_have_count(0)


@pytest.mark.parametrize("address", ["/", "/?q=lighthouse", "/?q=zzxqy+kwyjibo", "/?view=table"])
def test_dark_and_light_are_accessible_and_nothing_jumps(house: House, dark: Page, address: str) -> None:
    dark.goto(house.base + address)
    eventually(lambda: dark.locator("#status").get_attribute("data-mood") != "wait")
    check_a11y(dark)
    dark.get_by_role("button", name="Change between light and dark").first.click()
    expect(dark.locator("html")).to_have_attribute("data-theme", "light")
    check_a11y(dark)
    assert layout_shift(dark) < 0.02
    dark.reload()
    expect(dark.locator("html")).to_have_attribute("data-theme", "light")  # it is remembered

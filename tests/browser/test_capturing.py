"""Capturing in a real browser: the installed app, the share menu, and a bookmarklet on another site's page."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import pytest
from playwright.sync_api import Dialog, Page, expect
from running_chyme import RunningChyme
from visiting import House, check_a11y, served

pytestmark = pytest.mark.slow

PASSWORD = "correct horse battery"
TITLE = "On <b>pelicans</b> & other birds"
FOREIGN = f"""<!doctype html><html lang="en"><title>{TITLE.replace("&", "&amp;").replace("<", "&lt;")}</title>
<p id="first">Not this.</p>
<p id="second">A pelican's beak <img src=x onerror=alert(1)> holds more than its belly.</p>"""


class _Foreign(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = FOREIGN.encode() if self.path.startswith("/page") else b""
        self.send_response(200 if body else 204)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        # A strict policy, as many sites have one: a bookmarklet that fetched from the page would fail.
        self.send_header("Content-Security-Policy", "default-src 'none'; style-src 'self'")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def foreign() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Foreign)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/page?a=1&b=2"
    server.shutdown()
    server.server_close()


def furnish(chyme: RunningChyme) -> None:
    added = chyme.run("users", "add", "ada", "--password-stdin", typed=f"{PASSWORD}\n")
    assert added.code == 0, added.err


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with served(tmp_path_factory.mktemp("capturing"), furnish) as opened:
        yield opened


def sign_in(page: Page) -> None:
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def open_signed_in(page: Page, house: House, path: str) -> None:
    page.goto(f"{house.base}/login?next={path}")
    sign_in(page)
    page.wait_for_url(f"{house.base}{path}*")


def captured(house: House) -> set[str]:
    return {path.name for path in house.vault.iterdir() if path.is_file()}


def test_the_app_can_be_installed(page: Page, house: House) -> None:
    open_signed_in(page, house, "/")
    session = page.context.new_cdp_session(page)
    found = session.send("Page.getAppManifest")
    assert found["errors"] == []
    assert found["url"] == f"{house.base}/static/manifest.webmanifest"
    problems = [error["errorId"] for error in session.send("Page.getInstallabilityErrors")["installabilityErrors"]]
    assert set(problems) <= {"in-incognito"}  # the contexts of these tests have no profile
    session.detach()


def test_what_is_shared_is_saved_and_named(phone: Page, house: House) -> None:
    open_signed_in(phone, house, "/capture")
    phone.evaluate(
        """() => {
            const form = document.createElement("form");
            Object.assign(form, {action: "/share", method: "post", enctype: "multipart/form-data"});
            const fields = {title: "Gannets", text: "look: https://example.org/gannets", url: ""};
            for (const [name, value] of Object.entries(fields)) {
                form.append(Object.assign(document.createElement("input"), {name, value, type: "hidden"}));
            }
            const file = Object.assign(document.createElement("input"), {name: "files", type: "file"});
            const chosen = new DataTransfer();
            chosen.items.add(new File(["from a phone"], "gannet.txt"));
            file.files = chosen.files;
            form.append(file);
            document.body.append(form);
            form.submit();
        }"""
    )
    expect(phone.get_by_role("heading", name="Saved")).to_be_visible()
    expect(phone.locator("#shared li")).to_have_text(["gannet.txt", "Gannets.url", "Gannets – selection.md"])
    check_a11y(phone)
    assert (house.vault / "gannet.txt").read_text() == "from a phone"
    phone.reload()
    assert captured(house) >= {"gannet.txt", "Gannets.url"}
    assert "gannet 2.txt" not in captured(house)


def test_a_bookmarklet_saves_page_and_selection_from_another_site(page: Page, house: House, foreign: str) -> None:
    page.expected_errors = ["violates the following Content Security Policy", "Content-Security-Policy"]  # type: ignore[attr-defined]
    open_signed_in(page, house, "/capture")
    page.get_by_role("button", name="Make the bookmarklet").click()
    bookmarklet = page.get_by_role("link", name="Save to chyme").get_attribute("href")
    assert bookmarklet is not None and bookmarklet.startswith("javascript:")
    check_a11y(page)
    page.reload()
    expect(page.get_by_role("button", name="Make the bookmarklet")).to_be_visible()  # shown once
    page.context.clear_cookies()  # its token is enough

    page.goto(foreign)
    page.evaluate("getSelection().selectAllChildren(document.getElementById('second'))")
    with page.context.expect_page() as opened:
        page.evaluate(unquote(bookmarklet.removeprefix("javascript:")))  # in the page, as a browser runs a bookmarklet
    window = opened.value
    dialogs: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    window.on("dialog", dismiss)
    expect(window.get_by_role("heading", name="Saved")).to_be_visible()
    check_a11y(window)
    assert window.url == f"{house.base}/capture"  # neither text nor token stays in the address
    assert "chyme_" not in window.content().replace("chyme_session", "")
    expect(window.get_by_role("status")).to_contain_text("On b pelicans b & other birds.url")
    assert window.locator("#capture-status b, #capture-status img").count() == 0
    assert dialogs == []
    window.close()
    note = (house.vault / "On b pelicans b & other birds – selection.md").read_text()
    assert "> A pelican's beak" in note and "holds more than its belly." in note
    assert "a=1&b=2" in (house.vault / "On b pelicans b & other birds.url").read_text()
    assert house.http.get("/api/vaults").status_code == 401  # the vault itself stays closed


def test_without_a_token_the_page_asks_and_signing_in_keeps_what_was_sent(page: Page, house: House) -> None:
    page.goto(
        f"{house.base}/capture#url=https%3A%2F%2Fexample.org%2Fterns&title=Terns&text=%3Cscript%3Ealert(1)%3C%2Fscript%3E"
    )
    expect(page.get_by_text("Sign in to save this page.")).to_be_visible()
    check_a11y(page)
    page.get_by_role("link", name="Sign in").click()
    sign_in(page)
    expect(page.get_by_label("Title")).to_have_value("Terns")
    expect(page.get_by_label("Selected text")).to_have_value("<script>alert(1)</script>")
    assert "Terns.url" not in captured(house)  # any site can open this page: it does not save by itself
    check_a11y(page)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Saved")).to_be_visible()
    assert "Terns.url" in captured(house)


def test_a_revoked_token_says_so(page: Page, house: House) -> None:
    page.expected_errors = ["401"]  # type: ignore[attr-defined]
    page.goto(f"{house.base}/capture#url=https%3A%2F%2Fexample.org%2F&vault=vault&token=chyme_gone")
    expect(page.get_by_role("alert")).to_contain_text("no longer valid")
    check_a11y(page)


def test_the_pages_are_right_in_the_dark_and_say_what_is_lost(dark: Page, house: House) -> None:
    dark.goto(f"{house.base}/capture#lost=1")
    expect(dark.get_by_role("alert")).to_contain_text("was not saved")
    check_a11y(dark)

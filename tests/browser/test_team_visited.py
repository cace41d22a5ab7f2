"""A team in a real browser: set-up, invitation, the invited person's vault, a new password, an ended session."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect
from running_chyme import RunningChyme, wait_until
from visiting import check_a11y
from waiting import AMPLE

pytestmark = pytest.mark.slow

PASSWORD, NEW = "correct horse battery", "another good one"
CODE = re.compile(r"(?:[A-Z2-7]{4}-){7}[A-Z2-7]{4}")


@pytest.fixture
def chyme(tmp_path: Path) -> Iterator[RunningChyme]:
    running = RunningChyme(tmp_path)
    (tmp_path / "diary").mkdir()
    (tmp_path / "diary/secret.txt").write_text("a secret about pelicans")
    running.drop("pelican.txt", "a pelican on the beach")
    try:
        yield running
    finally:
        running.close()


def serve_beyond_loopback(chyme: RunningChyme) -> tuple[str, str]:
    """Start a server on every address of this machine; return its address on loopback, and the code it printed."""
    process = chyme.start("serve", str(chyme.folder / "diary"), "--host", "0.0.0.0", "--port", "0", "--json")
    wait_until(lambda: CODE.search(chyme.said(process)) is not None or process.poll() is not None)
    said = chyme.said(process)
    code, port = CODE.search(said), re.search(r'"address": "http://0\.0\.0\.0:(\d+)"', said)
    assert code is not None and port is not None, said
    return f"http://127.0.0.1:{port[1]}", code[0]


def fill_account(page: Page, name: str) -> None:
    page.get_by_label("Your name").fill(name)
    page.get_by_label("A password, at least 8 characters").fill(PASSWORD)
    page.get_by_label("The password again").fill(PASSWORD)
    page.get_by_role("button", name="Make the account").click()


def test_from_the_code_in_the_terminal_to_an_invited_person_at_their_phone(
    chyme: RunningChyme, page: Page, phone: Page
) -> None:
    page.expected_errors = ["403"]  # type: ignore[attr-defined]  # the wrong code
    phone.expected_errors = ["403", "404", "401"]  # type: ignore[attr-defined]  # what is not theirs
    base, code = serve_beyond_loopback(chyme)

    set_up(page, base, code)
    link = invite_bob(page, base)
    redeem_on_phone(phone, base, link)
    change_password_on_phone(phone, base)
    with httpx.Client(base_url=base, trust_env=False) as http:
        assert http.post("/login", data={"name": "bob", "password": PASSWORD}).status_code == 401
        assert http.post("/login", data={"name": "bob", "password": NEW}).status_code == 303
        end_while_it_listens(page, base, http)

    page.set_viewport_size({"width": 390, "height": 844})
    page.locator("summary").filter(has_text="Bob").first.click()
    check_a11y(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_text("Remove Bob").first.click()
    page.get_by_role("button", name="Remove Bob").click()
    expect(page.get_by_role("status").filter(has_text="Bob is removed")).to_be_visible()
    phone.goto(f"{base}/account")
    expect(phone.get_by_role("heading", name="Sign in")).to_be_visible()


def set_up(page: Page, base: str, code: str) -> None:
    page.goto(f"{base}/v/vault/")
    expect(page.get_by_role("heading", name="Make the owner's account")).to_be_visible()
    check_a11y(page)
    page.get_by_label("Code from the terminal").fill("AAAA-BBBB")
    fill_account(page, "Ada")
    expect(page.get_by_role("alert")).to_contain_text("This is not the code")
    check_a11y(page)
    page.get_by_label("Code from the terminal").fill(code.lower())
    fill_account(page, "Ada")
    expect(page.get_by_role("heading", name="Vaults")).to_be_visible()


def invite_bob(page: Page, base: str) -> str:
    """Return the link, which the page shows once."""
    page.goto(f"{base}/v/vault/")
    page.get_by_role("link", name="Team").click()
    page.get_by_label("For whom").fill("Bob, at his phone")
    invitation = page.get_by_role("region", name="Invite someone")
    invitation.get_by_label("vault", exact=True).select_option("read")
    page.get_by_role("button", name="Make a link").click()
    link = page.get_by_label("Link of the invitation").input_value()
    assert link.startswith(f"{base}/invitation#")
    check_a11y(page)
    page.reload()
    expect(page.get_by_label("Link of the invitation")).to_have_count(0)
    return link


def redeem_on_phone(phone: Page, base: str, link: str) -> None:
    asked: list[str] = []
    phone.on("request", lambda request: asked.append(request.url))
    phone.goto(link)
    expect(phone.get_by_role("heading", name="You are invited")).to_be_visible()
    expect(phone.get_by_label("Code of the invitation")).to_be_hidden()
    assert phone.url == f"{base}/invitation"
    check_a11y(phone)
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    fill_account(phone, "Bob")
    expect(phone.get_by_role("heading", level=1)).to_be_visible()
    assert phone.url == f"{base}/v/vault/"
    assert not any("chyme_invitation_" in address.partition("#")[0] for address in asked)
    phone.goto(f"{base}/v/diary/")
    expect(phone.get_by_role("heading", name="There is nothing here")).to_be_visible()
    phone.goto(f"{base}/team")
    expect(phone.get_by_role("heading", name="This is not open to you")).to_be_visible()
    phone.goto(f"{base}/v/vault/")
    expect(phone.get_by_role("button", name="Add")).to_have_count(0)


def change_password_on_phone(phone: Page, base: str) -> None:
    phone.goto(f"{base}/account")
    check_a11y(phone)
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    phone.get_by_label("Your password now").fill(PASSWORD)
    phone.get_by_label("The new one, at least 8 characters").fill(NEW)
    phone.get_by_label("The new one again").fill(NEW)
    phone.get_by_role("button", name="Change it").click()
    expect(phone.get_by_role("status").filter(has_text="Your password is changed")).to_be_visible()


def end_while_it_listens(page: Page, base: str, http: httpx.Client) -> None:
    """Bob listens to events; the owner ends the session on the page; the stream ends although nothing happens."""
    listening, ended = threading.Event(), threading.Event()

    def listen() -> None:
        with http.stream("GET", "/v/vault/api/events", timeout=AMPLE) as stream:
            for _ in stream.iter_raw():
                listening.set()
        ended.set()

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    assert listening.wait(AMPLE)
    page.goto(f"{base}/team")
    page.get_by_role("button", name="End the session of Bob in python-httpx").click()
    expect(page.get_by_role("status").filter(has_text="The session is ended")).to_be_visible()
    assert ended.wait(AMPLE)
    thread.join()
    assert http.get("/api/account").status_code == 401

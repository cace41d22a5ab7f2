"""The real Chromium: it renders pages as people see them, and gives up pages that never end."""

from __future__ import annotations

import io
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import local_sites
import pytest
from local_web import Asked, LocalWeb, Page, Wire
from PIL import Image
from waiting import AMPLE

from chyme.core.outbound.guard import Guard
from chyme.core.outbound.policy import policy_of
from chyme.errors import (
    AddressRefused,
    ChildCrashed,
    EngineUnavailable,
    LimitReached,
    NetworkFailed,
    RateLimited,
    TimedOut,
    UnreadableFile,
)
from chyme.webpages.browser.browser import Browser, RenderedPage
from chyme.webpages.browser.executable import browser_program
from chyme.webpages.browser.process_tree import process_tree
from chyme.webpages.browser.tab import Tab
from chyme.webpages.settings import BrowserSettings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        browser_program("auto") is None, reason="Chromium is not installed (Debian: apt-get install chromium)"
    ),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    made = Browser(BrowserSettings(seconds=AMPLE))
    yield made
    made.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("browser-")]


@pytest.fixture
def hasty() -> Iterator[Browser]:
    """A browser that gives up soon."""
    made = Browser(BrowserSettings(seconds=4, settle=1))
    yield made
    made.close()


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    with LocalWeb() as made:
        yield made


@pytest.fixture
def guard(web: LocalWeb) -> Guard:
    return Guard(policy_of(web.host), delay=0)


def silence(_request: Asked, wire: Wire) -> None:
    wire.pause(60)


def opened(jpeg: bytes | None) -> Image.Image:
    assert jpeg is not None
    image = Image.open(io.BytesIO(jpeg))
    image.load()
    return image.convert("RGB")


def test_an_article_is_pictured_with_its_style_and_its_picture(browser: Browser, web: LocalWeb, guard: Guard) -> None:
    url = local_sites.article(web)
    visited = browser.visit(url, guard, "mill.url")

    assert (visited.url, visited.status) == (url, 200)
    assert visited.title.startswith(local_sites.TITLE)
    assert local_sites.CHANGED in visited.html
    assert visited.engine.startswith("Chromium ")
    assert (visited.refused, visited.notes) == ((), ())
    image = opened(visited.screenshot)
    assert image.size == (visited.width, visited.height)
    assert visited.width == 1280
    assert 900 < visited.height < 1400
    red, green, blue = image.getpixel((1270, 600))  # type: ignore[misc]
    assert (abs(red - 0xF6) < 4, abs(green - 0xF1) < 4, abs(blue - 0xE7) < 4) == (True, True, True)
    sky = image.getpixel((100, 160))
    assert isinstance(sky, tuple)
    assert sky[2] > sky[0] + 60
    assert web.asked[0].headers["user-agent"].endswith(" chyme")
    assert "Headless" not in web.asked[0].headers["user-agent"]


def test_a_page_made_by_scripts_comes_out_whole(browser: Browser, web: LocalWeb, guard: Guard) -> None:
    visited = browser.visit(local_sites.javascript_only(web), guard, "ferry.url", shot=False)
    assert local_sites.RENDERED in visited.html
    assert (visited.screenshot, visited.width, visited.height) == (None, 0, 0)


def test_shadow_trees_are_part_of_the_page(browser: Browser, web: LocalWeb, guard: Guard) -> None:
    url = web.page(
        "/shadow",
        "<!DOCTYPE html><p>before</p><x-card>a &lt; b<i slot=end>last</i></x-card><script>"
        "customElements.define('x-card', class extends HTMLElement { connectedCallback() {"
        "this.attachShadow({mode: 'open'}).innerHTML = '<h2>Inside &amp; out</h2><p><slot></slot></p>"
        "<slot name=end></slot><br>' } })</script>",
    )
    html = browser.visit(url, guard, "card.url", shot=False).html
    assert '<x-card><h2>Inside &amp; out</h2><p>a &lt; b</p><i slot="end">last</i><br></x-card>' in html


STYLED = """<!DOCTYPE html><style id=made></style><style id=written>i { color: red }</style>
<p id=p>text</p><script>
    made.sheet.insertRule("p { color: rgb(1, 2, 3) }");
    made.sheet.insertRule("p::after { content: '<\\/style' }", 1);
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("p { background: rgb(4, 5, 6) }");
    document.adoptedStyleSheets = [sheet];
</script>"""


def test_styles_that_scripts_have_made_are_part_of_the_page(browser: Browser, web: LocalWeb, guard: Guard) -> None:
    html = browser.visit(web.page("/styled", STYLED), guard, "styled.url").html
    assert '<style id="made">p { color: rgb(1, 2, 3); }\n' in html
    assert '<style id="written">i { color: red }</style>' in html
    assert html.count("p { background: rgb(4, 5, 6); }") == 1
    assert r"<\/style" in html


def test_styles_of_shadow_trees_are_part_of_the_page(browser: Browser, web: LocalWeb, guard: Guard) -> None:
    script = (
        "const sheet = new CSSStyleSheet(); sheet.replaceSync('p { color: rgb(1, 2, 3) }');"
        "const root = document.querySelector('x-card').attachShadow({mode: 'open'});"
        "root.innerHTML = '<p>inside</p>'; root.adoptedStyleSheets = [sheet]"
    )
    html = browser.visit(web.page("/card", f"<x-card></x-card><script>{script}</script>"), guard, "card.url").html
    assert "<x-card><p>inside</p><style>p { color: rgb(1, 2, 3); }</style></x-card>" in html


def test_field_names_of_a_form_do_not_matter(browser: Browser, web: LocalWeb, guard: Guard) -> None:
    names = ("attributes", "localName", "childNodes", "shadowRoot", "nodeType", "getAttributeNames", "parentNode")
    fields = "".join(f"<input name={name}>" for name in names)
    url = web.page(
        "/form",
        f"<form name=documentElement></form><img name=title>"
        f"<form id=f>{fields}<b>kept</b></form><x-card></x-card><script>document.querySelector('x-card')"
        ".attachShadow({mode: 'open'}).innerHTML = '<p>inside</p>'</script>",
    )
    html = browser.visit(url, guard, "form.url", shot=False).html
    assert '<form id="f"><input name="attributes">' in html
    assert "<b>kept</b></form><x-card><p>inside</p></x-card>" in html


def test_a_long_page_is_pictured_from_its_top(browser: Browser, web: LocalWeb, guard: Guard) -> None:
    url = web.page("/long", "<body style='margin:0'><div style='height:90000px;background:linear-gradient(red,blue)'>")
    visited = browser.visit(url, guard, "long.url")
    assert visited.height == BrowserSettings().longest
    assert opened(visited.screenshot).size == (1280, visited.height)


def test_redirects_lead_to_the_last_address(browser: Browser, web: LocalWeb, guard: Guard) -> None:
    assert browser.visit(local_sites.redirect_chain(web), guard, "chain.url", shot=False).title.startswith(
        local_sites.TITLE
    )
    assert browser.visit(local_sites.meta_refresh(web), guard, "moved.url", shot=False).url == web.url("/moved/to")


def test_no_state_is_carried_from_one_page_to_the_next(browser: Browser, web: LocalWeb, guard: Guard) -> None:
    script = "document.write(document.cookie + localStorage.getItem('k')); localStorage.setItem('k', 'kept')"
    url = web.page("/cookie", f"<p><script>{script}</script>", {"Set-Cookie": "secret=1; Path=/"})
    for _ in range(2):
        visited = browser.visit(url, guard, "cookie.url", shot=False)
        assert "null" in visited.html
        assert "kept</p>" not in visited.html
    assert not [request for request in web.asked if "cookie" in request.headers and request.path == "/cookie"]


def test_an_answer_that_is_an_error_keeps_its_status(browser: Browser, web: LocalWeb, guard: Guard) -> None:
    assert browser.visit(local_sites.status(web, 404), guard, "gone.url", shot=False).status == 404
    visited = browser.visit(local_sites.busy(web, 429, 17), guard, "busy.url", shot=False)
    assert (visited.status, visited.retry_after) == (429, "17")


def test_a_page_that_asks_for_a_password_is_not_asked_again(browser: Browser, web: LocalWeb, guard: Guard) -> None:
    for asks in ('Basic realm="x"', 'Digest realm="x", nonce="y"', "NTLM"):
        url = web.page("/private", "<p>no</p>", {"WWW-Authenticate": asks}, 401)
        with pytest.raises(UnreadableFile, match=r"^private\.url: the page asks for a password"):
            browser.visit(url, guard, "private.url")
    assert browser.visit(web.page("/bare", "<p>no</p>", status=401), guard, "bare.url", shot=False).status == 401
    url = web.page("/ticket", "<p>no</p>", {"WWW-Authenticate": "Negotiate"}, 401)
    assert browser.visit(url, guard, "ticket.url", shot=False).status == 401  # and Chromium stays alive


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_host_that_asked_for_a_pause_is_left_alone(
    browser: Browser, web: LocalWeb, guard: Guard, scheme: str
) -> None:
    guard.hold("127.0.0.1", 60)
    with pytest.raises(RateLimited, match=r"^held\.url: 127\.0\.0\.1 asked for a pause") as caught:
        browser.visit(f"{scheme}://{web.host}/", guard, "held.url")
    assert caught.value.tried is False
    assert 50 < (caught.value.retry_after or 0) <= 60
    assert web.connections == 0


def test_endless_redirects_are_given_up(browser: Browser, web: LocalWeb, guard: Guard) -> None:
    with pytest.raises(UnreadableFile, match=r"^a\.url: the link keeps redirecting to other addresses"):
        browser.visit(local_sites.endless_redirects(web), guard, "a.url")


def test_a_page_that_moves_on_for_ever_is_given_up(browser: Browser, web: LocalWeb, guard: Guard) -> None:
    url = web.page("/on", "<script>location.href = '/on?' + Math.random()</script>")
    with pytest.raises(UnreadableFile, match="keeps redirecting to other addresses"):
        browser.visit(url, guard, "on.url")


def test_a_download_is_no_page_and_leaves_no_file(browser: Browser, web: LocalWeb, guard: Guard) -> None:
    headers = {"Content-Type": "application/zip", "Content-Disposition": "attachment; filename=a.zip"}
    with pytest.raises(UnreadableFile, match="a file to download"):
        browser.visit(web.page("/a.zip", b"PK" + bytes(1000), headers), guard, "a.url")
    link = "<a id=a href='/a.zip' download></a><script>document.getElementById('a').click()</script>"
    url = web.page("/offers", f"<p>shown</p><iframe src='/a.zip'></iframe>{link}")
    assert "shown" in browser.visit(url, guard, "offers.url").html
    assert browser.folder is not None
    assert not [path for path in browser.folder.rglob("*") if path.name.endswith((".zip", ".crdownload"))]


def test_dialogs_popups_and_print_do_not_delay_a_page(browser: Browser, web: LocalWeb, guard: Guard) -> None:
    script = (
        "alert('a'); confirm('b'); prompt('c'); window.open('/other'); print(); onbeforeunload = () => 'stay';"
        "navigator.geolocation?.getCurrentPosition(() => 0); document.getElementById('p').textContent = 'second'"
    )
    url = web.page("/noisy", f"<p id=p>first</p><script>{script}</script>")
    visited = browser.visit(url, guard, "noisy.url")
    assert '<p id="p">second</p>' in visited.html
    assert "/other" not in web.paths


def test_a_host_that_does_not_answer_is_reported_with_the_guards_message(browser: Browser, web: LocalWeb) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        host = f"127.0.0.1:{closed.getsockname()[1]}"
    dead = Guard(policy_of(host), delay=0)
    for scheme in ("http", "https"):
        with pytest.raises(NetworkFailed, match=rf"^dead\.url: {host}: connection refused"):
            browser.visit(f"{scheme}://{host}/", dead, "dead.url")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "chrome://version", "data:text/html,x", "javascript:1", "x"])
def test_only_web_addresses_are_opened(browser: Browser, guard: Guard, url: str) -> None:
    with pytest.raises(AddressRefused, match="only http and https"):
        browser.visit(url, guard, "odd.url")


def test_a_page_that_never_comes_to_rest_is_taken_as_it_is(web: LocalWeb, guard: Guard) -> None:
    web.handler("/never", silence)
    with closing(Browser(BrowserSettings(seconds=15, settle=1))) as browser:
        loading = visit_until_in_time(browser, web.page("/slow", "<h1>Here</h1><img src='/never'>"), guard, "slow.url")
        polling = "<h1>Here</h1><script>setInterval(() => fetch('/slow?' + Math.random()), 50)</script>"
        restless = visit_until_in_time(browser, web.page("/poll", polling), guard, "poll.url")
    assert "<h1>Here</h1>" in loading.html
    assert loading.screenshot is not None
    assert loading.notes == ("the page was still loading when it was taken",)
    assert restless.notes == ("the page had not come to rest when it was taken",)


@pytest.mark.parametrize(
    "script", ["while (true) {}", "while (true) alert(1)", "setTimeout(() => { while (true) {} }, 300)"]
)
def test_an_endless_script_is_killed_in_time_and_the_next_page_works(
    hasty: Browser, web: LocalWeb, guard: Guard, script: str
) -> None:
    with pytest.raises(TimedOut, match=r"^loop\.url: .* within 4 seconds"):
        hasty.visit(web.page("/loop", f"<h1>x</h1><script>{script}</script>"), guard, "loop.url")
    assert hasty.pid is None
    assert local_sites.RENDERED in visit_until_in_time(hasty, local_sites.javascript_only(web), guard, "ferry.url").html


def test_a_page_that_is_not_shown_in_time_is_late_and_not_elsewhere(
    hasty: Browser, web: LocalWeb, guard: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tab, "navigate", lambda _tab, _url: None)  # as if Chromium had shown nothing by the deadline
    monkeypatch.setattr(Tab, "wait_until_idle", lambda _tab: None)
    with pytest.raises(TimedOut, match=r"^late\.url: .* within 4 seconds"):
        hasty.visit(web.page("/late", "<h1>x</h1>"), guard, "late.url")


def visit_until_in_time(browser: Browser, url: str, guard: Guard, name: str) -> RenderedPage:
    """Visit the page, again and again while a loaded machine takes too long."""
    for _ in range(20):
        with suppress(TimedOut):
            return browser.visit(url, guard, name)
    raise AssertionError(f"{url} was never shown in time")


def test_a_server_that_never_answers_costs_no_more_than_the_pages_time(
    hasty: Browser, web: LocalWeb, guard: Guard
) -> None:
    url = web.handler("/silent", silence)
    with pytest.raises(TimedOut):
        hasty.visit(url, guard, "silent.url")


@pytest.mark.parametrize(
    "script",
    [
        "const kept = []; setInterval(() => kept.push(new Uint8Array(64 << 20).fill(1)), 1)",
        "const kept = []; for (let i = 0; ; i++) kept.push({i, s: 'x' + i})",
    ],
)
def test_a_page_that_takes_all_memory_is_given_up(web: LocalWeb, guard: Guard, script: str) -> None:
    browser = Browser(BrowserSettings(seconds=AMPLE, memory_mb=400))
    try:
        url = web.page("/hog", f"<h1>x</h1><script>{script}</script>")
        with pytest.raises(LimitReached, match="more than 400 MB in Chromium; raise browser_memory_mb"):
            browser.visit(url, guard, "hog.url")
        assert local_sites.RENDERED in browser.visit(local_sites.javascript_only(web), guard, "ferry.url").html
    finally:
        browser.close()


def test_the_bytes_and_parts_that_a_page_loads_are_bounded(web: LocalWeb, guard: Guard) -> None:
    def stream(_request: Asked, wire: Wire) -> Page | None:
        wire.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/css\r\n\r\n")
        while not wire.pause(0):
            wire.send(b" " * 65536)
        return None

    web.handler("/endless.css", stream)
    browser = Browser(BrowserSettings(seconds=AMPLE, load_bytes=8 << 20, requests=20))
    try:
        visited = browser.visit(web.page("/a", "<p>text</p><link rel=stylesheet href='/endless.css'>"), guard, "a.url")
        assert visited.notes == ("only the first 8 MB were loaded",)
        many = "".join(f"<img src='/{number}.png'>" for number in range(100))
        visited = browser.visit(web.page("/b", f"<p>text</p>{many}"), guard, "b.url")
        assert "only the first 20 parts were loaded" in visited.notes
        assert len([path for path in web.paths if path.endswith(".png")]) <= 20
    finally:
        browser.close()


def test_a_page_that_leaves_the_web_is_not_pictured(browser: Browser, web: LocalWeb, guard: Guard) -> None:
    url = web.page("/crash", "<p>still here</p><script>location.href = 'chrome://crash'</script>")
    assert "still here" in browser.visit(url, guard, "crash.url").html  # pages cannot go there
    with pytest.raises(UnreadableFile, match=r"^blank\.url: the page sends its visitors to about:"):
        browser.visit(web.page("/blank", "<script>location.href = 'about:blank'</script>"), guard, "blank.url")


def test_a_page_whose_process_dies_is_reported_and_the_next_page_works(
    browser: Browser, web: LocalWeb, guard: Guard
) -> None:
    def kill(_request: Asked, _wire: Wire) -> Page:
        for process in process_tree(browser.pid or 0):
            if b"--type=renderer" in Path(f"/proc/{process.pid}/cmdline").read_bytes():
                os.kill(process.pid, signal.SIGKILL)
        return Page()

    web.handler("/kill", kill)
    with pytest.raises(ChildCrashed, match=r"^dies\.url: Chromium crashed on the page"):
        browser.visit(web.page("/dies", "<img src='/kill'>"), guard, "dies.url")
    assert local_sites.RENDERED in browser.visit(local_sites.javascript_only(web), guard, "ferry.url").html


def test_a_chromium_that_was_killed_is_replaced(browser: Browser, web: LocalWeb, guard: Guard) -> None:
    url = local_sites.javascript_only(web)
    browser.visit(url, guard, "ferry.url", shot=False)
    killed = browser.pid
    assert killed is not None
    os.kill(killed, signal.SIGKILL)
    assert local_sites.RENDERED in browser.visit(url, guard, "ferry.url", shot=False).html
    assert browser.pid != killed


def test_a_fresh_chromium_takes_over_after_a_set_number_of_pages(web: LocalWeb, guard: Guard) -> None:
    browser = Browser(BrowserSettings(seconds=AMPLE, pages=2))
    try:
        pids = []
        for _ in range(3):
            browser.visit(local_sites.javascript_only(web), guard, "ferry.url", shot=False)
            pids.append(browser.pid)
        assert pids[0] == pids[1] != pids[2]
    finally:
        browser.close()


def test_without_chromium_the_error_says_how_to_get_it(guard: Guard) -> None:
    with pytest.raises(EngineUnavailable, match=r"^a\.url: no Chromium found; install it"):
        Browser(BrowserSettings(program="off")).visit("http://127.0.0.1:1/", guard, "a.url")

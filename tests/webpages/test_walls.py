"""Walls in front of pages are recognised, and pages that only look like walls are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import pytest

from chyme.documents.conversion.results import ConversionLimits
from chyme.documents.html.reader import read_page
from chyme.documents.html.tree import Page
from chyme.webpages.login_and_bot_walls import Finding, ResponseFacts, Wall, detect_wall, needs_script, wall_headers
from chyme.webpages.wall_signals import read_page_signals

REQUESTED = "https://example.org/2024/the-tides-of-the-north-sea"
PROSE = "".join(
    f"<p>The water of harbour number {n} rises and falls twice a day, and whoever lives there reads the tables, "
    "because boats lie dry at low water and the bridge is closed when it is high.</p>"
    for n in range(12)
)


def finding(
    body: str,
    *,
    title: str = "The tides of the North Sea",
    head: str = "",
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    url: str = REQUESTED,
    asked: str = REQUESTED,
) -> Finding:
    page = f"<!doctype html><html><head><title>{title}</title>{head}</head><body>{body}</body></html>"
    read = read_page(Page(page), url, ConversionLimits())
    signs = read_page_signals(Page(page), read.markdown)
    return detect_wall(
        ResponseFacts(
            status=status,
            asked=asked,
            url=url,
            words=read.words,
            headers=wall_headers(headers or {}),
            **asdict(signs),
        )
    )


LOGIN_FORM = "<form><input type=email name=u><input type=password name=p><button>Sign in</button></form>"
CAPTCHA = "<script src='https://www.google.com/recaptcha/api.js'></script><div class='g-recaptcha'></div>"
CONTACT = (
    "<p>Write to us.</p><form><input name=n><input type=email><textarea></textarea>"
    f"<p>Please verify you are human</p>{CAPTCHA}</form>"
)
BANNER = "<div class='cookie-banner'>We use cookies and so do our partners. Accept all. Reject all.</div>"
ORDINARY = "<script src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'></script>"
DATADOME = "<iframe src='https://geo.captcha-delivery.com/captcha/?x=1'></iframe>"
PERIMETERX = "<div id='px-captcha'></div><p>Press & Hold to confirm you are human</p>"
ANUBIS = "<script src='/.within.website/x/cmd/anubis/static/js/main.mjs'></script>"
LOCKED = '<script type="application/ld+json">{"@type":"NewsArticle","isAccessibleForFree":false}</script>'
CLOUDFLARE = "<script>window._cf_chl_opt={cType:'managed'};</script>"


@pytest.mark.parametrize(
    ("title", "body", "status", "headers"),
    [
        ("Anything", PROSE, 403, {"cf-mitigated": "challenge"}),
        ("Just a moment...", f"<p>Enable JavaScript and cookies to continue</p>{CLOUDFLARE}", 200, {}),
        ("Nur einen Moment…", f"<p>Bitte warten</p>{CLOUDFLARE}", 403, {"server": "cloudflare"}),
        ("请稍候…", f"<p>example.org</p>{CLOUDFLARE}", 503, {}),
        ("Attention Required! | Cloudflare", "<h1>Sorry, you have been blocked</h1><p>Ray ID: 8a1</p>", 403, {}),
        ("example.org", DATADOME, 403, {"x-datadome": "protected"}),
        ("Access to this page has been denied", PERIMETERX, 403, {}),
        ("Access Denied", "<h1>Access Denied</h1><p>Reference #18.2d3</p>", 403, {"server": "AkamaiGHost"}),
        ("Human Verification", "<script>window.gokuProps = {}</script>", 202, {"x-amzn-waf-action": "captcha"}),
        ("Making sure you're not a bot!", ANUBIS, 200, {}),
        ("Vercel Security Checkpoint", "<p>We're verifying your browser</p>", 429, {"x-vercel-mitigated": "challenge"}),
        ("Pardon Our Interruption", "<p>We noticed suspicious activity.</p>", 200, {}),
        ("example.org", f"<p>Please verify you are human</p>{CAPTCHA}", 200, {}),
    ],
)
def test_checks_for_robots_are_known(title: str, body: str, status: int, headers: dict[str, str]) -> None:
    found = finding(body, title=title, status=status, headers=headers)
    assert found.wall is Wall.BOT_WALL
    assert not found.readable
    assert found.sentence.startswith("example.org shows a check for robots")
    assert "save the page as a file into the vault" in found.sentence


@pytest.mark.parametrize(
    ("title", "body", "headers"),
    [
        ("Just a moment: how bot walls work", f"{PROSE}<p>It says: verify you are human. Ray ID.</p>", {}),
        ("CAPTCHA", f"{PROSE}<p>A captcha asks whether you are a human, or checks that you're not a robot.</p>", {}),
        ("The tides", f"{PROSE}<h3>Comments</h3><form><textarea></textarea>{CAPTCHA}</form>", {}),
        ("The tides", PROSE + ORDINARY, {"server": "cloudflare"}),
        ("Contact", CONTACT, {}),
        ("The tides", f"<header>{LOGIN_FORM}</header>{PROSE}", {}),
        ("The tides", BANNER + PROSE, {}),
        ("The tides", "<p>High water is at noon.</p>", {"server": "cloudflare"}),
        ("Page not found: a history of error 404", PROSE, {}),
        ("404 Media", "<p>Journalism about the harbour.</p>", {}),
        ("Sign in sheets for the harbour", "<p>Forgot your password? No: the sheet of paper at the door.</p>", {}),
        ("The tides", f"<p>Subscribers only get the print.</p>{PROSE}", {}),
    ],
)
def test_a_page_that_only_looks_like_a_wall_is_content(title: str, body: str, headers: dict[str, str]) -> None:
    assert finding(body, title=title, headers=headers) == Finding(Wall.CONTENT)


@pytest.mark.parametrize(
    ("wall", "page"),
    [
        (Wall.NOT_FOUND, {"body": "<h1>Gone fishing</h1>", "status": 404}),
        (Wall.NOT_FOUND, {"body": PROSE, "status": 410}),
        (Wall.NOT_FOUND, {"title": "Page not found | Example", "body": "<p>We couldn't find that page.</p>"}),
        (Wall.NOT_FOUND, {"title": "404", "body": "<h1>404</h1>"}),
        (Wall.NOT_FOUND, {"title": "Seite nicht gefunden – Beispiel", "body": "<p>Diese Seite existiert nicht.</p>"}),
        (Wall.LOGIN, {"body": "<p>Denied</p>", "status": 401}),
        (Wall.LOGIN, {"title": "Log in | Example", "body": LOGIN_FORM}),
        (Wall.LOGIN, {"title": "Example", "body": f"<a>Forgot password?</a>{LOGIN_FORM}"}),
        (Wall.LOGIN, {"title": "Sign in", "body": "<p>Email</p>", "url": "https://accounts.example.org/signin?next=x"}),
        (Wall.LOGIN, {"title": "Anmelden", "body": LOGIN_FORM + CAPTCHA}),
        (Wall.REFUSED, {"title": "403 Forbidden", "body": "<h1>403 Forbidden</h1><hr>nginx", "status": 403}),
        (Wall.REFUSED, {"title": "Unavailable", "body": "<p>For legal reasons</p>", "status": 451}),
        (Wall.COOKIE_WALL, {"title": "Before you continue", "body": "<p>Cookies</p><button>Accept all</button>"}),
        (Wall.COOKIE_WALL, {"title": "Example", "body": "<p>Cookies?</p>", "url": "https://consent.example.org/?u=1"}),
        (
            Wall.COOKIE_WALL,
            {
                "body": "<div id='cookie-consent'><p>We and our partners use cookies to store and read information on "
                "your device, to show personalised ads and to measure how they do. You can change your mind at any "
                "time in the settings.</p><button>Accept all</button><button>Reject all</button></div>"
            },
        ),
        (Wall.NEEDS_SCRIPT, {"body": "<div id=root></div><script src='/app.js'></script>"}),
        (
            Wall.NEEDS_SCRIPT,
            {"body": "<noscript>You need to enable JavaScript to run this app.</noscript><script src=/a.js></script>"},
        ),
        (Wall.NEEDS_SCRIPT, {"body": f"<p>Loading…</p><script>{'x=1;' * 2000}</script>"}),
        (Wall.ELSEWHERE, {"body": "<h1>example.org</h1><p>This domain is for sale!</p>"}),
        (Wall.ELSEWHERE, {"body": PROSE, "url": "https://www.example.org/"}),
        (Wall.ELSEWHERE, {"body": PROSE, "url": "https://example.org/en/index.html"}),
    ],
)
def test_kinds_of_walls_are_distinguished(wall: Wall, page: dict[str, str]) -> None:
    found = finding(**page)  # type: ignore[arg-type]
    assert found.wall is wall
    assert not found.readable
    assert "example.org" in found.sentence


def test_the_front_page_itself_and_short_links_are_content() -> None:
    front = "https://example.org/"
    assert finding(PROSE, asked=front, url=front).wall is Wall.CONTENT
    assert finding(PROSE, asked="https://sho.rt/20240301", url=front).wall is Wall.CONTENT
    assert finding(PROSE, asked="https://example.org/news", url=front).wall is Wall.CONTENT


@pytest.mark.parametrize(
    "page",
    [
        {"body": PROSE, "head": LOCKED.replace("false", '"False"')},
        {"body": PROSE, "head": LOCKED},
        {"body": f"<article>{PROSE}<p>Subscribe to continue reading</p></article>"},
        {"body": "<article><p>The beginning.</p><p>Dieser Artikel ist für Abonnenten.</p></article>"},
    ],
)
def test_the_text_before_a_paywall_is_returned_and_marked_as_the_beginning(page: dict[str, str]) -> None:
    found = finding(**page)  # type: ignore[arg-type]
    assert found.wall is Wall.PAYWALL
    assert found.readable
    assert "only what it shows to everybody" in found.sentence


def test_a_page_that_says_it_is_free_is_free() -> None:
    assert finding(PROSE, head=LOCKED.replace("false", "true")) == Finding(Wall.CONTENT)


def test_a_long_text_is_read_even_when_the_server_says_no() -> None:
    found = finding(PROSE * 2, status=403)
    assert found.wall is Wall.CONTENT
    assert "403" in found.sentence


def test_the_length_of_a_chinese_text_is_counted_in_characters() -> None:
    chinese = "<p>" + "潮汐是海水周期性涨落的现象，主要由月球和太阳的引力引起。" * 20 + "</p>"
    assert finding(chinese + CLOUDFLARE, title="请稍候…").wall is Wall.CONTENT


@pytest.mark.parametrize(
    ("words", "shown", "empty_root", "asks", "script_chars", "expected"),
    [
        (0, 0, True, False, 1_000, True),
        (0, 5, False, True, 1_000, True),
        (150, 150, True, True, 1_000, True),
        (0, 0, False, False, 50_000, True),
        (0, 0, True, True, 0, False),  # no script would help
        (20, 20, False, False, 500, False),  # a small page with a counter
        (300, 300, True, True, 50_000, False),  # the text is there already
        (20, 400, False, False, 50_000, False),  # much is visible, but little of it is text: a menu, a form
    ],
)
def test_scripts_are_needed_if_the_page_is_empty_without_them(
    words: int, shown: int, empty_root: bool, asks: bool, script_chars: int, expected: bool
) -> None:
    facts = ResponseFacts(
        status=200,
        asked=REQUESTED,
        url=REQUESTED,
        words=words,
        shown=shown,
        empty_root=empty_root,
        asks_for_script=asks,
        script_chars=script_chars,
    )
    assert needs_script(facts) is expected


def test_invalid_addresses_do_no_harm() -> None:
    assert detect_wall(ResponseFacts(status=200, asked="http://[", url="http://[", words=500)).wall is Wall.CONTENT

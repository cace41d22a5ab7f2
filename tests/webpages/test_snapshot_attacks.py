"""Stored copies of hostile pages, opened in Chromium: none runs a script, none reaches a server."""

from __future__ import annotations

import re

import pytest
from local_web import LocalWeb
from snapshot_attacks import FETCHED, REACHING, RUNNING
from snapshot_site import CHROMIUM, chromium

from chyme.webpages.http_client.fetch_result import FetchResult
from chyme.webpages.settings import MB, CrawlLimits
from chyme.webpages.snapshot.builder import build_snapshot
from chyme.webpages.snapshot.html_sanitiser import custom_element_names, sanitise_body

pytestmark = pytest.mark.slow

needs_chromium = pytest.mark.skipif(not CHROMIUM.exists(), reason="Chromium is not installed: no copy was opened")

# Opens every copy in a frame, and then does everything to its elements that a user might do.
OPENER = """<!doctype html><body>FRAMES<script>
const kinds = ["mouseover", "mouseenter", "mousemove", "focus", "focusin", "pointerover", "toggle", "animationstart"];
function touch(frame) {
  for (const one of frame.contentDocument.querySelectorAll("*")) {
    for (const kind of kinds) one.dispatchEvent(new Event(kind, {bubbles: true}));
    if (one.focus) one.focus();
    if (one.tagName == "FORM") one.requestSubmit();
    if (one.getAttribute("target") != "_blank" && one.click) one.click();
  }
}
onload = () => {
  let touched = 0;
  for (const frame of document.querySelectorAll("iframe"))
    try { touch(frame); touched += 1 } catch (error) { document.title += " " + frame.src + error }
  setTimeout(() => fetch("/touched/" + touched + document.title), 500);
};
</script>"""


class Sheet:
    """Answers with a hostile style sheet, and with harmless files it may refer to."""

    def __init__(self, sheet: str = "") -> None:
        self._sheet = sheet

    def fetch_part(self, url: str, max_bytes: int) -> FetchResult | None:
        found = {"hostile.css": self._sheet.encode(), "ok.css": b"p{color:red}", "ok.woff2": b"wOF2" + b"\0" * 40}
        body = found.get(url.rpartition("/")[2])
        return FetchResult(url, 200, {"content-type": "text/css"}, body) if body else None


def attacks(web: LocalWeb) -> dict[str, str]:
    """Every attack, each with its own address to contact."""
    made: dict[str, str] = {}
    for name, page in [*RUNNING.items(), *((f"reaching: {name}", page) for name, page in REACHING.items())]:
        url = web.url(f"/hit/{len(made)}")
        run = f"fetch(`{url}`)"
        assert "RUN" in page or "URL" in page, name
        made[name] = page.replace("RUN", run).replace("URL", url)
    return made


def last_filter(page: str, styles: frozenset[str] = frozenset()) -> str:
    """The result of the last filter alone, for a page without any earlier filtering."""
    body = sanitise_body(page, custom_element_names(page), styles, MB)
    assert body is not None
    return body


def requests_when_opened(web: LocalWeb, pages: list[str]) -> list[str]:
    """Open and touch all pages. Return the requests to the web, apart from those for the pages themselves."""
    for number, page in enumerate(pages):
        web.page(f"/page/{number}", page)
    frames = "".join(f"<iframe src=/page/{number}></iframe>" for number in range(len(pages)))
    web.page("/opener", OPENER.replace("FRAMES", frames))
    web.page("/favicon.ico", b"")
    web.asked.clear()
    chromium(web.url("/opener"), "--dump-dom", "--virtual-time-budget=20000")
    usual = ("/page/", "/opener", "/favicon.ico")
    return [path for path in web.paths if not path.startswith(usual)]


@needs_chromium
def test_no_attack_runs_or_reaches_out_even_without_the_policy() -> None:
    with LocalWeb() as web:
        hostile = attacks(web)
        assert len(hostile) >= 100
        copies = [
            build_snapshot(page, web.url("/x"), Sheet(), CrawlLimits()).html.decode() for page in hostile.values()
        ]
        for name, sheet in FETCHED.items():
            url = web.url(f"/hit/{len(copies)}")
            fetches = Sheet(sheet.replace("RUN", f"fetch(`{url}`)").replace("URL", url))
            page = "<link rel=stylesheet href=/hostile.css><p>x"
            copies.append(build_snapshot(page, web.url("/x"), fetches, CrawlLimits()).html.decode())
            hostile[name] = page
        bodies = [last_filter(page) for page in hostile.values()]
        bare = [re.sub(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>", "", copy) for copy in copies]
        assert all(len(without_policy) < len(copy) for without_policy, copy in zip(bare, copies, strict=True))
        seen = requests_when_opened(web, [*bare, *bodies])

    names = {f"/hit/{number}": name for number, name in enumerate(hostile)}
    assert [names.get(path, path) for path in seen] == [f"/touched/{len(bare) + len(bodies)}"]


@needs_chromium
def test_the_same_attacks_work_on_pages_that_are_not_sanitised() -> None:
    with LocalWeb() as web:
        hostile = {name: page for name, page in attacks(web).items() if "refresh" not in name}
        seen = requests_when_opened(web, list(hostile.values()))

    assert len({path for path in seen if path.startswith("/hit/")}) >= 60


def attack_named(name: str) -> str:
    page = RUNNING.get(name) or REACHING[name.removeprefix("reaching: ")]
    return page.replace("RUN", "pwned()").replace("URL", "http://127.0.0.1:1/hit")


def check_elements(body: str) -> None:
    """Check that no element or attribute runs or is fetched."""
    tags = re.findall(r"<[a-zA-Z][^>]*>", body)
    unwanted = re.compile(
        r"<(script|iframe|object|embed|style|base|meta|link|template|noscript|animate|set)[\s>]", re.I
    )
    for tag in tags:
        assert not unwanted.match(tag)
        assert not re.search(r"\son\w+", re.sub(r'="[^"]*"', "", tag)), tag
        assert "javascript:" not in re.sub(r'title="[^"]*"', "", tag.lower())
    addressed = re.findall(
        r'\s(?:src|srcset|poster|action|formaction|background|data)="(?!data:)([^"]*)"', "".join(tags)
    )
    assert addressed == []


ALL = [*RUNNING, *(f"reaching: {name}" for name in REACHING)]


@pytest.mark.parametrize("name", ALL)
def test_a_copy_contains_no_script_and_no_address_except_links(name: str) -> None:
    copy = build_snapshot(attack_named(name), "http://127.0.0.1:1/x", Sheet(), CrawlLimits()).html.decode()

    check_elements(copy.partition("</head>")[2])
    found = re.findall(r'<style[^>]*>(.*?)</style>|style="([^"]*)"', copy, re.S)
    styles = "".join(inside + attribute for inside, attribute in found)
    assert not re.search(r"url\((?!data:|\"#|&quot;#)", styles), styles
    assert "@import" not in styles


@pytest.mark.parametrize(
    "page",
    [
        "<x-a><template shadowrootmode=open><script>RUN</script><img src=x onerror=RUN><svg onload=RUN></template>x",
        "<math><template shadowrootmode=open><mtext><style><!--</style><img title='--><img src=x onerror=RUN>'>",
        "<svg><template shadowrootmode=open><title><img src=x onerror=RUN></title></template></svg>",
        "<p title='<template shadowrootmode=open>'></template><img src=x onerror=RUN>'>x</p>",
        "<x-template><script>RUN</script><iframe src='javascript:RUN'></iframe></x-template>",
        "<link rel=stylesheet href=a.css onload=RUN><svg><link onload=RUN></svg><math><link onload=RUN></math>",
        "<?xml version='1.0'?><script/><img src=x onerror=RUN><style/><p title='<style/><img src=x onerror=RUN>'>x",
        "<amp-img src='javascript:RUN' onload=RUN style='background:url(http://127.0.0.1:1/)'></amp-img>",
    ],
)
def test_specially_parsed_markup_lets_no_script_through(page: str) -> None:
    copy = build_snapshot(page.replace("RUN", "pwned()"), "http://127.0.0.1:1/x", Sheet(), CrawlLimits()).html.decode()

    check_elements(copy.partition("</head>")[2])
    assert "url(" not in copy


@pytest.mark.parametrize("name", ALL)
def test_the_last_filter_is_sufficient_alone(name: str) -> None:
    body = last_filter(attack_named(name))

    check_elements(body)
    assert " style=" not in body


@pytest.mark.parametrize(
    "harmless",
    [
        '<a href="#x" rel="noopener noreferrer">x</a>',
        '<img src="data:image/png;base64,AAAA">',
        '<img srcset="data:image/png;base64,AAAA 640w" sizes="9px">',
        '<p style="color: red" class="a" data-b="c" aria-label="d">x</p>',
        '<svg viewBox="0 0 1 1"><path d="M0 0"></path><use href="#a"></use></svg>',
        "<math><mi>x</mi></math>",
    ],
)
def test_the_last_filter_lets_harmless_markup_through(harmless: str) -> None:
    assert last_filter(harmless, frozenset({"color: red"})) == harmless


@pytest.mark.parametrize(
    "dropped",
    [
        '<img src="data:text/html;base64,AAAA">',
        '<img src="data:image/svg+xml,<svg/>">',
        '<img srcset="data:image/png;base64,AAAA 1x, http://127.0.0.1:1/ 2x">',
        '<p style="color: blue">x</p>',
        '<form method="post">x</form>',
        '<a href="//127.0.0.1:1/">x</a>',
        '<svg><use href="http://127.0.0.1:1/#a"></use></svg>',
        '<svg><rect fill="url(http://127.0.0.1:1/)"></rect></svg>',
        '<p data-long="' + "x" * 600 + '">x</p>',
    ],
)
def test_the_last_filter_removes_what_is_not_allowed(dropped: str) -> None:
    body = last_filter(dropped, frozenset({"color: red"}))

    assert not re.search(r"data:|127|blue|post|xxx", body)

"""Kept copies of hostile pages, opened in Chromium: none runs a script, none reaches a server."""

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

# Opens every copy in a frame, and then does to all that is in it what a person might do.
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
    """One hostile style sheet, and good ones for it to lead to."""

    def __init__(self, sheet: str = "") -> None:
        self._sheet = sheet

    def fetch_part(self, url: str, max_bytes: int) -> FetchResult | None:
        found = {"hostile.css": self._sheet.encode(), "ok.css": b"p{color:red}", "ok.woff2": b"wOF2" + b"\0" * 40}
        body = found.get(url.rpartition("/")[2])
        return FetchResult(url, 200, {"content-type": "text/css"}, body) if body else None


def attacks(web: LocalWeb) -> dict[str, str]:
    """Every attack, with an address of its own to tell."""
    made: dict[str, str] = {}
    for name, page in [*RUNNING.items(), *((f"reaching: {name}", page) for name, page in REACHING.items())]:
        url = web.url(f"/hit/{len(made)}")
        run = f"fetch(`{url}`)"
        assert "RUN" in page or "URL" in page, name
        made[name] = page.replace("RUN", run).replace("URL", url)
    return made


def walled(page: str, styles: frozenset[str] = frozenset()) -> str:
    """What the last wall makes of a page that nothing was done to before."""
    body = sanitise_body(page, custom_element_names(page), styles, MB)
    assert body is not None
    return body


def opened(web: LocalWeb, pages: list[str]) -> list[str]:
    """What was asked of the web, apart from the pages themselves, when all of them were opened and touched."""
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
        bodies = [walled(page) for page in hostile.values()]
        bare = [re.sub(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>", "", copy) for copy in copies]
        assert all(len(one) < len(copy) for one, copy in zip(bare, copies, strict=True))
        seen = opened(web, [*bare, *bodies])

    names = {f"/hit/{number}": name for number, name in enumerate(hostile)}
    assert [names.get(path, path) for path in seen] == [f"/touched/{len(bare) + len(bodies)}"]


@needs_chromium
def test_the_same_attacks_work_on_pages_that_are_not_sanitised() -> None:
    with LocalWeb() as web:
        hostile = {name: page for name, page in attacks(web).items() if "refresh" not in name}
        seen = opened(web, list(hostile.values()))

    assert len({path for path in seen if path.startswith("/hit/")}) >= 60


def named(name: str) -> str:
    page = RUNNING.get(name) or REACHING[name.removeprefix("reaching: ")]
    return page.replace("RUN", "pwned()").replace("URL", "http://127.0.0.1:1/hit")


def check_elements(body: str) -> None:
    """No element or attribute in it runs or is fetched."""
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
def test_a_copy_holds_no_script_and_no_address_but_links(name: str) -> None:
    copy = build_snapshot(named(name), "http://127.0.0.1:1/x", Sheet(), CrawlLimits()).html.decode()

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
def test_what_is_read_in_ways_of_its_own_lets_nothing_through(page: str) -> None:
    copy = build_snapshot(page.replace("RUN", "pwned()"), "http://127.0.0.1:1/x", Sheet(), CrawlLimits()).html.decode()

    check_elements(copy.partition("</head>")[2])
    assert "url(" not in copy


@pytest.mark.parametrize("name", ALL)
def test_the_last_wall_holds_without_those_before_it(name: str) -> None:
    body = walled(named(name))

    check_elements(body)
    assert " style=" not in body


@pytest.mark.parametrize(
    "kept",
    [
        '<a href="#x" rel="noopener noreferrer">x</a>',
        '<img src="data:image/png;base64,AAAA">',
        '<img srcset="data:image/png;base64,AAAA 640w" sizes="9px">',
        '<p style="color: red" class="a" data-b="c" aria-label="d">x</p>',
        '<svg viewBox="0 0 1 1"><path d="M0 0"></path><use href="#a"></use></svg>',
        "<math><mi>x</mi></math>",
    ],
)
def test_the_last_wall_lets_through_what_is_good(kept: str) -> None:
    assert walled(kept, frozenset({"color: red"})) == kept


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
def test_the_last_wall_takes_away_what_was_not_let_in(dropped: str) -> None:
    body = walled(dropped, frozenset({"color: red"}))

    assert not re.search(r"data:|127|blue|post|xxx", body)

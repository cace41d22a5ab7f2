"""A stored copy of a page: what it contains, what it leaves out, and its limits."""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from local_web import LocalWeb
from PIL import ImageChops, ImageStat
from snapshot_site import CHROMIUM, DRAWING, PAGE, PlainFetches, build, looked_at, picture
from waiting import AMPLE

from chyme.webpages.http_client.fetch_result import FetchResult
from chyme.webpages.settings import MB, CrawlLimits
from chyme.webpages.snapshot.builder import TEXT_ONLY, Snapshot, build_snapshot

pytestmark = pytest.mark.slow

URL = "http://pages.test/dir/page.html"
PNG = picture("any")
WOFF2 = b"wOF2" + b"\0" * 60


class Web:
    """Answers requests for parts by their address."""

    def __init__(self, parts: Mapping[str, bytes] | Callable[[str], bytes | None]) -> None:
        self._parts = parts if callable(parts) else dict(parts).get
        self._lock = threading.Lock()
        self.requested: list[str] = []

    def fetch_part(self, url: str, max_bytes: int) -> FetchResult | None:
        with self._lock:
            self.requested.append(url)
        body = self._parts(url)
        mime = "text/css" if url.endswith(".css") else "application/octet-stream"
        return None if body is None or len(body) > max_bytes else FetchResult(url, 200, {"content-type": mime}, body)


def snapshot_of(
    page: str,
    parts: Mapping[str, bytes] | Callable[[str], bytes | None] | None = None,
    limits: CrawlLimits | None = None,
) -> tuple[Snapshot, str, list[str]]:
    web = Web(parts or {})
    made = build_snapshot(page, URL, web, limits or CrawlLimits())
    return made, made.html.decode("utf-8"), web.requested


def as_data(mime: str, data: bytes) -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


@pytest.mark.skipif(not CHROMIUM.exists(), reason="Chromium is not installed: the copy was not looked at")
def test_the_copy_looks_like_the_page_and_makes_no_request(tmp_path: Path) -> None:
    with LocalWeb() as web:
        url = build(web)
        page = looked_at(url, tmp_path / "page.png")
        made = build_snapshot(PAGE, url, PlainFetches(), CrawlLimits())
        file = tmp_path / "copy.html"
        file.write_bytes(made.html)
        web.asked.clear()
        copy = looked_at(file.as_uri(), tmp_path / "copy.png")

        assert web.asked == []
    assert (made.left_out, made.notes) == (0, ())
    assert page.size == copy.size
    assert len(page.resize((100, 140)).getcolors(14_000) or ()) > 100  # the page is not blank
    assert max(ImageStat.Stat(ImageChops.difference(page, copy)).mean) < 0.05


def test_every_kind_of_picture_is_in_the_copy() -> None:
    names = ["plain", "lazy", "middle", "unseen", "tile", "tile2", "deep", "stripe", "icon"]
    with LocalWeb() as web:
        fetches = PlainFetches()
        made = build_snapshot(PAGE, build(web), fetches, CrawlLimits())
    html = made.html.decode()

    assert [name for name in names if as_data("image/png", picture(name)) not in html] == []
    assert as_data("image/webp", picture("modern", "WEBP")) in html
    assert "never-asked" not in " ".join(fetches.asked)  # no element has the class
    assert made.parts == len(fetches.asked) == 14


def test_the_head_is_ours_and_the_rest_of_the_page_keeps_what_styles_depend_on() -> None:
    _, html, _ = snapshot_of(
        '<!doctype html><html lang=de class="a b" data-theme=dark onclick=x><head><title>Käse &lt;3</title>'
        "<meta name=viewport content='width=device-width'><link rel=canonical href=/c><meta property=og:x content=y>"
        "<body id=top class=c style='color:red' bgcolor=#fff onload=x data-page=7><p>Hallo"
    )

    assert html.startswith('<!DOCTYPE html><html lang="de" class="a b" data-theme="dark"><head><meta charset="utf-8">')
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:;" in html
    assert "<title>Käse &lt;3</title>" in html
    assert '<meta name="viewport" content="width=device-width">' in html
    assert '<meta name="canonical" content="http://pages.test/c">' in html
    assert '<meta name="referrer" content="no-referrer">' in html
    assert "og:x" not in html
    assert '<body id="top" class="c" style="color:red" bgcolor="#fff" data-page="7"><p>Hallo</p></body></html>' in html


@pytest.mark.parametrize(
    ("first", "ours"),
    [
        ("<!DOCTYPE html>", "<!DOCTYPE html><html>"),
        ("", "<html>"),
        ("<!-- x --> <!doctype HTML>", "<!DOCTYPE html><html>"),
        ('<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">', "<html>"),
        ('<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">', "<html>"),
        (
            '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/x.dtd">',
            '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN"',
        ),
        ('<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "http://x">', "<!DOCTYPE html><html>"),
    ],
)
def test_the_layout_mode_is_that_of_the_page(first: str, ours: str) -> None:
    assert snapshot_of(f"{first}<p>x")[1].startswith(ours)


@pytest.mark.parametrize(
    ("written", "link"),
    [
        ("../a?b=1&amp;c=2", 'href="http://pages.test/a?b=1&amp;c=2" target="_blank" rel="noopener noreferrer"'),
        ("#part", 'href="#part" rel="noopener noreferrer"'),
        ("page.html#part", 'href="#part" rel="noopener noreferrer"'),
        ("mailto:a@b.test", 'href="mailto:a@b.test" target="_blank" rel="noopener noreferrer"'),
        ("tel:+39123", 'href="tel:+39123" target="_blank" rel="noopener noreferrer"'),
        ("javascript:x()", 'href="#" rel="noopener noreferrer"'),
        ("vbscript:x()", 'rel="noopener noreferrer"'),
        ("data:text/html,x", 'rel="noopener noreferrer"'),
        ("file:///etc/passwd", 'rel="noopener noreferrer"'),
        ("http://[broken", 'rel="noopener noreferrer"'),
    ],
)
def test_links_are_absolute_or_none(written: str, link: str) -> None:
    assert f"<a {link}>x</a>" in snapshot_of(f'<a href="{written}" ping=/p target=top>x</a>')[1]


def test_the_base_of_the_page_counts_for_its_parts() -> None:
    assert snapshot_of("<base href=//other.test/q/><img src=a.png>")[2] == ["http://other.test/q/a.png"]


@pytest.mark.parametrize(
    ("markup", "wanted"),
    [
        ("<img src=a.png>", "a.png"),
        ("<img src=spacer.gif data-src=b.png>", "b.png"),
        ("<img data-original=b.png>", "b.png"),
        ("<img src=a.png data-src='{\"json\": 1}'>", "a.png"),
        ("<img srcset='a.png 300w, b.png 1200w, c.png 2600w'>", "b.png"),
        ("<img sizes=250px srcset='a.png 300w, b.png 1200w'>", "a.png"),
        ("<img srcset='b.png 2x, a.png'>", "a.png"),
        ("<img srcset='c.png 3000w, b.png 2000w'>", "b.png"),
        ("<img srcset='a.png 1e999w'>", "a.png"),
        ("<amp-img src=a.png width=4 height=3 layout=responsive></amp-img>", "a.png"),
        ("<amp-anim srcset='a.png 800w'></amp-anim>", "a.png"),
        (
            "<amp-img src=a.png><noscript><img src=a.png></noscript><amp-img src=b.png></amp-img></amp-img>",
            "a.png",
        ),
        ("<img data-srcset='b.png 800w' src=a.png>", "b.png"),
        (
            "<picture><source srcset=n.png media='(max-width: 600px)'><source srcset=w.png><img src=a.png></picture>",
            "w.png",
        ),
        ("<picture><source srcset=n.jxl type=image/jxl><img src=a.png></picture>", "a.png"),
        ("<picture><source srcset=d.png media='(prefers-color-scheme: dark)'><img src=a.png></picture>", "a.png"),
        ("<noscript><img src=a.png></noscript>", "a.png"),
        ("<img class=lazy data-src=a.png><noscript><img src=a.png></noscript>", "a.png"),
        ("<noscript><img src=a.png></noscript><img data-src=a.png>", "a.png"),
        ("<noscript><img src=http://count.test/visit width=1 height=1></noscript>", None),
        ("<video poster=a.png src=film.mp4></video>", "a.png"),
        ("<input type=image src=a.png>", "a.png"),
        ("<object type=image/png data=a.png></object>", "a.png"),
        ("<svg><image xlink:href=a.png /></svg>", "a.png"),
        ("<td background=a.png>", "a.png"),
        ("<table background=a.png><tr><td>x</table>", "a.png"),
        ("<div data-bg=a.png>x</div>", "a.png"),
        ("<p style='background:url(a.png)'>x", "a.png"),
        ("<link rel=icon href=a.png>", "a.png"),
    ],
)
def test_each_picture_is_fetched_from_one_address_and_displayed_once(markup: str, wanted: str | None) -> None:
    if markup.startswith("<td"):
        markup = f"<table><tr>{markup}x</table>"
    made, html, requested = snapshot_of(markup, lambda url: PNG)

    assert requested == ([f"http://pages.test/dir/{wanted}"] if wanted else [])
    assert html.count(as_data("image/png", PNG)) == made.parts == (1 if wanted else 0)


def test_the_second_address_is_used_when_the_first_cannot_be_fetched() -> None:
    made, html, requested = snapshot_of(
        "<img src=small.png data-src=gone.png>", {"http://pages.test/dir/small.png": PNG}
    )

    assert [address.rpartition("/")[2] for address in requested] == ["gone.png", "small.png"]
    assert as_data("image/png", PNG) in html
    assert (made.parts, made.left_out) == (1, 1)


def test_only_bytes_that_are_a_picture_are_stored_as_a_picture() -> None:
    made, html, _ = snapshot_of("<img src=a.png alt=cat><img src=b.png>", lambda url: b"<html><script>x</script>")

    assert '<img alt="cat">' in html
    assert (made.parts, made.left_out) == (0, 2)
    assert made.notes == ("pictures, styles and fonts that could not be fetched: 2",)


def test_a_drawing_is_stored_without_its_scripts() -> None:
    _, html, _ = snapshot_of("<img src=a.svg>", lambda url: DRAWING.encode())

    drawn = base64.b64decode(re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', html)[0])
    assert b"circle" in drawn
    assert b"script" not in drawn and b"onload" not in drawn


@pytest.mark.parametrize("sign", [r"\d83d\de00", r"\1", r"\fffe", r"\0", r"\c"])
def test_forbidden_characters_break_neither_a_drawing_nor_the_page(sign: str) -> None:
    drawing = f"""<svg xmlns="http://www.w3.org/2000/svg"><style>a{{content:'{sign}'}}</style>
    <circle r="1" style="--i:'{sign}'"/></svg>"""
    page = f"""<style>@import 'a.css' layer({sign}b);q{{content:'{sign}'}}</style><img src=a.svg>
    <b style="--i:'{sign}'">x</b>"""
    made, html, _ = snapshot_of(page, lambda url: drawing.encode() if url.endswith("svg") else b"p{}")

    drawn = base64.b64decode(re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', html)[0]).decode()
    assert "circle" in drawn
    assert (made.parts, made.left_out, made.notes) == (2, 0, ())
    assert ">x</b>" in html
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", html + drawn)


def test_there_is_a_copy_even_if_fetching_a_part_raises() -> None:
    def breaks(url: str) -> bytes:
        raise OverflowError if "big" in url else ValueError

    for name in ("big", "odd"):
        made, html, _ = snapshot_of(f"<img src={name}.png><p>here", breaks)
        assert made.notes == (TEXT_ONLY,)
        assert "<pre>here</pre>" in html


@pytest.mark.parametrize("charset", ["idna", "a\0b", "rot13", "undefined"])
def test_a_sheet_with_an_invalid_encoding_is_read(charset: str) -> None:
    class Odd(Web):
        def fetch_part(self, url: str, max_bytes: int) -> FetchResult | None:
            return FetchResult(url, 200, {"content-type": f"text/css; charset={charset}"}, b"p{color:red}" + b"\n" * 99)

    made = build_snapshot("<link rel=stylesheet href=a.css><p>x", URL, Odd({}), CrawlLimits())
    assert b"p{color:red}" in made.html


LATE = "<link rel=stylesheet href=a.css media=print"
TWIN = "<noscript><link rel=stylesheet href=a.css></noscript>"


@pytest.mark.parametrize(
    ("markup", "styles"),
    [
        (f"""{LATE} onload="this.media='all'">{TWIN}""", "<style>p{}</style>"),
        (f"""{LATE} onload="this.onload=null;this.media='all'">""", "<style>p{}</style>"),
        (f"{LATE}>{TWIN}", '<style media="print">p{}</style><style>p{}</style>'),
        (f"{LATE}>{LATE}>", '<style media="print">p{}</style>'),
        (f"{LATE} onload='x()'>", '<style media="print">p{}</style>'),
        ("<link rel=preload as=style href=a.css onload=\"this.rel='stylesheet'\">" + TWIN, "<style>p{}</style>"),
    ],
)
def test_a_sheet_that_is_activated_late_is_stored_for_its_final_media(markup: str, styles: str) -> None:
    _, html, requested = snapshot_of(f"{markup}<body onload=x()><p onload=x()>x", lambda url: b"p{}")

    assert "".join(re.findall("<style.*</style>", html)) == styles
    assert requested == ["http://pages.test/dir/a.css"]
    assert "onload" not in html


def test_the_order_of_layers_is_that_of_the_sheet() -> None:
    style = "@layer d,c;@import 'gone.css' layer(c);@layer b;@import 'a.css' layer(a);@layer e;p{color:red}"
    html = snapshot_of(f"<style>{style}</style><p>x", {"http://pages.test/dir/a.css": b"q{}"})[1]

    assert "<style>@layer d,c;@layer b;@layer a{q{}}@layer d,c;@layer b;@layer e;p{color:red}</style>" in html


def test_shadow_trees_are_in_the_copy() -> None:
    html = snapshot_of(
        "<my-note><template shadowrootmode=open><p>in its shadow</p><img src=a.png onerror=x()></template>in the light"
        "</my-note><template><p>of no use</template><p>after it",
        lambda url: PNG,
    )[1]

    assert f'<my-note><p>in its shadow</p><img src="{as_data("image/png", PNG)}">in the light</my-note>' in html
    assert "<p>after it</p>" in html
    assert "of no use" not in html and "template" not in html and "onerror" not in html


def test_self_closed_elements_swallow_nothing_in_xhtml() -> None:
    page = '<html><head><script src="a>b"/><style type="text/css"  /><title/></head><body><p>here</p></body></html>'

    assert "<body><p>here</p></body>" in snapshot_of(f'<?xml version="1.0" encoding="utf-8"?>\n{page}')[1]
    assert "here" not in snapshot_of(page)[1].partition("<body")[2]  # as in browsers


def test_sheets_are_filled_with_what_they_import() -> None:
    parts = {
        "http://pages.test/s/a.css": b"@import 'b.css' (min-width: 1px); p { color: red; background: url(i.png) }",
        "http://pages.test/s/b.css": b"@import 'a.css'; @import url(deep/c.css) layer(base); b { color: blue }",
        "http://pages.test/s/deep/c.css": b"i { background: url(../i.png) }",
        "http://pages.test/s/i.png": PNG,
    }
    made, html, _ = snapshot_of("<link rel=stylesheet href=/s/a.css media=screen><p><i>x</i>", parts)

    inside = f"url({as_data('image/png', PNG)})"
    assert (
        f'<style media="screen">@media (min-width: 1px){{@layer base{{i {{ background: {inside} }}}}'
        "b { color: blue }}"
        f"p {{ color: red; background: {inside} }}</style>"
    ) in html
    assert (made.parts, made.left_out) == (4, 0)


def test_fonts_are_stored_for_letters_that_the_page_has() -> None:
    def face(name: str, letters: str) -> str:
        return (
            f"@font-face{{font-family:{name};unicode-range:{letters};"
            f"src:url({name}.eot),url({name}.woff) format('woff'),url({name}.woff2) format('woff2')}}"
        )

    style = face("latin", "U+0-FF") + face("greek", "U+370-3FF")
    made, html, requested = snapshot_of(f"<style>{style}</style><p>Latin", lambda url: WOFF2)

    assert requested == ["http://pages.test/dir/latin.woff2"]
    assert f"src:url({as_data('font/woff2', WOFF2)})" in html
    assert "greek" not in html
    assert made.left_out == 0


def test_a_font_that_cannot_be_fetched_leaves_no_rule_behind() -> None:
    assert (
        "font-face" not in snapshot_of("<style>@media all{@font-face{font-family:a;src:url(a.woff2)}}p{}</style>x")[1]
    )


def test_a_missing_mask_hides_its_element() -> None:
    html = snapshot_of("<style>p{mask-image:url(a.svg);background:url(b.png) red}</style><p>x")[1]

    assert "mask-image:linear-gradient(transparent,transparent);background:none red" in html


def test_frames_and_films_become_links() -> None:
    html = snapshot_of(
        "<iframe src=/f></iframe><audio src=/s.mp3></audio><video><source src=/v.mp4></video><embed src=/e>"
    )[1]

    assert re.findall(r'<a href="([^"]+)"', html) == [
        f"http://pages.test/{name}" for name in ("f", "s.mp3", "v.mp4", "e")
    ]
    assert not re.search(r"<(iframe|audio|video|source|embed)", html)


def test_forms_are_inert_and_contain_no_secret() -> None:
    html = snapshot_of(
        "<form action=/go method=post><input name=q value=tea autofocus><input type=password value=pass-1>"
        "<input type=hidden value=token-1><button formaction=/x>Go</button><input type=checkbox checked></form>"
        "<p contenteditable>x"
    )[1]

    assert '<form method="dialog"><input name="q" value="tea" inert=""><input type="password" inert="">' in html
    assert '<button inert="">Go</button><input type="checkbox" checked=""></form><p>x</p>' in html
    assert "pass-1" not in html and "token-1" not in html


def test_a_noscript_text_that_asks_for_scripts_is_dropped_but_others_stay() -> None:
    html = snapshot_of("<noscript>Please enable JavaScript.</noscript><noscript><p>Our address: Rome</p></noscript>")[1]

    assert "enable" not in html
    assert "<p>Our address: Rome</p>" in html


def test_custom_elements_and_drawings_stay_in_place() -> None:
    markup = (
        '<x-card class="a"><svg viewBox="0 0 1 1"><use href="#i"></use><path d="M0 0" fill="red"></path></svg></x-card>'
    )

    assert f"<body>{markup}</body>" in snapshot_of(markup)[1]


def test_icons_of_another_drawing_are_drawn_in_place() -> None:
    sprite = b"""<svg xmlns="http://www.w3.org/2000/svg"><symbol id="leaf" viewBox="0 0 9 9" onload="x()">
    <path d="M0 0h9" fill="url(http://out.test)"/><script>x()</script><g><circle r="4"/></g></symbol></svg>"""
    page = (
        '<svg class="icon"><use xlink:href="/icons.svg#leaf"></use></svg><svg><use href="/icons.svg#gone"></use></svg>'
    )
    made, html, requested = snapshot_of(page, lambda url: sprite)

    drawn = re.sub(r"\s*\n\s*", "", html.partition("<body>")[2])
    assert drawn.startswith(
        '<svg class="icon"><svg viewBox="0 0 9 9"><path d="M0 0h9" fill="none"></path><g><circle r="4"></circle></g>'
    )
    assert requested == ["http://pages.test/icons.svg"]
    assert made.parts == 1
    assert "gone" not in html and "script" not in drawn


def test_pictures_written_into_the_page_stay() -> None:
    inside = as_data("image/png", PNG)
    made, html, requested = snapshot_of(f'<img src="{inside}"><p style="background:url({inside})">x')

    assert html.count(inside) == 2
    assert (requested, made.parts, made.left_out) == ([], 0, 0)


def test_within_a_tight_limit_styles_precede_pictures_and_pictures_precede_fonts() -> None:
    parts: dict[str, bytes] = {
        "http://pages.test/a.css": b"p{color:red}@font-face{font-family:f;src:url(f.woff2)}",
        "http://pages.test/f.woff2": WOFF2 + b"\0" * 20_000,
        "http://pages.test/1.png": PNG + b"\0" * 20_000,
        "http://pages.test/2.png": PNG + b"\0" * 400_000,
        "http://pages.test/3.png": PNG + b"\0" * 20_001,
    }
    page = "<link rel=stylesheet href=/a.css><p>x<img src=/1.png><img src=/2.png><img src=/3.png>"
    made, html, _ = snapshot_of(page, parts, CrawlLimits(snapshot_bytes=85_000))

    assert "p{color:red}" in html
    assert html.count("data:image/png") == 2
    assert "data:font" not in html
    assert len(made.html) <= 85_000
    assert (made.parts, made.left_out) == (3, 2)
    assert made.notes == ("pictures, styles and fonts beyond the limits of a copy (web_parts, web_snapshot_bytes): 2",)


def test_no_more_parts_are_requested_than_allowed() -> None:
    page = "".join(f"<img src={number}.png>" for number in range(50))
    made, _, requested = snapshot_of(page, lambda url: PNG, CrawlLimits(parts=20))

    assert len(requested) == 20
    assert (made.parts, made.left_out) == (20, 30)


def test_parts_are_fetched_several_at_a_time() -> None:
    together = threading.Barrier(3, timeout=AMPLE)  # breaks and fails the part unless three parts are fetched at once

    def with_others(url: str) -> bytes:
        if url.endswith(("/0.png", "/1.png", "/2.png")):
            together.wait()
        return PNG

    made, _, _ = snapshot_of("".join(f"<img src={number}.png>" for number in range(30)), with_others)

    assert made.parts == 30


LAUGHS = "".join(
    f'<!ENTITY {"abcdefghij"[at]} "{("&" + "abcdefghij"[at - 1] + ";") * 10 if at else "ha"}">' for at in range(10)
)
# Functions, because the pages take some 150 MB.
HOSTILE: dict[str, Callable[[], tuple[str, bytes | None]]] = {
    "100,000 nested elements": lambda: ("<div>" * 100_000 + "here", None),
    "100,000 nested drawings": lambda: ("<svg>" + "<g>" * 100_000 + "<text>here", None),
    "a million pictures": lambda: ("<p>here</p>" + "<img src=/a.png>" * 1_000_000, PNG),
    "a page of 20 MB": lambda: ("<p>here</p>" + "some <b>words</b> &amp; " * (20 * MB // 23), None),
    "a style sheet of 20 MB": lambda: ("<style>" + "p{color:red}\n" * (20 * MB // 13) + "</style>here", None),
    "a nested style sheet": lambda: ("<style>" + "a{" * 500_000 + "</style>here", None),
    "styles nested in an attribute": lambda: ("<p style='a:" + "(" * 50_000 + "'>here", None),
    "data of 10 MB": lambda: (f"<img src='data:image/png;base64,{'A' * 10 * MB}'>here", None),
    "a million attributes": lambda: ("<div " + " ".join(f"a{number}" for number in range(1_000_000)) + ">here", None),
    "formatting that multiplies": lambda: (
        "here<p>" + "".join(f"<b id={at}>" for at in range(3000)) + "</p>" + "<p>x</p>" * 99_999,
        None,
    ),
    "nothing but brackets": lambda: ("here" + "<" * 20 * MB, None),
    "sheets that import each other": lambda: (
        "<link rel=stylesheet href=/a.css>here",
        b"@import 'a.css';@import 'a.css?b';p{}",
    ),
    "a drawing that laughs": lambda: ("<img src=/a.svg>here", f"<!DOCTYPE svg [{LAUGHS}]><svg>&j;</svg>".encode()),
    "a picture with 40,000 others": lambda: ("<picture>" + "<source><img src=/a.png>" * 40_000 + "</picture>here", PNG),
    "90,000 sheets": lambda: ("".join(f"<link rel=stylesheet href=/{at}.css>" for at in range(90_000)) + "here", None),
    "90,000 bodies": lambda: ("<i style=a></i>" * 90_000 + "<body></body>" * 90_000 + "here", None),
    "scripts closed at once": lambda: ("<?xml ?>here" + "<script a='" * 200_000, None),
    "nested noscript": lambda: ("<noscript>" * 100_000 + "here", None),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_ends_with_a_copy(name: str) -> None:
    page, part = HOSTILE[name]()
    made, html, _ = snapshot_of(page, lambda url: part)

    assert "here" in html.partition("<body")[2]
    assert len(made.html) <= CrawlLimits().snapshot_bytes


def test_a_page_that_cannot_be_parsed_is_stored_as_text() -> None:
    limits = CrawlLimits(snapshot_bytes=10_000)
    made, html, _ = snapshot_of(
        "<title>x</title><script>no()</script><p>One &amp; two</p>" + "<p>three</p>" * 2_000, limits=limits
    )

    assert made.notes[0] == TEXT_ONLY
    assert "<pre>x One &amp; two three" in html
    assert "no()" not in html
    assert len(made.html) <= 10_000


@pytest.mark.parametrize("page", ["", " ", "\0", "\ud800<p>\udfff", "<", "<!doctype html>", "no markup & nothing else"])
def test_odd_pages_make_a_copy_too(page: str) -> None:
    made, html, _ = snapshot_of(page)

    assert html.endswith("</body></html>")
    assert made.notes == ()


def test_the_pages_of_the_corpus_keep_their_words(corpus: Path) -> None:
    for file in sorted((corpus / "html").glob("*.html"))[::6]:
        page = file.read_text("utf-8", "replace")
        made, html, _ = snapshot_of(page)
        assert TEXT_ONLY not in made.notes, file.name
        assert _words(html) >= 0.9 * _words(page), file.name


def _words(html: str) -> int:
    bare = re.sub(
        r"(?is)<(script|style|noscript|template|svg|iframe)\b.*?</\1\s*>|<!--.*?-->|<title.*?</title>", " ", html
    )
    return len(re.sub(r"<[^<>]*>", " ", bare).split())

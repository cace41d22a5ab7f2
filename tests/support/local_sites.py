"""The pages of the local web: each function adds one site and returns the address to begin with.

Servers that break HTTP itself are in `local_faults`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from html import escape
from pathlib import Path

from local_web import Asked, Listener, LocalWeb, Page, Wire

SAMPLES = Path(__file__).parents[1] / "samples"
TITLE = "How the tide mill came back"
CHANGED = "This line was written by a script."
RENDERED = "The ferry leaves from the north pier"
PARAGRAPHS = (
    "For three hundred years the mill at Saltmarsh Quay ground its corn by the moon. Twice a day the sea filled the "
    "pond behind the dam, and twice a day, when the water outside had fallen far enough, the miller opened the gate "
    "and let the pond run out through the wheel. Nobody had to wait for wind, and nobody had to buy coal.",
    "When the road bridge was built in 1931 the pond silted up within ten years. The wheel stood still, the roof fell "
    "in, and a colony of swifts took over the upper floor. What remained on the map was a name and a small blue shape "
    "that was dry at every state of the tide.",
    "The people who brought it back were neither engineers nor millers. Marta Oyelaran taught geography at the school "
    "across the creek; her neighbour Iven Brask had repaired boats until his knees gave out. They began by measuring: "
    "a painted pole, a notebook, and one reading every hour for a whole spring. The notebook showed that the creek "
    "still rose by almost four metres, which is more than the old wheel had ever needed.",
    "Digging out the pond took two summers and the patience of everybody who lived on the lane. The mud was spread on "
    "the fields behind the church, where it grew, in the first year, an astonishing quantity of cabbages. The new gate "
    "is made of oak, like the old one, but its hinges came from a scrapped lifeboat.",
)
NOTES = (
    "Readings were taken at the pole, not at the gate, so they are about two centimetres too high.",
    "The wheel turns for five hours after each high water, a little longer at springs.",
    "Flour from the first milling was sold in paper bags, and ran out before noon.",
)
CODE = "def head(pond, creek):\n    return max(0.0, pond - creek)"
STYLE = "body { font-family: serif; color: #223; background: #f6f1e7 }\nh1 { color: #7a1f1f }\n"


def article(web: LocalWeb, at: str = "/article") -> str:
    """A page that has everything: metadata, headings, lists, a table, code, links, pictures, a style, a script."""
    metadata = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": TITLE,
        "author": {"@type": "Person", "name": "Marta Oyelaran"},
        "datePublished": "2024-05-17T08:30:00+02:00",
        "publisher": {"@type": "Organization", "name": "The Quay Gazette"},
        "inLanguage": "en",
    }
    web.page(at, _article_html(web, at, metadata))
    web.page(f"{at}/style.css", STYLE, {"Content-Type": "text/css"})
    web.page(f"{at}/change.js", f"document.getElementById('late').textContent = {CHANGED!r};", _script())
    web.page(f"{at}/mill.jpg", (SAMPLES / "pages" / "sign.jpg").read_bytes(), {"Content-Type": "image/jpeg"})
    web.page(f"{at}/dot.png", (SAMPLES / "dot.png").read_bytes(), {"Content-Type": "image/png"})
    return web.url(at)


def _article_html(web: LocalWeb, at: str, metadata: object) -> str:
    text = [f"<p>{paragraph}</p>" for paragraph in PARAGRAPHS]
    notes = "".join(f"<li>{note}</li>" for note in NOTES)
    rows = "".join(f"<tr><td>{day}</td><td>{rise}</td></tr>" for day, rise in (("1 May", "3.7 m"), ("2 May", "3.9 m")))
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{TITLE} | The Quay Gazette</title>
<link rel="canonical" href="{web.url(at)}"><link rel="stylesheet" href="{at}/style.css">
<meta name="description" content="Two neighbours, a pole and a notebook."><meta name="author" content="Marta Oyelaran">
<meta property="og:title" content="{TITLE}"><meta property="og:type" content="article">
<meta property="og:site_name" content="The Quay Gazette"><meta property="og:image" content="{at}/mill.jpg">
<meta property="og:description" content="Two neighbours, a pole and a notebook.">
<meta property="article:published_time" content="2024-05-17T08:30:00+02:00">
<script type="application/ld+json">{json.dumps(metadata)}</script></head>
<body><nav><a href="/">Home</a> <a href="/news">News</a> <a href="/tides">Tides</a> <a href="/shop">Shop</a></nav>
<main><article><h1>{TITLE}</h1><p class="byline">By Marta Oyelaran, 17 May 2024</p>
<img src="{at}/mill.jpg" alt="The sign at the mill" width="400">
{text[0]}{text[1]}<h2>A pole and a notebook</h2>{text[2]}
<table><thead><tr><th>Day</th><th>Rise</th></tr></thead><tbody>{rows}</tbody></table>
<h2>Two summers of mud</h2>{text[3]}<ul>{notes}</ul>
<p>The arithmetic is in one line, and <a href="/tides/method">the method</a> is written down:</p>
<pre><code class="language-python">{escape(CODE)}</code></pre>
<img src="{at}/dot.png" alt="" width="8" height="8"><p id="late">This line waits.</p></article></main>
<footer><a href="/imprint">Imprint</a> <a href="/privacy">Privacy</a></footer>
<script src="{at}/change.js"></script></body></html>"""


def javascript_only(web: LocalWeb, at: str = "/app") -> str:
    """An empty page whose article is written by a script."""
    words = [RENDERED + " at seven in the morning.", *PARAGRAPHS[:3]]
    script = f"""const root = document.getElementById("root");
document.title = "Ferry times";
root.innerHTML = "<article><h1>Ferry times</h1>" + {json.dumps(words)}.map(p => "<p>" + p + "</p>").join("")
  + "</article>";"""
    web.page(f"{at}/bundle.js", script, _script())
    return web.page(
        at,
        '<!DOCTYPE html><html><head><meta charset="utf-8"><title>Loading</title></head><body><div id="root"></div>'
        f'<noscript>Please enable JavaScript.</noscript><script src="{at}/bundle.js"></script></body></html>',
    )


def redirect_chain(web: LocalWeb, at: str = "/chain") -> str:
    """301, 302, 307, 308, 303, with absolute, relative and non-ASCII targets, to the article."""
    steps = (
        (301, web.url(f"{at}/2")),
        (302, f"{at}/deep/3"),
        (307, "../4?of=café"),
        (308, "//" + web.host + f"{at}/5#part"),
        (303, article(web, f"{at}/end")),
    )
    names = (at, f"{at}/2", f"{at}/deep/3", f"{at}/4", f"{at}/5")
    for path, (status, target) in zip(names, steps, strict=True):
        web.page(path, headers={"Location": target.encode().decode("latin-1")}, status=status)
    return web.url(at)


def meta_refresh(web: LocalWeb, at: str = "/moved") -> str:
    """A page that forwards its reader."""
    target = article(web, f"{at}/to")
    return web.page(at, f'<meta http-equiv="refresh" content="0; url={target}"><title>Moved</title><p>Moved.')


def redirect_loop(web: LocalWeb, at: str = "/loop") -> str:
    web.page(f"{at}/back", headers={"Location": at}, status=302)
    return web.page(at, headers={"Location": f"{at}/back"}, status=302)


def endless_redirects(web: LocalWeb, at: str = "/further") -> str:
    """Every step leads to the next number, so that no address comes twice."""

    def on(request: Asked, _wire: Wire) -> Page:
        step = int(request.path.rpartition("/")[2])
        return Page(status=302, headers=(("Location", f"{at}/{step + 1}"),))

    web.handler(f"{at}/*", on)
    return web.url(f"{at}/1")


def pdf(web: LocalWeb, at: str = "/files/contract.pdf") -> str:
    return web.page(at, (SAMPLES / "contract.pdf").read_bytes(), {"Content-Type": "application/pdf"})


def picture(web: LocalWeb, at: str = "/files/sign.jpg") -> str:
    return web.page(at, (SAMPLES / "pages" / "sign.jpg").read_bytes(), {"Content-Type": "image/jpeg"})


JAPANESE = "港の朝は早い。漁師たちは日の出前に船を出し、昼までに市場へ戻る。"
GERMAN = "Über den Dächern hängt früh der Nebel, später scheint die Sonne."


def charset_lies(web: LocalWeb, at: str = "/charset") -> Mapping[str, tuple[str, str]]:
    """Pages that declare a wrong encoding: address, and a line that must be decoded correctly."""

    def page(name: str, line: str, encoding: str, header: str | None, meta: str | None = None) -> tuple[str, str]:
        meta_element = f'<meta charset="{meta}">' if meta else ""
        html = f"<!DOCTYPE html><html><head>{meta_element}<title>{name}</title></head><body><p>{line}</p></body></html>"
        content_type = f"text/html; charset={header}" if header else "text/html"
        return web.page(f"{at}/{name}", html.encode(encoding), {"Content-Type": content_type}), line

    return {
        "says latin-1, is UTF-8": page("latin", GERMAN, "utf-8", "iso-8859-1"),
        "says UTF-8, is Shift-JIS": page("shift", JAPANESE * 3, "shift_jis", "utf-8"),
        "header right, meta wrong": page("header", GERMAN, "iso-8859-1", "iso-8859-1", "utf-8"),
        "header wrong, meta right": page("meta", JAPANESE, "shift_jis", "utf-8", "shift_jis"),
        "no header, meta right": page("only_meta", JAPANESE, "euc_jp", None, "euc-jp"),
        "no word of it": page("silent", GERMAN, "utf-8", None),
        "says UTF-8, is UTF-16 with a mark": page("wide", GERMAN, "utf-16", "utf-8"),
        "says nonsense": page("nonsense", GERMAN, "utf-8", "no-such-thing"),
    }


def status(web: LocalWeb, code: int, at: str = "", text: str = "Something is not as it should be.") -> str:
    """An error status with a readable page."""
    title = {404: "Page not found", 410: "Gone for good", 500: "Internal error"}.get(code, f"Error {code}")
    body = f"<!DOCTYPE html><html><head><title>{title}</title></head><body><h1>{title}</h1><p>{text}</p></body></html>"
    return web.page(at or f"/status/{code}", body, status=code)


def soft_404(web: LocalWeb, at: str = "/soft") -> str:
    """Answers 200 with the text of a 404 page."""
    return web.page(
        at,
        "<!DOCTYPE html><title>Page not found | The Quay Gazette</title><h1>Page not found</h1>"
        "<p>The page you are looking for does not exist or was moved.</p><a href='/'>Home</a>",
    )


def busy(web: LocalWeb, code: int, seconds: int, date: bool = False) -> str:
    """429 or 503 with Retry-After: in seconds, or as the moment so many seconds from now."""
    path = f"/busy/{code}-{seconds}-{'date' if date else 'seconds'}"

    def answer(_request: Asked, _wire: Wire) -> Page:
        moment = format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)
        return Page(b"<p>Later, please.", code, (("Retry-After", moment if date else str(seconds)),))

    return web.handler(path, answer)


def bot_walls(web: LocalWeb, at: str = "/wall") -> Mapping[str, str]:
    """Three well-known shapes of "prove that you are no robot"."""
    return {
        "challenge": web.page(
            f"{at}/challenge",
            "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body><h1>127.0.0.1</h1>"
            "<h2>Checking your browser before you go on</h2><noscript>Enable JavaScript and cookies to continue"
            '</noscript><form id="challenge-form"></form>'
            '<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script></body></html>',
            {"Server": "cloudflare", "CF-Mitigated": "challenge"},
            403,
        ),
        "denied": web.page(
            f"{at}/denied",
            "<!DOCTYPE html><html><head><title>Access denied</title></head><body><h1>Pardon our interruption</h1>"
            "<p>Something about your browser made us think you might be a bot.</p>"
            '<script src="/_Incapsula_Resource?SWJIYLWA=1"></script><p>Incident ID: 12-34</p></body></html>',
            {"X-Iinfo": "1-2-3"},
            503,
        ),
        "captcha": web.page(
            f"{at}/captcha",
            "<!DOCTYPE html><html><head><title>Are you a robot?</title></head><body>"
            "<p>To continue, please confirm that you are human.</p>"
            '<form action="/verify" method="post"><div class="g-recaptcha" data-sitekey="x"></div></form>'
            '<script src="/recaptcha/api.js"></script></body></html>',
        ),
    }


def login(web: LocalWeb, at: str = "/members") -> Mapping[str, str]:
    """Pages for people with a password: by a form, and by status 401."""
    web.page(
        "/login",
        "<!DOCTYPE html><html><head><title>Sign in</title></head><body><h1>Sign in</h1><form method='post'>"
        "<input name='user'><input type='password' name='password'><button>Sign in</button></form></body></html>",
    )
    return {
        "form": web.page(at, headers={"Location": f"/login?next={at}"}, status=302),
        "status": web.page(
            f"{at}/basic",
            "<title>401</title><p>Authorization required.",
            {"WWW-Authenticate": 'Basic realm="x"'},
            401,
        ),
    }


def cookie_wall(web: LocalWeb, at: str = "/consent") -> str:
    """Displays nothing before cookies are accepted."""
    return web.page(
        at,
        "<!DOCTYPE html><html><head><title>The Quay Gazette</title></head><body>"
        '<div id="consent" role="dialog"><h2>We value your privacy</h2><p>We and our 812 partners use cookies. '
        "Accept cookies to continue reading.</p><button>Accept all</button><button>Manage options</button></div>"
        "</body></html>",
    )


def paywall(web: LocalWeb, at: str = "/paid") -> str:
    """A teaser, with metadata that says that the rest costs money."""
    metadata = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": TITLE,
        "isAccessibleForFree": False,
    }
    return web.page(
        at,
        f"<!DOCTYPE html><html><head><title>{TITLE}</title>"
        f'<script type="application/ld+json">{json.dumps(metadata)}</script></head><body><article><h1>{TITLE}</h1>'
        f'<p>{PARAGRAPHS[0]}</p></article><div class="paywall"><p>Subscribe to read the rest.</p>'
        '<a href="/subscribe">Subscribe</a></div></body></html>',
    )


def prowler(web: LocalWeb, forbidden: Listener, at: str = "/prowler") -> str:
    """A readable page that tries every way to reach a forbidden address."""
    there, socket = forbidden.url, forbidden.url("/socket", "ws")
    turn = web.page(f"{at}/turn", headers={"Location": there("/turned")}, status=302)  # allowed, and leads there
    web.page(f"{at}/style.css", f'@import "{there("/import")}"; body {{ background: url({there("/css")}) }}', _style())
    return web.page(
        at,
        f"""<!DOCTYPE html><html><head><title>{TITLE}</title><link rel="stylesheet" href="{at}/style.css">
<link rel="stylesheet" href="{there("/sheet")}"><link rel="icon" href="{there("/icon")}">
<link rel="preload" as="image" href="{there("/preload")}"><link rel="dns-prefetch" href="{there()}">
<link rel="preconnect" href="{there()}"><meta http-equiv="refresh" content="3; url={there("/refresh")}">
<style>@font-face {{ font-family: x; src: url({there("/font")}) }} p {{ font-family: x }}</style></head>
<body><article><h1>{TITLE}</h1>{"".join(f"<p>{paragraph}</p>" for paragraph in PARAGRAPHS)}</article>
<img src="{there("/img")}" srcset="{there("/srcset")} 2x"><img src="{turn}"><picture><source
srcset="{there("/source")}"><img src="{there("/picture")}"></picture><iframe src="{there("/frame")}"></iframe>
<iframe src="{turn}"></iframe><video src="{there("/video")}" poster="{there("/poster")}"></video>
<object data="{there("/object")}"></object><embed src="{there("/embed")}"><script src="{there("/script")}"></script>
<form id="form" action="{there("/form")}" method="post" target="there"><input name="a" value="b"></form>
<iframe name="there"></iframe><script>
fetch({there("/fetch")!r}, {{mode: "no-cors"}}).catch(() => 0);
fetch({turn!r}, {{mode: "no-cors"}}).catch(() => 0);
navigator.sendBeacon({there("/beacon")!r}, "x");
try {{ new WebSocket({socket!r}); }} catch (e) {{ }}
try {{ new EventSource({there("/events")!r}); }} catch (e) {{ }}
try {{
  new RTCPeerConnection({{iceServers: [{{urls: "stun:{forbidden.host}"}}]}}).createDataChannel("x");
}} catch (e) {{ }}
try {{ window.open({there("/window")!r}); }} catch (e) {{ }}
document.getElementById("form").submit();
</script></body></html>""",
    )


def _script() -> dict[str, str]:
    return {"Content-Type": "text/javascript"}


def _style() -> dict[str, str]:
    return {"Content-Type": "text/css"}

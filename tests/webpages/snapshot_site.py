"""A page that uses every way to display a picture, and a separate Chromium for the tests to look at it."""

from __future__ import annotations

import io
import os
import subprocess
import tempfile
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from local_web import LocalWeb
from PIL import Image, ImageDraw
from waiting import AMPLE

from chyme.webpages.http_client.fetch_result import FetchResult

CHROMIUM = Path("/usr/lib/chromium/chromium")
SIZE = (1000, 1400)
CSS = {"Content-Type": "text/css"}

PAGE = """<!DOCTYPE html>
<html lang="en" class="light" data-theme="warm"><head>
<meta charset="utf-8"><title>The gardens of Orta &amp; Novara</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<base href="/site/">
<link rel="canonical" href="/gardens">
<link rel="icon" href="icon.png">
<link rel="stylesheet" href="main.css">
<link rel="stylesheet" href="paper.css" media="print">
<style>h1 { color: #7a1f3d } .lead { border-left: 6px solid #d69; padding-left: 12px }</style>
</head>
<body class="page wide" style="margin:0">
<header class="banner"><nav><a href="../about?x=1&amp;y=2">About</a> <a href="#lake">The lake</a>
<a href="javascript:steal()">Menu</a></nav></header>
<main>
<h1>The gardens of Orta</h1>
<p class="lead">A walk through <b>seven gardens</b> by the lake, in late spring.</p>
<div class="row">
<img src="plain.png" alt="plain" width="120" height="80">
<img src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7" data-src="lazy.png"
alt="lazy" width="120" height="80">
<img srcset="small.png 60w, middle.png 480w, huge.png 4000w" sizes="120px" alt="set">
<picture><source srcset="modern.webp" type="image/webp"><source srcset="phone.png" media="(max-width: 500px)">
<img src="old.png" alt="picture" width="120" height="80"></picture>
<img class="lazy" alt="waits" width="120" height="80"><noscript><img src="unseen.png"></noscript>
</div>
<div class="row">
<div class="tile back"></div><div class="tile" style="background: url('tile2.png') center / 40px"></div>
<div class="tile imported"></div><div class="tile masked"></div>
<svg class="icon" viewBox="0 0 24 24"><defs><linearGradient id="g"><stop offset="0" stop-color="#06c"/>
<stop offset="1" stop-color="#6cf"/></linearGradient><symbol id="leaf" viewBox="0 0 24 24">
<path d="M2 22 C2 8 10 2 22 2 C22 14 16 22 2 22z"/></symbol></defs>
<circle cx="12" cy="12" r="11" fill="url(#g)"/></svg>
<svg class="icon leaf"><use href="#leaf"/></svg>
<img src="drawing.svg" alt="drawing" width="80" height="80">
</div>
<h2 id="lake">Around the lake</h2>
<table><tr><th>Garden</th><th>Open</th></tr><tr><td>Villa Motta</td><td>April</td></tr>
<tr><td>Sacro Monte</td><td>all year</td></tr></table>
<ul><li>Take the <i>early</i> boat</li><li>Bring bread</li></ul>
<form action="http://127.0.0.1:1/search"><input name="q" value="camellia"><button>Find</button>
<input type="hidden" name="token" value="secret-token"><input type="password"></form>
<my-card><p>In a box of the page's own making.</p></my-card>
</main>
<script>document.querySelector("[data-src]").src = "lazy.png"
document.querySelector(".lazy").src = "unseen.png"</script>
</body></html>
"""

MAIN_CSS = """@charset "utf-8"; @import url("more.css") screen;
body { font: 16px/1.5 DejaVu Sans, sans-serif; background: #fffdf5; color: #222 }
.banner { background: #27483c url(stripe.png) repeat-x; height: 64px; padding: 12px 24px } .banner a { color: #fff }
main { padding: 16px 24px } .row { display: flex; gap: 14px; align-items: center; margin: 14px 0 }
.tile { width: 90px; height: 90px; border: 1px solid #aaa } .back { background-image: url(tile.png) }
.masked { background: #c33; mask: url(drawing.svg) center / contain no-repeat }
.icon { width: 64px; height: 64px; fill: #393 } [data-theme=warm] h2 { color: #b85c00 }
table { border-collapse: collapse } td, th { border: 1px solid #bbb; padding: 4px 14px } th { background: #eee6cc }
my-card { display: block; margin: 16px 0; padding: 8px 20px; background: #e8f3ff; border-radius: 12px }
.absent { background: url(never-asked.png) }
"""
MORE_CSS = "@import 'main.css'; .imported { background: url('../site/deep.png') }"
DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 80" onload="steal()"><script>steal()</script>
<rect x="10" y="10" width="60" height="60" rx="14" fill="#748"/><circle cx="40" cy="40" r="18" fill="#fd6"/></svg>"""
PICTURES = ["plain", "lazy", "middle", "old", "unseen", "tile", "tile2", "deep", "stripe", "icon", "phone", "small"]


def picture(name: str, kind: str = "PNG") -> bytes:
    """A unique picture: its colours are derived from its name."""
    seed = sum(name.encode()) * 37
    image = Image.new("RGB", (480, 320), ((seed * 3) % 200 + 40, (seed * 5) % 200 + 40, (seed * 7) % 200 + 40))
    ImageDraw.Draw(image).ellipse((60, 40, 420, 280), fill=((seed * 11) % 256, (seed * 13) % 256, (seed * 17) % 256))
    if name in ("stripe", "icon", "tile2"):
        image = image.resize((64, 64))
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


def build(web: LocalWeb) -> str:
    """Serve the whole site. Return the address of its page."""
    for name in PICTURES:
        web.page(f"/site/{name}.png", picture(name), {"Content-Type": "image/png"})
    web.page("/site/modern.webp", picture("modern", "WEBP"), {"Content-Type": "image/webp"})
    web.page("/site/drawing.svg", DRAWING, {"Content-Type": "image/svg+xml"})
    web.page("/site/main.css", MAIN_CSS, CSS)
    web.page("/site/more.css", MORE_CSS, CSS)
    web.page("/site/paper.css", "body { display: none }", CSS)
    return web.page("/gardens", PAGE)


@dataclass
class PlainFetches:
    """Fetches from loopback, and records the addresses that were requested."""

    asked: list[str] = field(default_factory=list)

    def fetch_part(self, url: str, max_bytes: int) -> FetchResult | None:
        self.asked.append(url)
        assert url.startswith("http://127.0.0.1:"), url
        try:
            with urllib.request.urlopen(url, timeout=AMPLE) as answer:
                body = answer.read(max_bytes + 1)
                headers = {name.lower(): value for name, value in answer.headers.items()}
        except OSError as error:
            getattr(error, "close", lambda: None)()
            return None
        return FetchResult(url, 200, headers, body) if len(body) <= max_bytes else None


def chromium(url: str, *options: str, seconds: float = 90.0) -> subprocess.CompletedProcess[bytes]:
    """Open an address of this machine. No name is looked up."""
    # Not in a folder of pytest: Chromium listens on a socket there, and its path must be short.
    with tempfile.TemporaryDirectory(prefix="chr-", ignore_cleanup_errors=True) as home:
        command = [
            str(CHROMIUM),
            "--headless=new",
            "--disable-gpu",
            "--no-first-run",
            "--hide-scrollbars",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            f"--user-data-dir={home}",
            f"--window-size={SIZE[0]},{SIZE[1]}",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            *options,
            url,
        ]
        environment = {"PATH": os.environ["PATH"], "HOME": home, "TMPDIR": home}
        return subprocess.run(command, env=environment, capture_output=True, timeout=seconds, check=False)


def looked_at(url: str, shot: Path) -> Image.Image:
    """A screenshot of the page."""
    done = chromium(url, f"--screenshot={shot}", "--virtual-time-budget=5000")
    assert shot.exists(), done.stderr[-2000:]
    with Image.open(shot) as image:
        return image.convert("RGB")

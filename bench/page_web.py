"""A web server of made-up articles on loopback: python -m bench.page_web; prints its port, ends with its input."""

from __future__ import annotations

import io
import random
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WORDS = (
    *("the", "tide", "mill", "wheel", "pond", "gate", "creek", "harbour", "ferry", "morning", "notebook", "pole"),
    *("measure", "spring", "summer", "neighbour", "repair", "boat", "lane", "field", "church", "cabbage", "oak"),
    *("hinge", "lifeboat", "flour", "paper", "bag", "moon", "corn", "wind", "coal", "road", "bridge", "roof"),
)
STYLE = b"body{font:16px/1.5 serif;margin:2em auto;max-width:44em;color:#223}h1{color:#7a1f1f}nav a{margin:1em}"
SCRIPT = b"document.getElementById('late').textContent=new Date().getFullYear()"


def sentence(dice: random.Random) -> str:
    return " ".join(dice.choices(WORDS, k=dice.randint(8, 18))).capitalize() + "."


def article(number: int) -> bytes:
    """Some six hundred words, three pictures, a style, a script, a list and a table; always the same for a number."""
    dice = random.Random(number)
    paragraphs = [f"<p>{' '.join(sentence(dice) for _ in range(5))}</p>" for _ in range(8)]
    pictures = [f'<img src="/picture/{number}-{at}.jpg" width=640 height=400 alt="">' for at in range(3)]
    items = "".join(f"<li>{sentence(dice)}</li>" for _ in range(5))
    links = "".join(f'<a href="/article/{other}">{sentence(dice)[:20]}</a>' for other in range(8))
    title = sentence(dice)[:60]
    return (
        f"<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>{title}</title>"
        f'<link rel=stylesheet href="/style.css"><meta property="og:title" content="{title}">'
        f"<meta name=author content=Nobody></head><body><nav>{links}</nav><article>"
        f"<h1>{title}</h1>{pictures[0]}{''.join(paragraphs[:4])}<h2>{sentence(dice)}</h2>{pictures[1]}<ul>{items}</ul>"
        f"{''.join(paragraphs[4:])}{pictures[2]}</article><p id=late></p><script src=/script.js></script></body></html>"
    ).encode()


def picture(seed: int) -> bytes:
    from PIL import Image

    dice = random.Random(seed)
    small = Image.frombytes("RGB", (16, 10), dice.randbytes(480)).resize((640, 400), Image.Resampling.BICUBIC)
    out = io.BytesIO()
    small.save(out, "JPEG", quality=80)
    return out.getvalue()


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    pictures: dict[int, bytes] = {}  # noqa: RUF012 (made once, before the first question)

    def do_GET(self) -> None:
        kind, _, name = self.path.strip("/").partition("/")
        known: dict[str, tuple[bytes, Callable[[], bytes]]] = {
            "article": (b"text/html; charset=utf-8", lambda: article(int(name))),
            "picture": (b"image/jpeg", lambda: self.pictures[sum(name.encode()) % len(self.pictures)]),
            "style.css": (b"text/css", lambda: STYLE),
            "script.js": (b"text/javascript", lambda: SCRIPT),
        }
        told, made = known.get(kind, (b"text/plain", lambda: b""))
        body = made()
        self.send_response(200 if kind in known else 404)
        self.send_header("Content-Type", told.decode())
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


def main() -> None:
    Answers.pictures = {seed: picture(seed) for seed in range(20)}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()

"""Make the pictures in docs/screenshots from the demo vault.

python -m bench.docs.screenshots [FOLDER] [dark] [phone]
"""

import io
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, ViewportSize, sync_playwright

from bench.commands import ROOT, digest
from bench.serving import served
from chyme.webpages.browser.executable import browser_program

FOLDER = ROOT / "docs/screenshots"
DESKTOP: ViewportSize = {"width": 1280, "height": 860}
PHONE: ViewportSize = {"width": 390, "height": 844}
LARGEST_BYTES = 150_000
STILL_SECONDS = 1.5  # pictures fade in, and hits by meaning follow those by words


@dataclass(frozen=True)
class View:
    """A picture of a page: its name, its address, and what must be seen before it is taken."""

    name: str
    address: str
    awaited: str


VIEWS = (
    View("vault", "/?sort=name", "img"),
    View("search", "/?q=how%20much%20tax%20do%20I%20get%20back", "#results .passage"),
    View("picture", "/file/pictures/moving%20day.jpg?box=0.54,0.6,0.7,0.69", "svg.boxes"),
    View("transcript", "/file/recordings/interview.mp3", "text=newspaper"),
    View("activity", "/activity", "main"),
)


def take(page: Page, base: str, view: View, folder: Path) -> None:
    """Write one picture, smaller than the limit."""
    page.goto(base + view.address)
    page.locator(view.awaited).first.wait_for()
    page.wait_for_load_state()
    time.sleep(STILL_SECONDS)
    picture = Image.open(io.BytesIO(page.screenshot(animations="disabled")))
    for quality in (84, 74, 64, 50):
        written = io.BytesIO()
        picture.convert("RGB").save(written, "WEBP", quality=quality, method=6)
        if len(written.getvalue()) <= LARGEST_BYTES:
            break
    (folder / f"{view.name}.webp").write_bytes(written.getvalue())
    print(f"{view.name}: {len(written.getvalue()):,} bytes")


def main(arguments: list[str]) -> None:
    dark, phone = "dark" in arguments, "phone" in arguments
    folder = next((Path(one) for one in arguments if one not in {"dark", "phone"}), FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    program = browser_program("auto")
    if program is None:
        raise SystemExit("Chromium is not installed (Debian: apt-get install chromium)")
    with tempfile.TemporaryDirectory() as where:
        vault = Path(where) / "vault"
        shutil.copytree(ROOT / "demo", vault)
        time.sleep(1)  # chyme leaves a file alone until it was unchanged for a while
        digest(vault).must_succeed()
        with served(vault) as server, sync_playwright() as playwright:
            switches = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
            browser = playwright.chromium.launch(executable_path=os.fspath(program), args=switches)
            page = browser.new_page(viewport=PHONE if phone else DESKTOP, color_scheme="dark" if dark else "light")
            for view in VIEWS:
                take(page, f"http://127.0.0.1:{server.port}", view, folder)
            browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])

"""Pages and office files of the demo vault: HTML printed by Chromium or converted by LibreOffice.

Both use only the fonts in the folder of `CHYME_DEMO_FONTS` (`.ci/demo` fetches them) beside DejaVu.
"""

from __future__ import annotations

import io
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

PAPERS = Path(__file__).resolve().parent / "demo_papers"
FONT_CONFIG = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{fonts}</dir><dir>/usr/share/fonts/truetype/dejavu</dir><cachedir>{cache}</cachedir></fontconfig>"""


@contextmanager
def font_settings() -> Iterator[None]:
    """Chromium and LibreOffice see the fonts of the demo, and no others."""
    fonts = Path(os.environ.get("CHYME_DEMO_FONTS", ".cache/demo-fonts")).resolve()
    if not fonts.is_dir():
        raise SystemExit(f"The fonts of the demo are missing in {fonts}; run: sh .ci/demo")
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "fonts.conf"
        settings.write_text(FONT_CONFIG.format(fonts=fonts, cache=folder), encoding="utf-8")
        os.environ["FONTCONFIG_FILE"] = str(settings)
        yield


class Printer:
    """Chromium, which prints HTML on paper or draws it."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def _load(self, name: str, values: dict[str, str]) -> None:
        html = (PAPERS / f"{name}.html").read_text(encoding="utf-8")
        for key, value in values.items():
            html = html.replace("{" + key + "}", value)
        style = (PAPERS / "paper.css").read_text(encoding="utf-8") if "class=\"page\"" in html else ""
        self._page.set_content(f"<!DOCTYPE html><html lang=en><meta charset=utf-8><style>{style}</style>{html}</html>")
        self._page.evaluate("document.fonts.ready")

    def pdf(self, name: str, **values: str) -> bytes:
        self._load(name, values)
        return self._page.pdf(prefer_css_page_size=True, print_background=True)

    def picture(self, name: str) -> Image.Image:
        self._load(name, {})
        shot = self._page.locator("body > div").first.screenshot()
        return Image.open(io.BytesIO(shot)).convert("RGB")


@contextmanager
def printer() -> Iterator[Printer]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"])
        yield Printer(browser.new_page(viewport={"width": 1240, "height": 1300}))
        browser.close()


def converted(content: str, ending: str, to: str, *options: str) -> bytes:
    """What LibreOffice makes of HTML or of a flat OpenDocument file."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"source.{ending}"
        source.write_text(content, encoding="utf-8")
        command = ["soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless", *options]
        subprocess.run([*command, "--convert-to", to, "--outdir", folder, str(source)], check=True, capture_output=True)
        return source.with_suffix("." + to.partition(":")[0]).read_bytes()


def text_page(body: str, style: str = "") -> str:
    return (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><style>@page{size:21cm 29.7cm;margin:2.3cm}'
        f"body,p,li{{font-family:Lato;font-size:11pt;line-height:140%}}h1{{font-size:20pt;color:#26345f}}{style}</style>{body}</html>"
    )


def slides(pages: list[tuple[str, list[str], str, str]], pictures: dict[str, str]) -> str:
    """A flat presentation of (title, lines, note, name of a picture in base64 or nothing)."""
    spaces = " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for short, name in (("office", "office"), ("draw", "drawing"), ("text", "text"), ("style", "style"), ("presentation", "presentation"))
    )
    spaces += ' xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"'
    body = ""
    for number, (title, lines, note, picture) in enumerate(pages, 1):
        rows = "".join(f'<text:p text:style-name="line">{line}</text:p>' for line in lines)
        width = 13 if picture else 25
        drawn = ""
        if picture:
            drawn = (
                '<draw:frame svg:x="15.2cm" svg:y="0cm" svg:width="12.8cm" svg:height="15.75cm"><draw:image>'
                f"<office:binary-data>{pictures[picture]}</office:binary-data></draw:image></draw:frame>"
            )
        body += (
            f'<draw:page draw:name="page{number}" draw:style-name="back" draw:master-page-name="plain">'
            f"{drawn}"
            f'<draw:frame presentation:class="title" presentation:style-name="t" svg:x="1.3cm" svg:y="1.6cm" svg:width="{width}cm" svg:height="3.6cm"><draw:text-box><text:p text:style-name="title">{title}</text:p></draw:text-box></draw:frame>'
            f'<draw:frame presentation:class="outline" presentation:style-name="t" svg:x="1.3cm" svg:y="6cm" svg:width="{width}cm" svg:height="8cm"><draw:text-box>{rows}</draw:text-box></draw:frame>'
            f'<presentation:notes><draw:frame presentation:class="notes" svg:x="2cm" svg:y="14cm" svg:width="17cm" svg:height="10cm"><draw:text-box><text:p>{note}</text:p></draw:text-box></draw:frame></presentation:notes></draw:page>'
        )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document {spaces} office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.presentation">'
        '<office:automatic-styles><style:page-layout style:name="wide"><style:page-layout-properties fo:page-width="28cm" fo:page-height="15.75cm"/></style:page-layout>'
        '<style:style style:name="back" style:family="drawing-page"><style:drawing-page-properties draw:fill="solid" draw:fill-color="#f6f0e2"/></style:style>'
        '<style:style style:name="t" style:family="presentation"><style:graphic-properties draw:fill="none" draw:stroke="none"/></style:style>'
        '<style:style style:name="title" style:family="paragraph"><style:paragraph-properties fo:text-align="left"/><style:text-properties fo:font-family="Lato" fo:font-size="34pt" fo:font-weight="bold" fo:color="#26345f"/></style:style>'
        '<style:style style:name="line" style:family="paragraph"><style:paragraph-properties fo:margin-bottom="0.45cm" fo:text-align="left"/><style:text-properties fo:font-family="Lato" fo:font-size="22pt" fo:color="#333333"/></style:style>'
        '</office:automatic-styles><office:master-styles><style:master-page style:name="plain" style:page-layout-name="wide"/></office:master-styles>'
        f"<office:body><office:presentation>{body}</office:presentation></office:body></office:document>"
    )

"""Draw the icons of the installed app from the favicon: `python tests/samples/make_icons.py`."""

from __future__ import annotations

import io
import re
from pathlib import Path

import resvg_py
from PIL import Image

STATIC = Path(__file__).parents[2] / "src/chyme/doors/page/static"
SIZES = (192, 512)


def main() -> None:
    svg = (STATIC / "favicon.svg").read_text(encoding="utf-8")
    # A mask may cut everything outside a circle of 80 %: the ground fills all, the figure is a little smaller.
    ground, figure = re.fullmatch(r"(.*<rect[^>]*/>)(.*)(</svg>)\s*", svg, re.DOTALL).group(1, 2)  # type: ignore[union-attr]
    maskable = f'{ground.replace(" rx=", " data-rx=")}<g transform="translate(3.2 3.2) scale(.8)">{figure}</g></svg>'
    for size in SIZES:
        for name, source in ((f"icon-{size}", svg), (f"icon-maskable-{size}", maskable)):
            png = bytes(resvg_py.svg_to_bytes(svg_string=source, width=size, height=size))
            image = Image.open(io.BytesIO(png)).quantize(64)
            image.save(STATIC / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()

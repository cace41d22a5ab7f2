"""Draw what the detector finds on pictures, to look at: python bench/draw_objects.py OUT_FOLDER PICTURE_OR_FOLDER…"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, ImageOps

from chyme.imaging.thumbnails import make_preview_and_thumbnail
from chyme.pictures.object_detector import DetectorSettings, detect
from chyme.pictures.objects import object_from_detector, select_objects

ENDINGS = {".jpg", ".jpeg", ".png", ".webp", ".gif", ".heic", ".heif", ".bmp", ".tif", ".tiff"}


def main() -> None:
    out, wanted = Path(sys.argv[1]), [Path(one) for one in sys.argv[2:]]
    out.mkdir(parents=True, exist_ok=True)
    for path in [file for one in wanted for file in (sorted(one.iterdir()) if one.is_dir() else [one])]:
        if path.suffix.lower() in ENDINGS:
            draw(path, out / f"{path.stem}.jpg")


def draw(path: Path, to: Path) -> None:
    """One picture with its boxes, and a line about it on standard output."""
    with Image.open(path) as opened:
        preview = make_preview_and_thumbnail("preview.jpg", ImageOps.exif_transpose(opened))[0].data
        picture = ImageOps.exif_transpose(opened).convert("RGB")
    began = time.perf_counter()
    seen = detect(path.name, preview, DetectorSettings(os.environ.get("CHYME_WEIGHTS_DIR", ""), object_confidence=0.3))
    took = time.perf_counter() - began
    found = select_objects(
        thing for thing in (object_from_detector(o.name, o.category, o.confidence, o.edges) for o in seen) if thing
    )
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(max(14, picture.width // 50))
    for thing in found:
        left, top, right, bottom = thing.box or (0.0, 0.0, 1.0, 1.0)
        edges = (left * picture.width, top * picture.height, right * picture.width, bottom * picture.height)
        colour = "lime" if (thing.confidence or 0) >= DetectorSettings().object_confidence else "red"
        pen.rectangle(edges, outline=colour, width=max(2, picture.width // 300))
        pen.text((edges[0] + 4, edges[1] + 4), f"{thing.name} {thing.confidence:.2f}", fill=colour, font=font)
    picture.thumbnail((1000, 1000))
    picture.save(to, quality=85)
    print(
        f"{path.name}: {took:.3f} s",
        *(f"{thing.name} {thing.confidence:.2f} ({thing.description})" for thing in found),
        sep="; ",
    )


if __name__ == "__main__":
    main()

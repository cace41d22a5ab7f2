"""What chyme's digesters do to pictures, without chyme: the same libraries, called one after the other.

Usage: python -m bench.picture_loop WEIGHTS FILE …; the last line lists the pictures that could be read.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

LONGEST, THUMBNAIL, DETECTOR_SIDE = 2048, 512, 300


def main() -> None:
    import pillow_heif
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None
    pillow_heif.register_heif_opener()
    reader, detector = _reader(), _detector(Path(sys.argv[1]))
    fine: list[str] = []
    for path in sys.argv[2:]:
        try:
            preview = _preview(path)
        except Exception as error:
            print(f"{path}: {error}", file=sys.stderr)
            continue
        _look(preview, reader, detector)
        fine.append(path)
    print("\n" + json.dumps(fine))


def _reader() -> Any:
    from rapidocr import RapidOCR

    return RapidOCR(params={"Global.log_level": "critical", "EngineConfig.onnxruntime.intra_op_num_threads": 1})


def _detector(weights: Path) -> Any:
    import cv2

    cv2.setNumThreads(1)
    graph = next(weights.rglob("*.pb"))
    return cv2.dnn.readNetFromTensorflow(str(graph), str(next(weights.rglob("*.pbtxt"))), cv2.dnn.ENGINE_CLASSIC)


def _preview(path: str) -> bytes:
    from PIL import Image, ImageOps

    with Image.open(path) as image:
        image.draft("RGB", (LONGEST, LONGEST))
        upright = ImageOps.exif_transpose(image).convert("RGB")
    upright.thumbnail((LONGEST, LONGEST))
    out = io.BytesIO()
    upright.save(out, "JPEG", quality=88, optimize=True)
    upright.thumbnail((THUMBNAIL, THUMBNAIL))
    upright.save(io.BytesIO(), "JPEG", quality=80, optimize=True)
    return out.getvalue()


def _look(preview: bytes, reader: Any, detector: Any) -> None:
    import cv2
    import numpy

    pixels = cv2.imdecode(numpy.frombuffer(preview, numpy.uint8), cv2.IMREAD_COLOR)
    assert pixels is not None
    reader(pixels, return_word_box=True)
    detector.setInput(cv2.dnn.blobFromImage(pixels, size=(DETECTOR_SIDE, DETECTOR_SIDE), swapRB=True))
    detector.forward()


if __name__ == "__main__":
    main()

"""Classify a picture by simple statistics, reporting only what is certain."""

from __future__ import annotations

import io
from typing import Any

from chyme.errors import UnreadableFile
from chyme.pictures.captions_without_model import Scene

LONGEST = 1024  # at most this many pixels along the longer side are examined
SMALLEST = 64  # of smaller pictures only the colour is reported
SAMPLES = 65_536  # pixels, spread evenly over the picture, that are examined for colours
PNG_HEAD = 24
_LUMA = (0.299, 0.587, 0.114)
_MOSTLY = 0.5
_SCREENS = frozenset(
    {
        *((1280, 720), (1280, 800), (1366, 768), (1440, 900), (1536, 864), (1600, 900), (1680, 1050), (1920, 1080)),
        *((1920, 1200), (2560, 1440), (2560, 1600), (2880, 1800), (3024, 1964), (3440, 1440), (3456, 2234)),
        *((3840, 2160), (5120, 2880), (750, 1334), (828, 1792), (1125, 2436), (1170, 2532), (1179, 2556)),
        *((1242, 2688), (1284, 2778), (1290, 2796), (1080, 1920), (1080, 2340), (1080, 2400), (1440, 3200)),
    }
)
_HUES = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "red")
_HUE_ENDS = (15, 42, 68, 165, 260, 295, 345)  # in degrees; the last one extends to 360


def analyse_scene(name: str, jpeg: bytes, head: bytes = b"") -> Scene:
    """Analyse a preview. `head` is the beginning of the original file and `name` its name, for messages."""
    import numpy
    from PIL import Image

    try:
        with Image.open(io.BytesIO(jpeg), formats=("JPEG",)) as image:
            image.draft("RGB", (LONGEST, LONGEST))
            pixels = numpy.asarray(image.convert("RGB"), dtype=numpy.int16)
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise UnreadableFile(f"{name}: its preview is broken ({error}); reset image-preview") from error
    return _classify(pixels, _has_screen_size(head))


def _classify(pixels: Any, screen: bool) -> Scene:
    import numpy

    height, width = pixels.shape[:2]
    step = max(1, int((height * width / SAMPLES) ** 0.5))
    samples = pixels[::step, ::step].reshape(-1, 3)
    luma = samples @ numpy.array(_LUMA)
    chroma = samples.max(axis=1) - samples.min(axis=1)
    shades = numpy.sort(_colour_shares(samples))[::-1]
    flat, textured, sharp = _texture(pixels)

    top_four_share = float(shades[:4].sum())
    shade_count = int((shades > 0.0005).sum())
    strongest = numpy.percentile(chroma, 99)
    grey = bool(strongest < 24)
    large = min(height, width) >= SMALLEST
    plain = bool(shades[0] > 0.995 and flat > 0.99 and sharp == 0)
    textured_photo = textured >= 0.3 and flat <= 0.4 and top_four_share <= 0.5 and shade_count >= 60
    grey_photo = textured >= 0.4 and flat <= 0.3 and top_four_share <= 0.65
    photograph = 0.004 <= sharp <= 0.15 and (grey_photo if grey else textured_photo) and large
    drawn = large and flat >= 0.6 and sharp >= 0.005 and shade_count < 120
    paper = bool(((luma > 225) & (chroma < 24)).mean() >= 0.75) and not plain
    return Scene(
        photograph=photograph,
        drawn=drawn,
        paper=paper,
        grey=grey,
        pale=bool(strongest < 48),
        bright=bool(luma.mean() > 150),
        dark=bool(luma.mean() < 50 and numpy.percentile(luma, 95) < 110),
        plain=plain,
        screen=screen and flat >= 0.5,
        colour=_main_colour(samples),
    )


def _texture(pixels: Any) -> tuple[float, float, float]:
    """The shares, from 0 to 1, that are flat, that change softly, and that are sharp edges."""
    import numpy

    luma = pixels @ numpy.array(_LUMA, dtype=numpy.float32)
    if min(luma.shape) < 2:
        return 1.0, 0.0, 0.0
    across = numpy.abs(numpy.diff(luma, axis=1))[:-1]
    down = numpy.abs(numpy.diff(luma, axis=0))[:, :-1]
    steeper = numpy.maximum(across, down)
    soft = ((across >= 2) & (across < 20)) | ((down >= 2) & (down < 20))
    return float((steeper < 1).mean()), float(soft.mean()), float((steeper > 40).mean())


def _colour_shares(samples: Any) -> Any:
    """The share of the picture that each of 4096 colours covers."""
    import numpy

    coarse = samples >> 4
    return numpy.bincount(coarse[:, 0] * 256 + coarse[:, 1] * 16 + coarse[:, 2], minlength=4096) / len(samples)


def _main_colour(samples: Any) -> str | None:
    """The name of the colour that more than half of the pixels have."""
    import numpy
    from PIL import Image

    hsv = numpy.asarray(Image.fromarray(samples.astype(numpy.uint8)[None]).convert("HSV"))[0].astype(int)
    hue, saturation, value = hsv[:, 0] * 360 // 256, hsv[:, 1], hsv[:, 2]
    names = numpy.array(_HUES)[numpy.searchsorted(_HUE_ENDS, hue, side="right")]
    names = numpy.where((names == "orange") & ((value < 150) | (saturation < 120)), "brown", names)
    names = numpy.where(saturation < 40, "grey", names)
    names = numpy.where((saturation < 40) & (value > 215), "white", names)
    names = numpy.where(value < 45, "black", names)
    found, counts = numpy.unique(names, return_counts=True)
    commonest = int(counts.argmax())
    return str(found[commonest]) if counts[commonest] > _MOSTLY * len(samples) else None


def _has_screen_size(head: bytes) -> bool:
    """Screenshots are PNG files of exactly the size of a screen, upright or turned."""
    if not head.startswith(b"\x89PNG\r\n\x1a\n") or len(head) < PNG_HEAD:
        return False
    width, height = int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
    return (width, height) in _SCREENS or (height, width) in _SCREENS

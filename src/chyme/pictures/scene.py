"""What sort of picture this is, from simple statistics. Says only what is sure."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chyme.errors import UnreadableFile

if TYPE_CHECKING:
    pass

LONGEST = 1024  # no more pixels than this are looked at along the longer side
SMALLEST = 64  # of smaller pictures nothing is said but their colour
SAMPLES = 65_536  # of the picture's pixels, spread evenly, for its colours
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
_HUES_END = (15, 42, 68, 165, 260, 295, 345)  # in degrees; the last goes on to 360


@dataclass(frozen=True, slots=True)
class Scene:
    """What can be said about a picture without understanding it. Everything False means: nothing for sure."""

    photograph: bool = False
    drawn: bool = False  # flat colours with sharp edges: a drawing, a diagram, a sign
    paper: bool = False  # nearly all of it is white
    grey: bool = False  # no colour in it
    pale: bool = False  # hardly any colour in it, as on yellowed paper
    bright: bool = False
    dark: bool = False
    plain: bool = False  # one colour and nothing else
    screen: bool = False  # drawn, and exactly as large as a screen
    colour: str | None = None  # the colour of more than half of it


def analyse_scene(name: str, jpeg: bytes, head: bytes = b"") -> Scene:
    """The scene in a preview. `head` is the beginning of the original, `name` its name, for messages."""
    import numpy
    from PIL import Image

    try:
        with Image.open(io.BytesIO(jpeg), formats=("JPEG",)) as image:
            image.draft("RGB", (LONGEST, LONGEST))
            pixels = numpy.asarray(image.convert("RGB"), dtype=numpy.int16)
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise UnreadableFile(f"{name}: its preview is broken ({error}); reset image-preview") from error
    return _judged(pixels, _as_large_as_a_screen(head))


def _judged(pixels: Any, screen: bool) -> Scene:
    import numpy

    height, width = pixels.shape[:2]
    step = max(1, int((height * width / SAMPLES) ** 0.5))
    some = pixels[::step, ::step].reshape(-1, 3)
    luma = some @ numpy.array(_LUMA)
    chroma = some.max(axis=1) - some.min(axis=1)
    shades = numpy.sort(_shares(some))[::-1]
    flat, textured, sharp = _texture(pixels)

    few = float(shades[:4].sum())
    many = int((shades > 0.0005).sum())
    strongest = numpy.percentile(chroma, 99)
    grey = bool(strongest < 24)
    large = min(height, width) >= SMALLEST
    plain = bool(shades[0] > 0.995 and flat > 0.99 and sharp == 0)
    textured_photo = textured >= 0.3 and flat <= 0.4 and few <= 0.5 and many >= 60
    grey_photo = textured >= 0.4 and flat <= 0.3 and few <= 0.65
    photograph = 0.004 <= sharp <= 0.15 and (grey_photo if grey else textured_photo) and large
    drawn = large and flat >= 0.6 and sharp >= 0.005 and many < 120
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
        colour=_colour(some),
    )


def _texture(pixels: Any) -> tuple[float, float, float]:
    """How much of it is flat, how much softly changing, how much sharp edges, from 0 to 1."""
    import numpy

    luma = pixels @ numpy.array(_LUMA, dtype=numpy.float32)
    if min(luma.shape) < 2:
        return 1.0, 0.0, 0.0
    across = numpy.abs(numpy.diff(luma, axis=1))[:-1]
    down = numpy.abs(numpy.diff(luma, axis=0))[:, :-1]
    steeper = numpy.maximum(across, down)
    soft = ((across >= 2) & (across < 20)) | ((down >= 2) & (down < 20))
    return float((steeper < 1).mean()), float(soft.mean()), float((steeper > 40).mean())


def _shares(some: Any) -> Any:
    """How much of the picture each of 4096 colours covers."""
    import numpy

    coarse = some >> 4
    return numpy.bincount(coarse[:, 0] * 256 + coarse[:, 1] * 16 + coarse[:, 2], minlength=4096) / len(some)


def _colour(some: Any) -> str | None:
    """The name of the colour that more than half of the pixels have."""
    import numpy
    from PIL import Image

    hsv = numpy.asarray(Image.fromarray(some.astype(numpy.uint8)[None]).convert("HSV"))[0].astype(int)
    hue, saturation, value = hsv[:, 0] * 360 // 256, hsv[:, 1], hsv[:, 2]
    names = numpy.array(_HUES)[numpy.searchsorted(_HUES_END, hue, side="right")]
    names = numpy.where((names == "orange") & ((value < 150) | (saturation < 120)), "brown", names)
    names = numpy.where(saturation < 40, "grey", names)
    names = numpy.where((saturation < 40) & (value > 215), "white", names)
    names = numpy.where(value < 45, "black", names)
    found, counts = numpy.unique(names, return_counts=True)
    most = int(counts.argmax())
    return str(found[most]) if counts[most] > _MOSTLY * len(some) else None


def _as_large_as_a_screen(head: bytes) -> bool:
    """Screenshots are PNG files of exactly the size of a screen, upright or turned."""
    if not head.startswith(b"\x89PNG\r\n\x1a\n") or len(head) < PNG_HEAD:
        return False
    width, height = int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
    return (width, height) in _SCREENS or (height, width) in _SCREENS

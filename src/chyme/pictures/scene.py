"""Classify a picture by simple statistics, reporting only what is certain."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from chyme.errors import UnreadableFile
from chyme.model import Box
from chyme.pictures.picture_types import TALL, Scene

LONGEST = 1024  # at most this many pixels along the longer side are examined
SMALLEST = 64  # of smaller pictures only the colour is reported
SAMPLES = 65_536  # pixels, spread evenly over the picture, that are examined for colours
PNG_HEAD = 24
_LUMA = (0.299, 0.587, 0.114)
_MOSTLY = 0.5
_SCREENS = frozenset(
    {
        *((1280, 800), (1366, 768), (1440, 900), (1536, 864), (1680, 1050)),
        *((1920, 1200), (2560, 1600), (2880, 1800), (3024, 1964), (3440, 1440), (3456, 2234)),
        *((750, 1334), (828, 1792), (1125, 2436), (1170, 2532), (1179, 2556)),
        *((1242, 2688), (1284, 2778), (1290, 2796), (1080, 2340), (1080, 2400), (1440, 3200)),
    }
)
_SLIDES = frozenset({(1280, 720), (1600, 900), (1920, 1080), (2560, 1440), (3840, 2160), (5120, 2880)})
_HUES = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "red")
_HUE_ENDS = (15, 42, 68, 165, 260, 295, 345)  # in degrees; the last one extends to 360
_COLOURLESS = ("white", "grey", "black")
_SECOND_COLOUR = 0.2  # share of the picture from which on a further colour is named
_COLOURLESS_CHROMA = 8
_RULE_STEP, _RULE_LENGTH, _MIN_RULES = 25, 0.1, 2  # a rule: its contrast, its length in the picture's width or height
_BOX_RULES = 3  # different places with a rule: more than a frame has
_GRID_SHARE, _GRID_RULES = 0.6, 4  # lines of a grid are broken where others cross them
_RULE_DISTANCE = 0.02  # in the picture's width or height; nearer ones are the edges of one thick rule
_SKY_SHARE, _GREEN_SHARE = 0.5, 0.15
_OBJECT_COLOUR = 0.6  # share of an object that must have one colour
_OBJECT_CENTRE = 0.2  # on each side of its box, this share may show what is beside it


def read_pixels(name: str, jpeg: bytes) -> Any:
    """The pixels of a preview, reduced. `name` is the file's name, for messages."""
    import numpy
    from PIL import Image

    try:
        with Image.open(io.BytesIO(jpeg), formats=("JPEG",)) as image:
            image.draft("RGB", (LONGEST, LONGEST))
            return numpy.asarray(image.convert("RGB"), dtype=numpy.int16)
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise UnreadableFile(f"{name}: its preview is broken ({error}); reset image-preview") from error


def analyse_scene(name: str, jpeg: bytes, head: bytes = b"") -> Scene:
    """Analyse a preview. `head` is the beginning of the original file and `name` its name, for messages."""
    return scene_of_pixels(read_pixels(name, jpeg), head)


def scene_of_pixels(pixels: Any, head: bytes = b"") -> Scene:
    """Analyse the pixels of a preview. `head` is the beginning of the original file."""
    sizes = _sizes_of_png(head)
    return _classify(pixels, screen=not sizes.isdisjoint(_SCREENS), slide=not sizes.isdisjoint(_SLIDES))


def colour_in(pixels: Any, box: Box) -> str | None:
    """The colour of an object: of most of the middle of its box, or None."""
    height, width = pixels.shape[:2]
    left, top, right, bottom = box
    across, down = (right - left) * _OBJECT_CENTRE, (bottom - top) * _OBJECT_CENTRE
    region = pixels[
        int((top + down) * height) : int((bottom - down) * height) + 1,
        int((left + across) * width) : int((right - across) * width) + 1,
    ]
    if region.size == 0:
        return None
    step = max(1, int((region.shape[0] * region.shape[1] / SAMPLES) ** 0.5))
    share, colour = _colours(region[::step, ::step].reshape(-1, 3))[0]
    return colour if share >= _OBJECT_COLOUR else None


def _classify(pixels: Any, screen: bool, slide: bool) -> Scene:
    import numpy

    height, width = pixels.shape[:2]
    step = max(1, int((height * width / SAMPLES) ** 0.5))
    samples = pixels[::step, ::step].reshape(-1, 3)
    luma = samples @ numpy.array(_LUMA)
    chroma = samples.max(axis=1) - samples.min(axis=1)
    shades = numpy.sort(_colour_shares(samples))[::-1]
    flat, textured, sharp = _texture(pixels)
    colours = _colours(samples)

    top_four_share = float(shades[:4].sum())
    shade_count = int((shades > 0.0005).sum())
    strongest = numpy.percentile(chroma, 99)
    grey = bool(strongest < 24)
    ruled, boxes, grid = _find_rules(pixels)
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
        colourless=bool(strongest <= _COLOURLESS_CHROMA),
        pale=bool(strongest < 48),
        bright=bool(luma.mean() > 150),
        dark=bool(luma.mean() < 50 and numpy.percentile(luma, 95) < 110),
        plain=plain,
        screen=screen and flat >= 0.5,
        slide=slide and flat >= 0.5,
        colour=colours[0][1] if colours[0][0] > _MOSTLY else None,
        colours=() if grey else _main_colours(colours),
        ruled=large and ruled,
        boxes=large and boxes,
        grid=large and grid,
        sky=photograph and _sky_share(pixels) >= _SKY_SHARE,
        greenery=photograph and _share_of(colours, "green") >= _GREEN_SHARE,
        tall=height >= TALL * width,
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


def _colours(samples: Any) -> list[tuple[float, str]]:
    """The names of the colours and the share of the pixels that have each, the commonest first."""
    import numpy

    found, counts = numpy.unique(_colour_names(samples), return_counts=True)
    shares = [(float(count) / len(samples), str(name)) for name, count in zip(found, counts, strict=True)]
    return sorted(shares, key=lambda share: -share[0])


def _colour_names(samples: Any) -> Any:
    import numpy
    from PIL import Image

    hsv = numpy.asarray(Image.fromarray(samples.astype(numpy.uint8)[None]).convert("HSV"))[0].astype(int)
    hue, saturation, value = hsv[:, 0] * 360 // 256, hsv[:, 1], hsv[:, 2]
    names = numpy.array(_HUES)[numpy.searchsorted(_HUE_ENDS, hue, side="right")]
    names = numpy.where((names == "orange") & ((value < 150) | (saturation < 120)), "brown", names)
    names = numpy.where(saturation < 40, "grey", names)
    names = numpy.where((saturation < 40) & (value > 215), "white", names)
    return numpy.where(value < 45, "black", names)


def _main_colours(colours: Sequence[tuple[float, str]]) -> tuple[str, ...]:
    """The one or two colours, besides white, grey and black, that make up most of the picture; none if three do."""
    named = [(share, name) for share, name in colours if name not in _COLOURLESS]
    large = [(share, name) for share, name in named if share >= _SECOND_COLOUR] or named[:1]
    return tuple(name for _, name in large) if len(large) <= 2 and sum(share for share, _ in large) > _MOSTLY else ()


def _share_of(colours: Sequence[tuple[float, str]], wanted: str) -> float:
    return next((share for share, name in colours if name == wanted), 0.0)


def _sky_share(pixels: Any) -> float:
    """The share of the top fifth that is blue and smooth."""
    import numpy

    top = pixels[: max(2, pixels.shape[0] // 5)]
    step = max(1, int((top.shape[0] * top.shape[1] / SAMPLES) ** 0.5))
    top = top[::step, ::step]
    blue = _colour_names(top.reshape(-1, 3)).reshape(top.shape[:2]) == "blue"
    bright = top.max(axis=2) > 90
    steps = numpy.abs(numpy.diff(top @ numpy.array(_LUMA), axis=1, append=0))
    return float((blue & bright & (steps < 12)).mean())


def _find_rules(pixels: Any) -> tuple[bool, bool, bool]:
    """Whether there are straight lines across and down; enough for boxes; enough for a grid."""
    import numpy

    luma = pixels @ numpy.array(_LUMA, dtype=numpy.float32)
    rules, grid_rules = [], []
    for turned in (luma, luma.T):
        edges = numpy.abs(numpy.diff(turned, axis=0)) > _RULE_STEP
        rules.append(_rows_with_runs(edges, _RULE_LENGTH))
        grid_rules.append([int(row) for row in numpy.flatnonzero(edges.mean(axis=1) >= _GRID_SHARE)])
    return (
        all(len(rows) >= _MIN_RULES for rows in rules),
        all(_count_places(rows, size) >= _BOX_RULES for rows, size in zip(rules, luma.shape, strict=True)),
        all(_count_places(rows, size) >= _GRID_RULES for rows, size in zip(grid_rules, luma.shape, strict=True)),
    )


def _rows_with_runs(edges: Any, share: float) -> list[int]:
    """The rows that have an unbroken run of edges that is this share of the row long."""
    import numpy

    length = max(16, int(edges.shape[1] * share))
    if edges.shape[1] < length:
        return []
    sums = numpy.cumsum(edges, axis=1, dtype=numpy.int32)
    runs = sums[:, length - 1 :].copy()
    runs[:, 1:] -= sums[:, :-length]
    return [int(row) for row in numpy.flatnonzero((runs == length).any(axis=1))]


def _count_places(rows: Sequence[int], size: int) -> int:
    """How many places the rows are at: near ones are one place."""
    return sum(
        number == 0 or row - rows[number - 1] > max(2.0, _RULE_DISTANCE * size) for number, row in enumerate(rows)
    )


def _sizes_of_png(head: bytes) -> set[tuple[int, int]]:
    """Width and height, upright and turned; nothing of other formats, which screenshots do not have."""
    if not head.startswith(b"\x89PNG\r\n\x1a\n") or len(head) < PNG_HEAD:
        return set()
    width, height = int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
    return {(width, height), (height, width)}

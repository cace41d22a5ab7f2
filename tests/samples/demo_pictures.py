"""Render the photographs of the demo vault: rays are marched through solid shapes, water and sky come from noise.

Nothing here was photographed; every picture is computed, the same on every run.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pillow_heif
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from PIL.TiffImagePlugin import IFDRational

Array = np.ndarray
BOX_FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf"
EXIF_DETAILS, EXIF_PLACE = 0x8769, 0x8825


def lattice(x: Array, y: Array, seed: int) -> Array:
    """Smooth noise between 0 and 1 at points of a plane."""
    x0, y0 = np.floor(x), np.floor(y)
    fx, fy = x - x0, y - y0
    fx, fy = fx * fx * (3 - 2 * fx), fy * fy * (3 - 2 * fy)

    def at(i: Array, j: Array) -> Array:
        n = np.sin(i * 127.1 + j * 311.7 + seed * 74.7) * 43758.5453
        return n - np.floor(n)

    top = at(x0, y0) * (1 - fx) + at(x0 + 1, y0) * fx
    bottom = at(x0, y0 + 1) * (1 - fx) + at(x0 + 1, y0 + 1) * fx
    return top * (1 - fy) + bottom * fy


def noise(x: Array, y: Array, seed: int = 0, octaves: int = 5) -> Array:
    """Noise with detail at several sizes, between 0 and 1."""
    total, weight = np.zeros(np.broadcast(x, y).shape), 0.5
    for octave in range(octaves):
        total += weight * lattice(x * 2**octave, y * 2**octave, seed + octave)
        weight /= 2
    return total / (1 - 2.0**-octaves)


def mix(one: Array, other: Array, share: Array) -> Array:
    return one + (other - one) * np.clip(share, 0, 1)[..., None]


def colour(*values: float) -> Array:
    return np.array(values, np.float64)


def sky(x: Array, height: Array, above: Array, horizon: Array, clouds: Array, seed: int, cover: float) -> Array:
    """Colours of the sky; `height` is 0 at the horizon and about 1 at the top."""
    plain = mix(horizon, above, np.clip(height, 0, 1) ** 0.6)
    far = 1 / (np.clip(height, 0, None) + 0.12)
    thick = noise(x * far * 0.9 + 7, far * 1.7, seed, 6)
    return mix(plain, clouds, (thick - 1 + cover) * 3.2)


def developed(pixels: Array, seed: int = 1, grain: float = 0.012) -> Image.Image:
    """What a camera makes of linear colours: a curve, darker corners, a little grain."""
    rows, columns = pixels.shape[:2]
    y, x = np.mgrid[-1 : 1 : rows * 1j, -1 : 1 : columns * 1j]
    shown = np.clip(pixels, 0, None) * (1 - 0.16 * (x * x + y * y))[..., None]
    shown = np.clip(shown / (1 + 0.25 * shown), 0, 1) ** (1 / 2.0)
    shown += np.random.default_rng(seed).normal(0, grain, shown.shape[:2])[..., None]
    return Image.fromarray((np.clip(shown, 0, 1) * 255).astype(np.uint8))


def rippled(scene: Image.Image, line: int, strength: float, deep: tuple[int, int, int], seed: int) -> Image.Image:
    """The picture with water below the line, which mirrors what is above it."""
    above = np.asarray(scene, np.float64)
    rows, columns = above.shape[:2]
    y, x = np.mgrid[line + 1 : rows, 0:columns].astype(np.float64)
    depth = (y - line) / (rows - line)
    near = 1 / (1.03 - depth)
    across = 0.018 * columns / 1200
    waves = noise((x - columns / 2) / (columns * across) * (1.1 - depth) * 0.6, near * 9, seed, 4) - 0.5
    fine = noise(x / 6, y / 1.6, seed + 9, 3) - 0.5
    up = np.clip(2 * line - y + (waves * 90 + fine * 16) * depth**0.5 * strength, 0, line - 1).astype(int)
    aside = np.clip(x + (waves * 26 + fine * 8) * strength * depth, 0, columns - 1).astype(int)
    mirrored = above[up, aside]
    share = 0.2 + 0.42 * depth + 0.35 * waves * strength
    above[line + 1 :] = mix(mirrored, np.array(deep, np.float64), share)
    return Image.fromarray(np.clip(above, 0, 255).astype(np.uint8))


def softened(size: tuple[int, int], draw: Callable[[ImageDraw.ImageDraw, int], None]) -> Image.Image:
    """A transparent layer drawn four times as large, so that its edges are smooth."""
    layer = Image.new("RGBA", (size[0] * 4, size[1] * 4))
    draw(ImageDraw.Draw(layer), 4)
    return layer.resize(size, Image.Resampling.LANCZOS)


def sail(pen: ImageDraw.ImageDraw, scale: float, left: float, top: float, dark: bool, line: float) -> None:
    """The cutter Pipit under sail, seen from the side; `line` is where the water is."""

    def points(*pairs: tuple[float, float]) -> list[tuple[float, float]]:
        return [(left + x * scale, top + y * scale) for x, y in pairs]

    hull, deck, cloth, shade, wood = (
        ("#16131c", "#1d1820", "#3a2a31", "#2a1f28", "#120f16")
        if dark
        else ("#1f4e5a", "#b98b54", "#b5533a", "#8f3c2a", "#6d4a2a")
    )
    pen.polygon(points((-1, 71), (52, 74), (108, 68), (98, 86), (14, 86)), fill=hull)
    pen.polygon(points((-2, 69), (52, 72), (110, 66), (109, 69), (52, 75), (-1, 72)), fill=deck)
    pen.polygon(points((12, 85), (98, 85), (96, 88), (16, 88)), fill="#7c2a22" if not dark else hull)
    pen.polygon(points((22, 64), (42, 62), (44, 72), (20, 72)), fill=deck if not dark else hull)
    pen.line(points((62, 72), (60, -22)), fill=wood, width=int(1.7 * scale))
    pen.line(points((60, 64), (0, 62)), fill=wood, width=int(1.5 * scale))
    pen.line(points((60, 14), (20, -14)), fill=wood, width=int(1.3 * scale))
    pen.line(points((104, 68), (134, 60)), fill=wood, width=int(1.5 * scale))
    pen.line(points((60, -20), (133, 60)), fill=wood, width=max(1, int(0.4 * scale)))
    pen.polygon(points((59, 15), (21, -12), (3, 60), (59, 62)), fill=cloth)
    pen.polygon(points((59, 15), (45, 5), (30, 61), (59, 62)), fill=shade)
    pen.polygon(points((64, 4), (104, 62), (66, 60)), fill=cloth if dark else "#e9ddc3")
    pen.polygon(points((70, 0), (131, 58), (106, 60)), fill=shade if dark else "#d9cbb0")
    if not dark:
        for x, y in ((40, 60), (48, 61), (36, 63)):
            pen.ellipse(points((x - 2.4, y - 2.4), (x + 2.4, y + 2.4)), fill="#d8a47f")
            pen.rounded_rectangle([*points((x - 3, y + 2))[0], *points((x + 3, y + 11))[0]], scale, fill="#e2b33c")


def harbour() -> Image.Image:
    """A harbour at dusk with a pier, masts and a boat coming home."""
    columns, rows, line = 1200, 900, 520
    y, x = np.mgrid[0:rows, 0:columns].astype(np.float64)
    height = (line - y) / line
    air = sky(x / columns * 2, height, colour(0.05, 0.08, 0.24), colour(0.95, 0.42, 0.14), colour(0.62, 0.2, 0.2), 3, 0.5)
    sun = np.hypot((x - 790) / 1.0, y - 478)
    air += np.clip(1 - sun / 420, 0, 1)[..., None] ** 3 * colour(1.1, 0.55, 0.15)
    air = mix(air, colour(2.2, 1.5, 0.7), (44 - sun) / 3)
    hills = 505 - 62 * noise(x / 260, x * 0, 12, 5) * np.clip(1.1 - x / 900, 0, 1)
    air = mix(air, colour(0.1, 0.06, 0.12), (y - hills) / 2)
    image = developed(air, 5, 0.008)

    def boats(pen: ImageDraw.ImageDraw, zoom: int) -> None:
        sail(pen, 1.9 * zoom, 700 * zoom, 352 * zoom, True, line)
        for left, tall in ((110, 190), (190, 150), (268, 210), (330, 128), (402, 168)):
            pen.line([(left * zoom, (line - tall) * zoom), ((left + 2) * zoom, line * zoom)], fill="#15111a", width=zoom * 3)
            pen.polygon([((left + a) * zoom, (line + b) * zoom) for a, b in ((-36, -18), (44, -20), (34, 2), (-26, 2))], fill="#17131c")
            pen.line([(left * zoom, (line - tall) * zoom), ((left + 42) * zoom, (line - 20) * zoom)], fill="#221a24", width=zoom)
        pen.rectangle((0, (line - 38) * zoom, 560 * zoom, (line - 26) * zoom), fill="#1b141b")
        for post in range(30, 560, 66):
            pen.rectangle((post * zoom, (line - 46) * zoom, (post + 9) * zoom, (line + 2) * zoom), fill="#130e14")
        pen.polygon([(1064 * zoom, line * zoom), (1076 * zoom, 330 * zoom), (1104 * zoom, 330 * zoom), (1116 * zoom, line * zoom)], fill="#1d1620")
        pen.rectangle((1070 * zoom, 300 * zoom, 1110 * zoom, 330 * zoom), fill="#120d14")
        pen.ellipse((1078 * zoom, 303 * zoom, 1102 * zoom, 327 * zoom), fill="#ffe9a8")

    layer = softened((columns, rows), boats)
    image.paste(layer, (0, 0), layer)
    lamp = Image.new("RGB", (columns, rows))
    ImageDraw.Draw(lamp).ellipse((1060, 285, 1120, 345), fill="#8a6a30")
    image = Image.fromarray(np.clip(np.asarray(image, int) + np.asarray(lamp.filter(ImageFilter.GaussianBlur(26))), 0, 255).astype(np.uint8))
    return rippled(image, line, 1.0, (38, 26, 52), 4)


def sailing() -> Image.Image:
    """The Pipit on a bright day."""
    columns, rows, line = 1280, 960, 560
    y, x = np.mgrid[0:rows, 0:columns].astype(np.float64)
    height = (line - y) / line
    air = sky(x / columns * 2, height, colour(0.1, 0.27, 0.62), colour(0.55, 0.7, 0.82), colour(0.95, 0.96, 0.98), 21, 0.52)
    coast = line - 8 - 70 * noise(x / 330 + 3, x * 0, 31, 6) * np.clip((x - 560) / 500, 0, 1)
    air = mix(air, mix(colour(0.16, 0.27, 0.2), colour(0.3, 0.38, 0.25), noise(x / 16, y / 9, 5)), (y - coast) / 2)
    image = developed(air, 7)

    def boat(pen: ImageDraw.ImageDraw, zoom: int) -> None:
        sail(pen, 4.3 * zoom, 350 * zoom, 196 * zoom, False, line)

    layer = softened((columns, rows), boat)
    image.paste(layer, (0, 0), layer)
    image = rippled(image, line, 1.1, (24, 72, 96), 8)
    foam = softened((columns, rows), lambda pen, zoom: [pen.ellipse(((350 + a) * zoom, (560 + a % 7) * zoom, (350 + a + 34) * zoom, (567 + a % 7) * zoom), fill=(245, 250, 252, 150)) for a in range(20, 450, 23)] and None)
    foam = foam.filter(ImageFilter.GaussianBlur(2))
    image.paste(foam, (0, 0), foam)
    return image


@dataclass(frozen=True)
class Scene:
    """Solid shapes, how they look, and from where the light comes."""

    distance: Callable[[Array], Array]
    shade: Callable[[Array, Array], Array]  # points, normals → colours
    background: Callable[[Array], Array]  # directions → colours
    eye: Array
    at: Array
    light: Array
    zoom: float = 1.5
    ambient: float = 0.42


def unit(vector: Array) -> Array:
    return vector / np.linalg.norm(vector, axis=-1, keepdims=True)


def march(scene: Scene, size: tuple[int, int]) -> Array:
    """Linear colours of the scene. Rays go as far as the nearest shape is away, again and again."""
    columns, rows = size
    y, x = np.mgrid[1 : -1 : rows * 1j, -1 : 1 : columns * 1j]
    forward = unit(scene.at - scene.eye)
    right = unit(np.cross(forward, colour(0, 1, 0)))
    up = np.cross(right, forward)
    rays = unit(forward * scene.zoom + x[..., None] * right * columns / rows + y[..., None] * up).reshape(-1, 3)
    gone, alive = np.zeros(len(rays)), np.arange(len(rays))
    for _ in range(110):
        step = scene.distance(scene.eye + rays[alive] * gone[alive, None])
        gone[alive] += step * 0.85
        alive = alive[(step > 0.0012 * (1 + gone[alive] * 0.3)) & (gone[alive] < 40)]
        if not len(alive):
            break
    pixels = scene.background(rays)
    hit = np.flatnonzero(gone < 39)
    points = scene.eye + rays[hit] * gone[hit, None]
    tiny = 0.002
    normals = unit(np.stack([scene.distance(points + tiny * axis) - scene.distance(points - tiny * axis) for axis in np.eye(3)], -1))
    light = unit(scene.light)
    lit, way = np.ones(len(hit)), np.full(len(hit), 0.03)
    for _ in range(28):  # soft shadows
        near = scene.distance(points + normals * 0.01 + light * way[:, None])
        lit = np.minimum(lit, np.clip(9 * near / way, 0, 1))
        way += np.clip(near, 0.02, 0.4)
    hidden = sum((far - scene.distance(points + normals * far)) / 2**n for n, far in enumerate((0.05, 0.13, 0.3), 1))
    open_ = np.clip(1 - 2.4 * hidden, 0.15, 1)
    sun = np.clip(normals @ light, 0, 1) * lit
    from_above = 0.6 + 0.4 * normals[:, 1]
    brightness = sun[:, None] * colour(1.25, 1.13, 0.95) + (scene.ambient * from_above * open_)[:, None] * colour(0.86, 0.95, 1.1)
    seen = scene.shade(points, normals) * brightness
    pixels[hit] = mix(seen, pixels[hit], (gone[hit] - 9) / 30)
    return pixels.reshape(rows, columns, 3)


def capsule(p: Array, a: tuple[float, ...], b: tuple[float, ...], ra: float, rb: float | None = None) -> Array:
    start, along = np.array(a), np.array(b) - np.array(a)
    share = np.clip((p - start) @ along / (along @ along), 0, 1)
    return np.linalg.norm(p - start - share[:, None] * along, axis=-1) - (ra + ((rb or ra) - ra) * share)


def ellipsoid(p: Array, centre: tuple[float, ...], radii: tuple[float, ...]) -> Array:
    q = (p - np.array(centre)) / np.array(radii)
    k = np.linalg.norm(q, axis=-1)
    return k * (k - 1) / np.maximum(np.linalg.norm(q / np.array(radii), axis=-1), 1e-6)


def block(p: Array, centre: tuple[float, ...], half: tuple[float, ...], turn: float = 0.0) -> Array:
    q = np.abs(turned(p - np.array(centre), turn)) - np.array(half) + 0.012
    return np.linalg.norm(np.maximum(q, 0), axis=-1) + np.minimum(q.max(-1), 0) - 0.012


def turned(p: Array, angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c * p[:, 0] - s * p[:, 2], p[:, 1], s * p[:, 0] + c * p[:, 2]], -1)


def joined(*shapes: Array, round_: float = 0.06) -> Array:
    """Shapes that flow into one another."""
    total = shapes[0]
    for shape in shapes[1:]:
        h = np.clip(0.5 + 0.5 * (shape - total) / round_, 0, 1)
        total = shape + (total - shape) * h - round_ * h * (1 - h)
    return total


def dog_fur(p: Array) -> Array:
    """A spaniel that stands and looks at us over its shoulder."""
    m = p.copy()
    body = joined(
        capsule(m, (-0.42, 0.62, 0), (0.36, 0.66, 0), 0.2, 0.235),
        ellipsoid(m, (0.4, 0.6, 0), (0.2, 0.26, 0.2)),
        capsule(m, (0.42, 0.74, 0), (0.6, 1.0, 0.07), 0.15, 0.12),
        ellipsoid(m, (0.63, 1.08, 0.1), (0.17, 0.16, 0.16)),
        capsule(m, (0.68, 1.05, 0.16), (0.79, 1.0, 0.31), 0.085, 0.062),
        *(capsule(m, (x, 0.55, z), (x + lean, 0.08, z), 0.105, 0.06) for x, z, lean in ((0.4, 0.12, 0.02), (0.36, -0.12, 0.06), (-0.42, 0.12, -0.05), (-0.46, -0.12, 0.02))),
        *(ellipsoid(m, (x, 0.06, z), (0.09, 0.055, 0.065)) for x, z in ((0.45, 0.13), (0.45, -0.12), (-0.43, 0.13), (-0.41, -0.12))),
        capsule(m, (-0.56, 0.7, 0), (-0.84, 0.98, -0.05), 0.07, 0.045),
        round_=0.09,
    )
    ears = np.minimum(
        ellipsoid(turned(m - np.array((0.52, 0.98, 0.22)), 0.4), (0, 0, 0), (0.1, 0.19, 0.06)),
        ellipsoid(turned(m - np.array((0.76, 1.0, -0.03)), 0.4), (0, 0, 0), (0.07, 0.18, 0.07)),
    )
    curls = np.sin(m[:, 0] * 34 + 2 * np.sin(m[:, 1] * 19)) * np.sin(m[:, 1] * 31 + 1.5 * np.sin(m[:, 2] * 23)) * np.sin(m[:, 2] * 33 + m[:, 0] * 9)
    rough = np.clip((1.02 - m[:, 1]) * 4, 0.15, 1)
    return joined(body, ears, round_=0.03) - 0.012 * curls * rough


FACE = (((0.795, 0.995, 0.37), 0.036), ((0.635, 1.13, 0.245), 0.024), ((0.755, 1.125, 0.19), 0.024))  # nose, eyes


def face(p: Array) -> Array:
    return np.minimum.reduce([np.linalg.norm(p - np.array(at), axis=-1) - size for at, size in FACE])


def collar(p: Array) -> Array:
    q = p - np.array((0.5, 0.86, 0.035))
    axis = unit(colour(0.18, 0.26, 0.07))
    along = q @ axis
    return np.hypot(np.linalg.norm(q - along[:, None] * axis, axis=-1) - 0.145, np.maximum(np.abs(along) - 0.03, 0)) - 0.022


def sand(p: Array) -> Array:
    swell = noise(p[:, 0] * 0.7, p[:, 2] * 0.7, 2, 3) * 0.12 + noise(p[:, 0] * 9, p[:, 2] * 3, 6, 3) * 0.025
    return p[:, 1] + 0.06 - swell * np.clip((p[:, 2] + 4.2) / 1.5, 0, 1)


def beach() -> Image.Image:
    """Biscuit, a brown spaniel with a red collar, on the sand."""

    def ball(p: Array) -> Array:
        return np.linalg.norm(p - np.array((1.15, 0.13, 0.75)), axis=-1) - 0.13

    def distance(p: Array) -> Array:
        return np.minimum.reduce([dog_fur(p), face(p), collar(p), sand(p) * 0.8, ball(p)])

    def shade(p: Array, normals: Array) -> Array:
        which = np.argmin([dog_fur(p), face(p) - 0.002, collar(p), sand(p) * 0.8, ball(p)], axis=0)
        grains = noise(p[:, 0] * 60, p[:, 2] * 60, 1, 2)
        dry = mix(colour(0.5, 0.38, 0.24), colour(0.72, 0.58, 0.38), grains)
        wet = mix(dry, colour(0.3, 0.23, 0.16), (-p[:, 2] - 2.2 + noise(p[:, 0], p[:, 2], 3)) / 0.8)
        away = p[:, 2] + 4.0 + 0.5 * noise(p[:, 0] * 0.8, p[:, 2] * 0, 4)
        sea = mix(colour(0.04, 0.2, 0.25), colour(0.3, 0.45, 0.5), noise(p[:, 0] * 1.2, p[:, 2] * 5, 8))
        foam = np.clip(1 - np.abs(away + 0.15) * 3, 0, 1) * noise(p[:, 0] * 5, p[:, 2] * 5, 9) * 1.6
        ground = mix(mix(wet, sea, -away * 6), np.ones(3), foam)
        fur = mix(colour(0.13, 0.055, 0.022), colour(0.33, 0.16, 0.07), noise(p[:, 0] * 14 + p[:, 2] * 9, p[:, 1] * 14, 11, 3))
        fur = mix(fur, colour(0.62, 0.5, 0.36), (0.2 - np.hypot(p[:, 0] - 0.55, (p[:, 1] - 0.56) * 0.8)) * 9)
        stripes = np.where((np.sin(np.arctan2(p[:, 2] - 0.75, p[:, 0] - 1.15) * 3) > 0)[:, None], colour(0.75, 0.12, 0.08), colour(0.85, 0.8, 0.7))
        return np.choose(which[:, None], [fur, np.full_like(p, 0.012), np.broadcast_to(colour(0.6, 0.03, 0.03), p.shape), ground, stripes])

    def background(rays: Array) -> Array:
        return sky(rays[:, 0] * 1.4, rays[:, 1] * 1.6, colour(0.16, 0.36, 0.68), colour(0.66, 0.76, 0.82), colour(0.95, 0.95, 0.96), 41, 0.5)

    scene = Scene(distance, shade, background, colour(0.5, 1.0, 3.6), colour(0.3, 0.58, 0), colour(0.75, 0.85, 0.75), 2.5)
    return developed(march(scene, (880, 660)), 11, 0.01)


BOXES = (  # centre, half of the size, turn, what is written on it
    ((-0.72, 0.32, 0.0), (0.46, 0.32, 0.36), 0.12, "BOOKS"),
    ((0.35, 0.28, 0.1), (0.4, 0.28, 0.34), -0.18, "KITCHEN"),
    ((-0.6, 0.87, 0.02), (0.36, 0.23, 0.3), -0.1, "NOOR"),
    ((0.4, 0.75, 0.1), (0.3, 0.19, 0.26), 0.22, "FRAGILE"),
    ((1.22, 0.2, 0.5), (0.3, 0.2, 0.27), 0.35, "TEAPOTS"),
)  # fmt: skip


def label(text: str) -> Array:
    page = Image.new("L", (320, 200), 255)
    pen = ImageDraw.Draw(page)
    pen.text((160, 92), text, 30, ImageFont.truetype(BOX_FONT, 46), anchor="mm")
    pen.line((60, 132, 262, 128), 60, 4)
    return np.asarray(page.filter(ImageFilter.GaussianBlur(0.8)), np.float64) / 255


def boxes() -> Image.Image:
    """Packed boxes in an empty room, on the day of the move."""
    labels = [label(text) for *_, text in BOXES]

    def solids(p: Array) -> list[Array]:
        pot = capsule(p, (-1.72, 0.12, 0.35), (-1.72, 0.3, 0.35), 0.15, 0.2)
        leaves = np.minimum.reduce([
            ellipsoid(turned(p - np.array((-1.72, 0.75, 0.35)), k * 1.05), (0.17, 0.1 * (k % 3) - 0.05, 0), (0.24, 0.28 - 0.03 * k % 0.1, 0.035)) for k in range(6)
        ])
        room = np.minimum.reduce([p[:, 1], p[:, 2] + 1.3, block(p, (0, 0.09, -1.3), (9, 0.09, 0.03))])
        return [room, *(block(p, *each[:3]) for each in BOXES), pot, leaves * 0.7]

    def distance(p: Array) -> Array:
        return np.minimum.reduce(solids(p))

    def shade(p: Array, normals: Array) -> Array:
        which = np.argmin(solids(p), axis=0)
        plank = np.floor(p[:, 0] / 0.28)
        wood = mix(colour(0.36, 0.2, 0.1), colour(0.58, 0.36, 0.19), noise(p[:, 0] * 12 + plank * 5, p[:, 2] * 1.2 + plank * 3, 2))
        wood *= np.where(np.abs(p[:, 0] / 0.28 - plank - 0.5) > 0.485, 0.45, 1)[:, None] * (0.86 + 0.28 * lattice(plank, plank * 0, 3))[:, None]
        wall = np.broadcast_to(colour(0.68, 0.7, 0.62), p.shape)
        wall = np.where((p[:, 1] < 0.2)[:, None], colour(0.85, 0.84, 0.8), wall)
        result = np.where((normals[:, 1] > 0.7)[:, None] & (p[:, 1] < 0.02)[:, None], wood, wall)
        for number, (centre, half, turn, _) in enumerate(BOXES, 1):
            q = turned(p - np.array(centre), turn)
            card = mix(colour(0.42, 0.27, 0.14), colour(0.5, 0.33, 0.18), noise(q[:, 0] * 3, q[:, 1] * 40, number, 3))
            tape = (np.abs(q[:, 2]) < 0.045) & (np.abs(q[:, 1]) > half[1] * 0.75) | (q[:, 1] > half[1] * 0.96) & (np.abs(q[:, 2]) < 0.045)
            card = np.where(tape[:, None], colour(0.66, 0.52, 0.3), card)
            u = np.clip((q[:, 0] / half[0] + 1) * 160, 0, 319).astype(int)
            v = np.clip((1 - q[:, 1] / half[1]) * 100, 0, 199).astype(int)
            ink = np.where(q[:, 2] > half[2] * 0.9, labels[number - 1][v, u], 1.0)
            result = np.where((which == number)[:, None], card * (0.08 + 0.92 * ink)[:, None], result)
        result = np.where((which == len(BOXES) + 1)[:, None], colour(0.55, 0.2, 0.1), result)
        green = mix(colour(0.05, 0.2, 0.05), colour(0.2, 0.42, 0.12), noise(p[:, 0] * 9, p[:, 1] * 9, 4))
        return np.where((which == len(BOXES) + 2)[:, None], green, result)

    scene = Scene(distance, shade, lambda rays: np.full_like(rays, 0.7), colour(0.35, 1.25, 4.0), colour(-0.2, 0.66, 0), colour(-0.9, 1.15, 1.0), 2.45, 0.5)
    return developed(march(scene, (880, 660)), 13, 0.01)


def exif(taken: str, camera: str, said: str, place: tuple[float, float]) -> bytes:
    """When, with what and where (degrees north and east) a picture says that it was taken."""
    data = Image.Exif()
    data[0x010F], data[0x0110], data[0x010E] = "Kestrel", camera, said
    details = data.get_ifd(EXIF_DETAILS)
    details[0x9003], details[0x9011] = taken, "+02:00"
    details[0x829A], details[0x829D], details[0x8827] = IFDRational(1, 250), IFDRational(28, 10), 200
    where = data.get_ifd(EXIF_PLACE)
    for at, (degrees, letter) in enumerate(zip(place, "NE", strict=True)):
        minutes = abs(degrees) % 1 * 60
        where[1 + 2 * at] = letter
        where[2 + 2 * at] = (IFDRational(int(abs(degrees))), IFDRational(int(minutes)), IFDRational(int(minutes % 1 * 6000), 100))
    return data.tobytes()


def saved(image: Image.Image, format_: str, quality: int = 78, details: bytes = b"") -> bytes:
    out = io.BytesIO()
    if format_ == "HEIF":
        pillow_heif.from_pillow(image).save(out, quality=quality, exif=details or None)
    elif format_ == "PNG":
        image.convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(out, "PNG", optimize=True)
    else:
        image.save(out, format_, quality=quality, optimize=True, **({"exif": details} if details else {}))
    return out.getvalue()

"""Objects in a picture: which to keep, how to call them, and what an odd box may have meant."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chyme.core.bounding_boxes import area, overlap, repair_box
from chyme.model import Box
from chyme.text.model_output import plain_line

MOST = 50
SAME = 0.5  # two boxes of one name that share more than this are one thing
SAME_PLACE = 0.85  # a detector that sees a cup and a bowl in one place is sure of one of them
PAGE = 0.8  # of the picture: a screen, a book or a fridge this large is what a detector takes a page for
TAGS, TAG_LENGTH, NAME_LENGTH, DESCRIPTION_LENGTH = 10, 40, 100, 1000
FRACTIONS_UP_TO = 1.5  # a box may stick out a little; beyond, the numbers were not meant as parts of the picture
THOUSANDS = 1000.0
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")
_SPACE = re.compile(r"\s+")
_LEFT, _RIGHT, _SPREAD = 0.4, 0.6, 0.75

Edges = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class PictureObject:
    """One object, ready to be written down."""

    name: str
    description: str
    category: str
    tags: tuple[str, ...]
    box: Box | None  # None when nobody can tell where it stands
    confidence: float | None  # None when the engine does not say


def as_json(things: Sequence[PictureObject], engine: str, note: str | None = None) -> str | None:
    """The content of image-objects; None when nothing was found."""
    if not things:
        return None
    told: dict[str, object] = {
        "objects": [
            {
                "name": thing.name,
                "description": thing.description,
                "category": thing.category,
                "tags": list(thing.tags),
                "box": None if thing.box is None else list(thing.box),
                "confidence": None if thing.confidence is None else round(thing.confidence, 2),
            }
            for thing in things
        ],
        "engine": engine,
    }
    if note:
        told["note"] = note
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def select_objects(things: Iterable[PictureObject], most: int = MOST) -> list[PictureObject]:
    """The surest first, each thing once, no more than `most`."""
    found: list[PictureObject] = []
    for thing in sorted(things, key=lambda one: -(one.confidence or 0.0)):
        if not any(_same(thing, other) for other in found):
            found.append(thing)
    return found[:most]


def _same(one: PictureObject, other: PictureObject) -> bool:
    if one.box is None or other.box is None:
        return one == other
    if one.name != other.name:
        return one.confidence is not None and overlap(one.box, other.box) > SAME_PLACE
    return overlap(one.box, other.box) > SAME


def _a_page(category: str, name: str, box: Box) -> bool:
    return (category in ("electronic", "appliance") or name == "book") and area(box) > PAGE


def object_from_detector(name: str, category: str, confidence: float, edges: Edges) -> PictureObject | None:
    """A thing from a detector that knows names and boxes only; None when its box is empty or it is a page."""
    box = repair_box(edges)
    if box is None or _a_page(category, name, box):
        return None
    tags = tuple(dict.fromkeys((name, category)))
    return PictureObject(name, f"{with_article(name)}, {describe_position(box)}", category, tags, box, confidence)


def object_from_model(
    name: str, description: str, category: str, tags: Sequence[str], box: Box | None
) -> PictureObject | None:
    """A thing as a model described it, cleaned and cut; None when it has no name."""
    called = clean_line(plain_line(name), NAME_LENGTH)
    if not called:
        return None
    words = dict.fromkeys(clean_line(plain_line(tag), TAG_LENGTH).lower() for tag in tags)
    return PictureObject(
        called,
        clean_line(plain_line(description), DESCRIPTION_LENGTH),
        clean_line(plain_line(category), NAME_LENGTH).lower(),
        tuple(word for word in words if word)[:TAGS],
        box,
        None,
    )


def normalise_boxes(boxes: Sequence[Sequence[float]], size: tuple[int, int] | None) -> list[Box | None]:
    """Boxes a model gave, as parts of the picture: whatever scale it took, as long as only one makes sense.

    They were asked for in 0..1. Some models answer in 0..1000 or in pixels all the same; all boxes of an answer
    share one scale. `size` is the picture's width and height, None when unknown.
    """
    whole = [edges for edges in boxes if len(edges) == 4]
    furthest = max((abs(edge) for edges in whole for edge in edges), default=0.0)
    if furthest <= FRACTIONS_UP_TO:
        return [repair_box(edges) for edges in boxes]
    scales: list[tuple[float, float]] = []
    if furthest <= THOUSANDS:
        scales.append((THOUSANDS, THOUSANDS))
    if size is not None and all(_inside(edges, size) for edges in whole):
        scales.append((float(size[0]), float(size[1])))
    if len(set(scales)) != 1:
        return [None for _ in boxes]
    width, height = scales[0]
    return [
        repair_box((edges[0] / width, edges[1] / height, edges[2] / width, edges[3] / height))
        if len(edges) == 4
        else None
        for edges in boxes
    ]


def _inside(edges: Sequence[float], size: tuple[int, int]) -> bool:
    return max(edges[0], edges[2]) <= size[0] and max(edges[1], edges[3]) <= size[1] and min(edges) >= 0


def clean_line(text: str, most: int) -> str:
    """One line without characters that nobody sees, no longer than `most`."""
    line = _SPACE.sub(" ", _UNPRINTABLE.sub(" ", text)).strip()
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def with_article(name: str) -> str:
    """`a dog`, `an apple`, `skis`."""
    if name in _PLURAL_ONLY:
        return name
    return f"an {name}" if name[:1] in "aeiou" and not name.startswith("uni") else f"a {name}"


_PLURAL_ONLY = frozenset({"skis", "scissors"})


def describe_position(box: Box) -> str:
    """In plain words, where in the picture a box lies."""
    if box[2] - box[0] > _SPREAD and box[3] - box[1] > _SPREAD:
        return "filling the picture"
    across, down = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    side = "left" if across < _LEFT else "right" if across > _RIGHT else ""
    height = "upper" if down < _LEFT else "lower" if down > _RIGHT else ""
    if side and height:
        return f"{height} {side}"
    return side or {"upper": "at the top", "lower": "at the bottom"}.get(height, "in the middle")

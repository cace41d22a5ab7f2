"""Objects in a picture: which to keep, how to name them, and how to interpret odd boxes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chyme.core.bounding_boxes import area, overlap, repair_box
from chyme.model import Box
from chyme.text.model_output import plain_line

MAX_OBJECTS = 50
SAME_OBJECT = 0.5  # two boxes with the same name that overlap more than this are one object
SAME_PLACE = 0.85  # a detector that sees a cup and a bowl in one place is right about one of them
PAGE_AREA = 0.8  # of the picture: detectors take a whole page for a screen, a book or a fridge this large
MAX_TAGS, TAG_LENGTH, NAME_LENGTH, DESCRIPTION_LENGTH = 10, 40, 100, 1000
FRACTIONS_UP_TO = 1.5  # a box may stick out a little; larger numbers are not fractions of the picture
THOUSANDS = 1000.0
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")
_SPACE = re.compile(r"\s+")
_LEFT, _RIGHT, _FILLING = 0.4, 0.6, 0.75

Edges = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class PictureObject:
    """One object, ready to be stored."""

    name: str
    description: str
    category: str
    tags: tuple[str, ...]
    box: Box | None  # None if its position is unknown
    confidence: float | None  # None if the engine does not report one


def as_json(objects: Sequence[PictureObject], engine: str, note: str | None = None) -> str | None:
    """The content of image-objects; None if nothing was found."""
    if not objects:
        return None
    fields: dict[str, object] = {
        "objects": [
            {
                "name": item.name,
                "description": item.description,
                "category": item.category,
                "tags": list(item.tags),
                "box": None if item.box is None else list(item.box),
                "confidence": None if item.confidence is None else round(item.confidence, 2),
            }
            for item in objects
        ],
        "engine": engine,
    }
    if note:
        fields["note"] = note
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def select_objects(objects: Iterable[PictureObject], limit: int = MAX_OBJECTS) -> list[PictureObject]:
    """Return at most `limit` objects, the most confident first, each one once."""
    selected: list[PictureObject] = []
    for item in sorted(objects, key=lambda candidate: -(candidate.confidence or 0.0)):
        if not any(_is_same_object(item, other) for other in selected):
            selected.append(item)
    return selected[:limit]


def _is_same_object(first: PictureObject, second: PictureObject) -> bool:
    if first.box is None or second.box is None:
        return first == second
    if first.name != second.name:
        return first.confidence is not None and overlap(first.box, second.box) > SAME_PLACE
    return overlap(first.box, second.box) > SAME_OBJECT


def _is_page(category: str, name: str, box: Box) -> bool:
    return (category in ("electronic", "appliance") or name == "book") and area(box) > PAGE_AREA


def object_from_detector(name: str, category: str, confidence: float, edges: Edges) -> PictureObject | None:
    """An object from a detector that knows only names and boxes; None if its box is empty or it is a page."""
    box = repair_box(edges)
    if box is None or _is_page(category, name, box):
        return None
    tags = tuple(dict.fromkeys((name, category)))
    return PictureObject(name, f"{with_article(name)}, {describe_position(box)}", category, tags, box, confidence)


def object_from_model(
    name: str, description: str, category: str, tags: Sequence[str], box: Box | None
) -> PictureObject | None:
    """An object as a model described it, cleaned and shortened; None if it has no name."""
    clean_name = clean_line(plain_line(name), NAME_LENGTH)
    if not clean_name:
        return None
    clean_tags = dict.fromkeys(clean_line(plain_line(tag), TAG_LENGTH).lower() for tag in tags)
    return PictureObject(
        clean_name,
        clean_line(plain_line(description), DESCRIPTION_LENGTH),
        clean_line(plain_line(category), NAME_LENGTH).lower(),
        tuple(word for word in clean_tags if word)[:MAX_TAGS],
        box,
        None,
    )


def normalise_boxes(boxes: Sequence[Sequence[float]], size: tuple[int, int] | None) -> list[Box | None]:
    """Convert a model's boxes to fractions of the picture, from any scale, as long as only one scale makes sense.

    The prompt asks for 0..1, but some models answer in 0..1000 or in pixels; all boxes of one answer share one scale.
    `size` is the picture's width and height, None if unknown.
    """
    complete = [edges for edges in boxes if len(edges) == 4]
    largest = max((abs(edge) for edges in complete for edge in edges), default=0.0)
    if largest <= FRACTIONS_UP_TO:
        return [repair_box(edges) for edges in boxes]
    scales: list[tuple[float, float]] = []
    if largest <= THOUSANDS:
        scales.append((THOUSANDS, THOUSANDS))
    if size is not None and all(_is_inside(edges, size) for edges in complete):
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


def _is_inside(edges: Sequence[float], size: tuple[int, int]) -> bool:
    return max(edges[0], edges[2]) <= size[0] and max(edges[1], edges[3]) <= size[1] and min(edges) >= 0


def clean_line(text: str, max_chars: int) -> str:
    """One line without invisible characters, at most `max_chars` long."""
    line = _SPACE.sub(" ", _UNPRINTABLE.sub(" ", text)).strip()
    return line if len(line) <= max_chars else line[: max_chars - 1].rstrip() + "…"


def with_article(name: str) -> str:
    """`a dog`, `an apple`, `skis`."""
    if name in _PLURAL_ONLY:
        return name
    return f"an {name}" if name[:1] in "aeiou" and not name.startswith("uni") else f"a {name}"


_PLURAL_ONLY = frozenset({"skis", "scissors"})


def describe_position(box: Box) -> str:
    """Describe in plain words where in the picture a box lies."""
    if box[2] - box[0] > _FILLING and box[3] - box[1] > _FILLING:
        return "filling the picture"
    across, down = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    side = "left" if across < _LEFT else "right" if across > _RIGHT else ""
    height = "upper" if down < _LEFT else "lower" if down > _RIGHT else ""
    if side and height:
        return f"{height} {side}"
    return side or {"upper": "at the top", "lower": "at the bottom"}.get(height, "in the middle")

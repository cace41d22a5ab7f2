"""Tell what a picture is (a photograph, a screenshot, a receipt, a letter, a diagram), and by which signs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from chyme.text.word_lists import WordList

PAGE_WORDS = 25
TALL = 1.2  # height by width from which on a picture is tall
_RECEIPT_WORDS, _RECEIPT_AMOUNTS, _RECEIPT_TEXT = 2, 3, 8
_TOTAL_ROW, _TILL_ROW = 5, 4  # words of a short row with the total, or with how it was paid
_SCREEN_WORDS, _SLIDE_WORDS = 3, 2  # labels of a program; fewer are enough in a picture as large as a screen
_DIAGRAM_WORDS = 60  # a drawing with more words than this is a page
_CHART_NUMBERS, _CHART_SHARE = 5, 0.4  # numbers on a chart, and their share among its words
_SCALE_STEPS, _MOST_NUMBERS = 4, 200  # numbers at equal distances, as an axis has them, among so many
_DAYLIGHT, _LAMPLIGHT = 12.0, 7.0  # exposure values at ISO 100: sunshine has 15, a lit room 5
_RULES = "straight lines across and down"
_SIGNS = WordList(__package__, "picture_types")
_AMOUNT = re.compile(r"(?<![\d.,])\d{1,5}[.,]\d{2}(?![\d.,]?\d)")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_NUMBER = re.compile(r"(?<![\w.,])\d{1,6}(?:\.\d{1,2})?(?![\w]|[.,]\d)")
_TOKEN = re.compile(r"\w[\w.,%'’-]*")


@dataclass(frozen=True, slots=True)
class Scene:
    """What can be said about a picture without understanding it. If everything is False, nothing is certain."""

    photograph: bool = False
    drawn: bool = False  # flat colours with sharp edges: a drawing, a diagram, a sign
    paper: bool = False  # nearly all of it is white
    grey: bool = False  # hardly any colour, as in a photograph of a sketch
    colourless: bool = False  # none at all
    pale: bool = False  # hardly any colour, as on yellowed paper
    bright: bool = False
    dark: bool = False
    plain: bool = False  # one colour and nothing else
    screen: bool = False  # drawn, and exactly as large as a screen
    slide: bool = False  # the same, but slides and videos have this size, too
    colour: str | None = None  # the colour of more than half of it
    colours: tuple[str, ...] = ()  # the colours of a good part of it, the commonest first
    ruled: bool = False  # long straight lines, across and down
    boxes: bool = False  # several of them in both directions: more than a frame or the axes of a chart
    grid: bool = False  # several in both directions that cross most of it, as in a table
    sky: bool = False  # smooth blue along the top of a photograph
    greenery: bool = False  # a photograph with much green
    tall: bool = False


@dataclass(frozen=True, slots=True)
class PictureType:
    """What to call a picture, and the signs that speak for it."""

    name: str
    evidence: tuple[str, ...] = ()


def type_of_picture(
    text: str,
    words: int,
    scene: Scene,
    *,
    file_name: str = "",
    details: Mapping[str, object] | None = None,
    things: Iterable[str] = (),
) -> PictureType:
    """What the picture is. `text` was read in it and has so many `words`; `details` are the file's own metadata."""
    details = details or {}
    if scene.plain:
        return PictureType(f"plain {scene.colour} picture" if scene.colour else "plain picture")
    screenshot = _screenshot_signs(text, scene, file_name, has_camera=bool(details.get("camera")))
    if screenshot:
        return PictureType("screenshot", screenshot)
    document = _document_type(text, words, scene)
    if document:
        return document
    if scene.paper and scene.pale and words and not (scene.drawn and scene.ruled):
        return PictureType("piece of text")
    # Scanners write the name of a camera, too.
    if scene.photograph or (details.get("camera") and not scene.drawn and not scene.paper):
        return _photograph(scene, details, set(things))
    if scene.drawn:
        return _drawing(words, scene)
    return PictureType(f"{_dark(scene)}{'' if scene.paper else _black_and_white(scene)}picture")


def _dark(scene: Scene) -> str:
    return "dark " if scene.dark else ""


def _black_and_white(scene: Scene) -> str:
    return "black-and-white " if scene.colourless else ""


def _screenshot_signs(text: str, scene: Scene, file_name: str, has_camera: bool) -> tuple[str, ...]:
    """The signs of a screenshot; none if they are not enough."""
    if scene.screen:
        return ("it is exactly as large as a screen",)
    if has_camera or scene.photograph or not (scene.drawn or scene.slide):
        return ()
    signs = []
    name = file_name.lower().replace("_", " ")
    if any(sign in name for sign in _SIGNS.phrases("screenshot")):
        signs.append(f"its name: {file_name}")
    labels = _found_words(text, "screen")
    if len(labels) >= (_SLIDE_WORDS if scene.slide else _SCREEN_WORDS) and (scene.slide or not scene.tall):
        signs.append(f"labels of a program: {', '.join(labels[:4])}")
    return tuple(signs)


def _document_type(text: str, words: int, scene: Scene) -> PictureType | None:
    """A receipt, a letter or another page; None if the picture is none."""
    if words >= _RECEIPT_TEXT and (scene.tall or scene.paper):
        found, amounts = _found_words(text, "receipt"), _AMOUNT.findall(text)
        if len(found) >= _RECEIPT_WORDS and len(amounts) >= _RECEIPT_AMOUNTS and _has_total_and_payment(text):
            return PictureType(
                "receipt", (f"words of a receipt: {', '.join(found[:4])}", f"amounts: {', '.join(amounts[:3])}")
            )
    if scene.drawn and (chart := _chart(text, words, scene)):
        return chart
    if scene.drawn and scene.ruled and not scene.pale and _is_mostly_numbers(text):
        return None  # charts side by side
    if words < PAGE_WORDS or not (scene.paper or (scene.pale and scene.bright)):
        return None
    greeting, closing = _greeting_in(text), _closing_in(text)
    if greeting and closing:
        return PictureType("letter", (f"greeting: {greeting}", f"closing: {closing}"))
    return PictureType("page of text" if scene.pale else "page with text")


def _has_total_and_payment(text: str) -> bool:
    """Whether short rows give the total and how it was paid: invoices, menus and accounts have one of them at most."""
    total = payment = False
    for row in text.lower().split("\n"):
        words, amounts = _WORD.findall(row), len(_AMOUNT.findall(row))
        payment = payment or (len(words) <= _TILL_ROW and amounts <= 1 and bool(_found_words(row, "till")))
        total = total or (len(words) <= _TOTAL_ROW and amounts == 1 and bool(_found_words(row, "receipt")))
    return total and payment


def _found_words(text: str, section: str) -> list[str]:
    """The words of a section that are in the text, each once, in its order."""
    known = _SIGNS.words(section)
    return list(dict.fromkeys(word for match in _WORD.finditer(text.lower()) if (word := match[0]) in known))


def _greeting_in(text: str) -> str:
    """The line that greets, if one does."""
    lines = (line.strip(" #*>|") for line in text.split("\n"))
    return next(
        (
            line
            for line in lines
            if len(line) <= 60 and line.lower().startswith(tuple(f"{sign} " for sign in _SIGNS.phrases("greeting")))
        ),
        "",
    )


def _closing_in(text: str) -> str:
    """The words that close a letter; they begin a line."""
    lines = (line.strip(" #*>|").lower() for line in text.split("\n"))
    closings = tuple(_SIGNS.phrases("closing"))
    return next((line[:60] for line in lines if line.startswith(closings)), "")


def _photograph(scene: Scene, details: Mapping[str, object], things: set[str]) -> PictureType:
    where, evidence = _indoors_or_outdoors(scene, details, things)
    return PictureType(f"{_dark(scene)}{_black_and_white(scene)}{where}photograph", evidence)


def _indoors_or_outdoors(scene: Scene, details: Mapping[str, object], things: set[str]) -> tuple[str, tuple[str, ...]]:
    """`outdoor ` or `indoor ` with the signs, or nothing where they are weak or disagree."""
    light = exposure_value(details.get("exposure"))
    outside = things & (_SIGNS.words("outdoors") | _SIGNS.phrases("outdoors"))
    inside = things & (_SIGNS.words("indoors") | _SIGNS.phrases("indoors"))
    outdoor_signs = [f"{name} in it" for name in sorted(outside)]
    if scene.sky and scene.greenery:
        outdoor_signs.append("sky and greenery")
    if light is not None and light >= _DAYLIGHT and (scene.sky or scene.greenery or outside):  # a flash is as bright
        outdoor_signs.append("exposed for daylight")
    indoor_signs = [f"{name} in it" for name in sorted(inside)]
    if inside and light is not None and light <= _LAMPLIGHT:
        indoor_signs.append("exposed for lamplight")
    if outdoor_signs and not indoor_signs:
        return "outdoor ", tuple(outdoor_signs)
    if indoor_signs and not outdoor_signs and not scene.sky:
        return "indoor ", tuple(indoor_signs)
    return "", ()


def exposure_value(exposure: object) -> float | None:
    """How bright the scene was: the exposure value at ISO 100, from seconds, aperture and ISO."""
    if not isinstance(exposure, Mapping):
        return None
    values = [exposure.get(name) for name in ("seconds", "aperture", "iso")]
    known = [float(value) for value in values if isinstance(value, int | float) and value > 0]
    if len(known) < len(values):
        return None
    seconds, aperture, iso = known
    return math.log2(aperture**2 / seconds * 100 / iso)


def _is_mostly_numbers(text: str) -> bool:
    tokens = _TOKEN.findall(text)
    numbers = sum(1 for token in tokens if str(token)[0].isdecimal())
    return numbers >= max(_CHART_NUMBERS, _CHART_SHARE * len(tokens))


def _has_scale(text: str) -> bool:
    """Whether there are numbers at equal distances, as along an axis."""
    found = sorted({float(number) for number in _NUMBER.findall(text)})[:_MOST_NUMBERS]
    known = set(found)
    return any(
        all(round(first + step * (second - first), 2) in known for step in range(2, _SCALE_STEPS))
        for number, first in enumerate(found)
        for second in found[number + 1 :]
    )


def _chart(text: str, words: int, scene: Scene) -> PictureType | None:
    if not scene.ruled or words > _DIAGRAM_WORDS or not _is_mostly_numbers(text):
        return None
    tokens = _TOKEN.findall(text)
    evidence = _RULES, f"{sum(token[0].isdecimal() for token in tokens)} of {len(tokens)} words on it are numbers"
    if scene.grid:
        return PictureType("table or chart", evidence)
    return PictureType("chart", (*evidence, "a scale")) if _has_scale(text) else None


def _drawing(words: int, scene: Scene) -> PictureType:
    if scene.boxes and not scene.grid and 1 < words <= _DIAGRAM_WORDS:
        return PictureType("diagram", (_RULES, f"{words} words on it"))
    return PictureType("drawing or diagram")

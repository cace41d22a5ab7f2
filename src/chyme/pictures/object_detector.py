"""SSD-MobileNet v2 run by OpenCV: detects 80 kinds of everyday objects, in about a tenth of a second per picture."""

from __future__ import annotations

import functools
import io
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from chyme.core.package_versions import describe_versions
from chyme.errors import EngineUnavailable, UnreadableFile
from chyme.models.weights.catalog import OBJECTS
from chyme.models.weights.folder import path_of, read_files

if TYPE_CHECKING:
    from PIL import Image

SIDE = 300  # the size the network was trained on; the picture is squeezed to a square
GRAPH, TEXT_GRAPH = (member.filename for member in OBJECTS.members)
PACKAGE = "opencv-python-headless"


@dataclass(frozen=True, slots=True)
class DetectorSettings:
    """Settings of the embedded detector; each field has the name of its setting."""

    weights_dir: str = ""  # the folder of the weights; empty means beside Python
    object_confidence: float = 0.6  # objects with less confidence are left out


@dataclass(frozen=True, slots=True)
class Detection:
    """One object the network found. Its edges may lie outside the picture."""

    name: str
    category: str
    confidence: float
    edges: tuple[float, float, float, float]  # left, top, right, bottom as fractions of the picture


def fingerprint(settings: DetectorSettings) -> str:
    """Engine, version, threshold and whether the weights are present, so that digests are redone when they appear."""
    presence = "with" if path_of(OBJECTS, settings.weights_dir) else "without"
    return f"{OBJECTS.engine} {presence} weights, {describe_versions(PACKAGE)}, confidence {settings.object_confidence}"


def detect(name: str, jpeg: bytes, settings: DetectorSettings) -> list[Detection]:
    """The objects in the picture, most confident first. `name` is the file's name, for messages."""
    try:
        network = _load_network(settings.weights_dir)
    except EngineUnavailable as error:
        raise EngineUnavailable(f"{name}: {error}") from None
    detections = [
        _to_detection(row) for row in _run_network(network, _squeeze_to_square(name, jpeg)) if row[1] in NAMES
    ]
    return sorted(
        (detection for detection in detections if detection.confidence >= settings.object_confidence),
        key=lambda detection: -detection.confidence,
    )


@functools.cache
def _load_network(weights_dir: str) -> Any:
    """Load the network, once per process."""
    files = read_files(OBJECTS, weights_dir)
    try:
        import cv2
        import numpy
    except ImportError as error:
        raise EngineUnavailable(f"the object detector needs {PACKAGE} ({error}); pip install {PACKAGE}") from error
    cv2.setNumThreads(1)  # there is one child process per core
    graph, text = (numpy.frombuffer(files.pop(filename), numpy.uint8) for filename in (GRAPH, TEXT_GRAPH))
    return cv2.dnn.readNetFromTensorflow(graph, text)


def _squeeze_to_square(name: str, jpeg: bytes) -> Image.Image:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(jpeg), formats=("JPEG",)) as image:
            image.draft("RGB", (2 * SIDE, 2 * SIDE))  # decodes fewer pixels where twice the size is enough
            return image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise UnreadableFile(f"{name}: its preview is broken ({error}); reset image-preview") from error


def _run_network(network: Any, image: Image.Image) -> list[list[float]]:
    """Rows of image, class, confidence, left, top, right, bottom."""
    import cv2
    import numpy

    network.setInput(cv2.dnn.blobFromImage(numpy.asarray(image)))
    rows: list[list[float]] = network.forward().reshape(-1, 7).tolist()
    return rows


def _to_detection(row: list[float]) -> Detection:
    number = int(row[1])
    return Detection(NAMES[number], CATEGORIES[number], row[2], (row[3], row[4], row[5], row[6]))


_BY_CATEGORY = {
    "person": {1: "person"},
    "vehicle": {
        2: "bicycle",
        3: "car",
        4: "motorcycle",
        5: "airplane",
        6: "bus",
        7: "train",
        8: "truck",
        9: "boat",
    },
    "outdoor": {10: "traffic light", 11: "fire hydrant", 13: "stop sign", 14: "parking meter", 15: "bench"},
    "animal": {
        16: "bird",
        17: "cat",
        18: "dog",
        19: "horse",
        20: "sheep",
        21: "cow",
        22: "elephant",
        23: "bear",
        24: "zebra",
        25: "giraffe",
    },
    "accessory": {27: "backpack", 28: "umbrella", 31: "handbag", 32: "tie", 33: "suitcase"},
    "sports": {
        34: "frisbee",
        35: "skis",
        36: "snowboard",
        37: "sports ball",
        38: "kite",
        39: "baseball bat",
        40: "baseball glove",
        41: "skateboard",
        42: "surfboard",
        43: "tennis racket",
    },
    "kitchen": {44: "bottle", 46: "wine glass", 47: "cup", 48: "fork", 49: "knife", 50: "spoon", 51: "bowl"},
    "food": {
        52: "banana",
        53: "apple",
        54: "sandwich",
        55: "orange",
        56: "broccoli",
        57: "carrot",
        58: "hot dog",
        59: "pizza",
        60: "donut",
        61: "cake",
    },
    "furniture": {62: "chair", 63: "couch", 64: "potted plant", 65: "bed", 67: "dining table", 70: "toilet"},
    "electronic": {72: "tv", 73: "laptop", 74: "mouse", 75: "remote", 76: "keyboard", 77: "cell phone"},
    "appliance": {78: "microwave", 79: "oven", 80: "toaster", 81: "sink", 82: "refrigerator"},
    "indoor": {
        84: "book",
        85: "clock",
        86: "vase",
        87: "scissors",
        88: "teddy bear",
        89: "hair drier",
        90: "toothbrush",
    },
}
CATEGORIES: Mapping[int, str] = MappingProxyType(
    {number: category for category, names in _BY_CATEGORY.items() for number in names}
)
NAMES: Mapping[int, str] = MappingProxyType(
    {number: name for names in _BY_CATEGORY.values() for number, name in names.items()}
)

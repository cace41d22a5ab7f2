"""SSD-MobileNet v2 run by OpenCV: detects 80 kinds of everyday objects, in about a tenth of a second per picture."""

from __future__ import annotations

import functools
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chyme.core.package_versions import describe_versions
from chyme.errors import EngineUnavailable, UnreadableFile
from chyme.models.weights.catalog import OBJECTS
from chyme.models.weights.folder import path_of, read_files
from chyme.text.word_lists import WordList

if TYPE_CHECKING:
    from PIL import Image

SIDE = 300  # the size the network was trained on; the picture is squeezed to a square
GRAPH, TEXT_GRAPH = (member.filename for member in OBJECTS.members)
PACKAGE = "opencv-python-headless"
_COCO_OBJECTS = WordList(__package__, "coco_objects")


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
    classes = object_classes()
    detections = [
        Detection(*classes[int(number)], confidence, (left, top, right, bottom))
        for _, number, confidence, left, top, right, bottom in _run_network(network, _squeeze_to_square(name, jpeg))
        if number in classes and confidence >= settings.object_confidence
    ]
    return sorted(detections, key=lambda detection: -detection.confidence)


@functools.cache
def object_classes() -> dict[int, tuple[str, str]]:
    """Name and category of each class by its number."""
    lines = [(line, category) for category, lines in _COCO_OBJECTS.sections.items() for line in lines]
    return {int(number): (name, category) for line, category in lines for number, name in [line.split(maxsplit=1)]}


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

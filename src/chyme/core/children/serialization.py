"""How our values travel in frames, and how what comes back from a child is checked."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from chyme.core.children.frames import BadFrame, parse
from chyme.model import Artifact, Box, Embedded, File, Kind, Output, Passage, Place, Stamp, TagVector, Upstream, Voice

T = TypeVar("T")

MAX_NAME = 255
MAX_DIMENSIONS = 4096  # of a voice, a tag or a passage
NUMBER_BYTES = 4  # of one number in a passage's vector
LENGTH_SLACK = 0.01  # rounding may make a vector a hair longer or shorter than 1
BOX_SLACK = 0.001  # rounding may put a box a hair outside the page

_write = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class Bulk(Protocol):
    """The bytes that belong to a header, read once and in order: nothing can be asked for twice."""

    def take(self, size: int) -> bytes: ...


class InlineBulk:
    """Bulk that came inside the frame."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        start, self._at = self._at, self._at + size
        if self._at > len(self._data):
            raise BadFrame("the frame holds less than its header says")
        return self._data[start : self._at]


class FileBulk:
    """Bulk that came as an open file."""

    def __init__(self, fd: int, size: int) -> None:
        self._fd = fd
        self._size = size
        self._at = 0

    def take(self, size: int) -> bytes:
        if size > self._size - self._at:
            raise BadFrame("the file holds less than its header says")
        pieces = []
        while size:
            piece = os.pread(self._fd, size, self._at)
            if not piece:
                raise BadFrame("the file ended early")
            pieces.append(piece)
            size -= len(piece)
            self._at += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def encode_file(file: File) -> list[object]:
    stamp = file.stamp
    return [
        *(file.id, file.path, file.name, file.kind.value, file.mime),
        *(stamp.dev, stamp.inode, stamp.size, stamp.mtime_ns),
        *(file.hash, file.generation, file.escaped, file.vanished_at, file.created_at, file.updated_at),
    ]


def decode_file(row: list[Any]) -> File:
    number, path, name, kind, mime, dev, inode, size, mtime_ns, *rest = row
    return File(number, path, name, Kind(kind), mime, Stamp(dev, inode, size, mtime_ns), *rest)


def encode_input(upstream: Upstream, bulk: list[bytes]) -> list[object]:
    content = None if upstream.content is None else _put(_utf8(upstream.content), bulk)
    places = _put(_json(places=[_place_out(place) for place in upstream.places]), bulk) if upstream.places else 0
    return [upstream.name, content, places, [[name, _put(data, bulk)] for name, data in upstream.artifacts.items()]]


def decode_input(row: list[Any], bulk: Bulk) -> Upstream:
    name, content_size, places_size, artifacts = row
    content = None if content_size is None else bulk.take(content_size).decode()
    rows = _rows(parse(bulk.take(places_size)), "places") if places_size else []
    places = tuple(_place_in(row) for row in rows)
    return Upstream(name, content, places, MappingProxyType({name: bulk.take(size) for name, size in artifacts}))


def encode_output(output: Output, bulk: list[bytes]) -> list[object]:
    content = None if output.content is None else _put(_utf8(output.content), bulk)
    details = 0
    embedded = output.embedded
    if output.places or output.passages or output.words or output.voices or output.tag_vectors or embedded:
        told = _json(
            places=[_place_out(place) for place in output.places],
            passages=[[p.source, p.ordinal, p.text, p.segmented, _place_out(p.place)] for p in output.passages],
            words=list(output.words),
            voices=[[v.speaker, v.seconds, v.model, list(v.vector)] for v in output.voices],
            tag_vectors=[[t.tag, t.model, list(t.vector)] for t in output.tag_vectors],
            embedded=[[embedded.model, embedded.dimension, list(embedded.reused)]] if embedded else [],
        )
        details = _put(told, bulk)
        if embedded:
            _put(embedded.vectors, bulk)
    return [output.name, content, details, [[a.filename, _put(a.data, bulk)] for a in output.artifacts]]


def decode_outputs(rows: object, declared: tuple[str, ...], bulk: Bulk) -> list[Output]:
    """The outputs a child sent, or BadFrame: every value is checked, whatever the child became."""
    if not isinstance(rows, list):
        raise BadFrame("the outputs are not a list")
    outputs = [_output_in(row, bulk) for row in rows]
    names = [output.name for output in outputs]
    strange = sorted(set(names) - set(declared))
    if strange:
        raise BadFrame(f"it sent the output {strange[0][:60]!r}, which it does not declare")
    if len(set(names)) < len(names):
        raise BadFrame("it sent one output twice")
    return outputs


def _output_in(row: object, bulk: Bulk) -> Output:
    name, content_size, details_size, artifacts = _row(row, 4)
    content = None if content_size is None else _decoded(bulk.take(_whole(content_size)))
    details = parse(bulk.take(_whole(details_size))) if details_size else {}
    places = tuple(_place_in(place, within=len(content or "")) for place in _rows(details, "places"))
    passages = tuple(_passage_in(passage) for passage in _rows(details, "passages"))
    words = tuple(_text(word) for word in _rows(details, "words"))
    voices = tuple(_voice_in(voice) for voice in _rows(details, "voices"))
    tags = tuple(_tag_in(tag) for tag in _rows(details, "tag_vectors"))
    embedded = _embedded_in(_rows(details, "embedded"), len(passages), bulk)
    found = _artifacts_in(artifacts, bulk)
    return Output(_text(name), content, found, places, passages, words, voices, tags, embedded=embedded)


def _artifacts_in(rows: object, bulk: Bulk) -> tuple[Artifact, ...]:
    if not isinstance(rows, list):
        raise BadFrame("the artifacts are not a list")
    artifacts: dict[str, Artifact] = {}
    for row in rows:
        name, size = _row(row, 2)
        filename = _filename(_text(name))
        if filename in artifacts:
            raise BadFrame(f"it sent the artifact {filename!r} twice")
        artifacts[filename] = Artifact(filename, bulk.take(_whole(size)))
    return tuple(artifacts.values())


def _filename(name: str) -> str:
    if not name.isprintable() or "/" in name or name in ("", ".", "..") or len(name.encode()) > MAX_NAME:
        raise BadFrame(f"it sent an artifact under the name {name[:60]!r}")
    return name


def _place_out(place: Place) -> list[object]:
    return [
        *(place.start, place.end, place.page, place.heading),
        *(place.seconds, place.until, place.speaker, place.box),
    ]


def _place_in(row: object, within: int | None = None) -> Place:
    start, end, page, heading, seconds, until, speaker, box = _row(row, 8)
    if _whole(start) > _whole(end) or (within is not None and end > within):
        raise BadFrame("a place lies outside its text")
    if page is not None and _whole(page) < 1:
        raise BadFrame("pages count from 1")
    return Place(
        *(start, end, page, _maybe(_text, heading)),
        *(_maybe(_number, seconds), _maybe(_number, until), _maybe(_text, speaker), _maybe(_box, box)),
    )


def _passage_in(row: object) -> Passage:
    source, ordinal, text, segmented, place = _row(row, 5)
    return Passage(_text(source), _whole(ordinal), _text(text), _place_in(place), _maybe(_text, segmented))


def _voice_in(row: object) -> Voice:
    speaker, seconds, model, vector = _row(row, 4)
    return Voice(_text(speaker), _number(seconds), _text(model), _vector(vector))


def _tag_in(row: object) -> TagVector:
    tag, model, vector = _row(row, 3)
    return TagVector(_text(tag), _text(model), _vector(vector))


def _embedded_in(rows: list[object], passages: int, bulk: Bulk) -> Embedded | None:
    """The vectors of all passages but the reused, which follow the details: how long they must be is known before they
    are read."""
    if not rows:
        return None
    model, dimension, positions = _row(_row(rows, 1)[0], 3)
    if not 0 < _whole(dimension) <= MAX_DIMENSIONS or not _text(model) or len(model) > MAX_NAME:
        raise BadFrame("vectors of nobody, or ones that are too long")
    if not isinstance(positions, list):
        raise BadFrame("nobody says which vectors are reused")
    reused = tuple(_whole(at) for at in positions)
    if len(set(reused)) < len(reused) or any(at >= passages for at in reused):
        raise BadFrame("vectors are reused for passages that it did not send")
    vectors = bulk.take(NUMBER_BYTES * dimension * (passages - len(reused)))
    if vectors and not _all_of_length_one(vectors, dimension):
        raise BadFrame("a vector is not of length 1")
    return Embedded(model, dimension, vectors, reused)


def _all_of_length_one(vectors: bytes, dimension: int) -> bool:
    import numpy  # only where vectors arrive

    rows = numpy.frombuffer(vectors, "<f4").reshape(-1, dimension)
    squares = numpy.einsum("ij,ij->i", rows, rows)
    return bool((abs(squares - 1.0) <= 2 * LENGTH_SLACK).all())  # numbers that are none are in no range


def _vector(value: object) -> tuple[float, ...]:
    if not isinstance(value, list) or not 0 < len(value) <= MAX_DIMENSIONS:
        raise BadFrame("there is no vector, or one that is too long")
    return tuple(_number(each) for each in value)


def _box(value: object) -> Box:
    left, top, right, bottom = (_within_page(_number(edge)) for edge in _row(value, 4))
    if left > right or top > bottom:
        raise BadFrame("a box is turned inside out")
    return left, top, right, bottom


def _within_page(edge: float) -> float:
    if not -BOX_SLACK <= edge <= 1 + BOX_SLACK:
        raise BadFrame("a box lies outside the page")
    return min(1.0, max(0.0, edge))


def _maybe(check: Callable[[object], T], value: object) -> T | None:
    return None if value is None else check(value)


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise BadFrame("a number is missing or out of range")
    return value


def _number(value: object) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
        raise BadFrame("a number is missing or not finite")
    return float(value)  # type: ignore[arg-type]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise BadFrame("text is missing")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise BadFrame("text holds half a character") from error
    return value


def _row(value: object, length: int) -> list[Any]:
    if not isinstance(value, list) or len(value) != length:
        raise BadFrame(f"not a list of {length}")
    return value


def _rows(details: dict[str, object], name: str) -> list[object]:
    rows = details.get(name, [])
    if not isinstance(rows, list):
        raise BadFrame(f"the {name} are not a list")
    return rows


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadFrame("text is not UTF-8") from error


def _put(data: bytes, bulk: list[bytes]) -> int:
    bulk.append(data)
    return len(data)


def _json(**rows: list[Any]) -> bytes:
    return _utf8(_write(rows))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # half characters become "?", one for one, so that places still fit

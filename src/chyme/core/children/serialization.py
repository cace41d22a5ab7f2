"""Encodes values for frames, and checks and decodes what a child sends back."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, TypeVar

from chyme.core.children.frames import BadFrame, Bulk, parse
from chyme.core.vectors import pack_vector, unpack_vector
from chyme.model import (
    Artifact,
    Box,
    Embedded,
    File,
    Form,
    Kind,
    Output,
    Passage,
    Place,
    Stamp,
    TagVector,
    Upstream,
    Voice,
)

T = TypeVar("T")

MAX_NAME = 255
MAX_TITLE = 1000  # characters
MAX_DIMENSIONS = 4096  # of a voice, a tag or a passage
NUMBER_BYTES = 4  # of one number in the vector of a passage or tag
LENGTH_SLACK = 0.01  # tolerance for rounding in a vector's length
BOX_SLACK = 0.001  # tolerance for rounding at the edge of the page

_encode_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


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
    content = None if upstream.content is None else _append(_to_utf8(upstream.content), bulk)
    places = 0
    if upstream.places:
        places = _append(_to_json_bytes(places=[_encode_place(place) for place in upstream.places]), bulk)
    artifacts = [[name, _append(data, bulk)] for name, data in upstream.artifacts.items()]
    return [upstream.name, content, places, artifacts, upstream.form, upstream.corrects]


def decode_input(row: list[Any], bulk: Bulk) -> Upstream:
    name, content_size, places_size, artifacts, form, corrects = row
    content = None if content_size is None else bulk.take(content_size).decode()
    rows = _get_rows(parse(bulk.take(places_size)), "places") if places_size else []
    places = tuple(_decode_place(row) for row in rows)
    data = MappingProxyType({name: bulk.take(size) for name, size in artifacts})
    return Upstream(name, content, places, data, Form(form), corrects)


def encode_output(output: Output, bulk: list[bytes]) -> list[object]:
    content = None if output.content is None else _append(_to_utf8(output.content), bulk)
    details = 0
    embedded = output.embedded
    lists = (output.places, output.passages, output.words, output.voices, output.tag_vectors)
    if any(lists) or embedded or output.title or output.unfinished:
        details_json = _to_json_bytes(
            places=[_encode_place(place) for place in output.places],
            passages=[[p.source, p.ordinal, p.text, p.segmented, _encode_place(p.place)] for p in output.passages],
            words=list(output.words),
            voices=[[v.speaker, v.seconds, v.model, list(v.vector)] for v in output.voices],
            tag_vectors=[[t.tag, t.model, _encode_floats(t.vector)] for t in output.tag_vectors],
            embedded=[[embedded.model, embedded.dimension, list(embedded.reused)]] if embedded else [],
            title=[output.title] if output.title is not None else [],
            unfinished=[True] if output.unfinished else [],
        )
        details = _append(details_json, bulk)
        if embedded:
            _append(embedded.vectors, bulk)
    return [output.name, content, details, [[a.filename, _append(a.data, bulk)] for a in output.artifacts]]


def decode_outputs(rows: object, declared: tuple[str, ...], bulk: Bulk) -> list[Output]:
    """Decode the outputs a child sent. Raises BadFrame: every value is checked, because the child may be
    compromised."""
    if not isinstance(rows, list):
        raise BadFrame("the outputs are not a list")
    outputs = [_decode_output(row, bulk) for row in rows]
    names = [output.name for output in outputs]
    undeclared = sorted(set(names) - set(declared))
    if undeclared:
        raise BadFrame(f"it sent the output {undeclared[0][:60]!r}, which it does not declare")
    if len(set(names)) < len(names):
        raise BadFrame("it sent one output twice")
    return outputs


def _decode_output(row: object, bulk: Bulk) -> Output:
    name, content_size, details_size, artifacts = _check_row(row, 4)
    content = None if content_size is None else _decode_utf8(bulk.take(_check_integer(content_size)))
    details = parse(bulk.take(_check_integer(details_size))) if details_size else {}
    places = tuple(_decode_place(place, within=len(content or "")) for place in _get_rows(details, "places"))
    passages = tuple(_decode_passage(passage) for passage in _get_rows(details, "passages"))
    words = tuple(_check_text(word) for word in _get_rows(details, "words"))
    voices = tuple(_decode_voice(voice) for voice in _get_rows(details, "voices"))
    tags = tuple(_decode_tag(tag) for tag in _get_rows(details, "tag_vectors"))
    embedded = _decode_embedded(_get_rows(details, "embedded"), len(passages), bulk)
    found = _decode_artifacts(artifacts, bulk)
    title = _decode_title(_get_rows(details, "title"))
    unfinished = bool(_get_rows(details, "unfinished"))
    return Output(
        *(_check_text(name), content, found, places, passages, words, voices, tags),
        embedded=embedded,
        title=title,
        unfinished=unfinished,
    )


def _decode_title(rows: list[Any]) -> str | None:
    if len(rows) > 1:
        raise BadFrame("it sent several titles")
    title = _check_text(rows[0]) if rows else None
    if title is not None and len(title) > MAX_TITLE:
        raise BadFrame("it sent a title that is too long")
    return title


def _decode_artifacts(rows: object, bulk: Bulk) -> tuple[Artifact, ...]:
    if not isinstance(rows, list):
        raise BadFrame("the artifacts are not a list")
    artifacts: dict[str, Artifact] = {}
    for row in rows:
        name, size = _check_row(row, 2)
        filename = _check_filename(_check_text(name))
        if filename in artifacts:
            raise BadFrame(f"it sent the artifact {filename!r} twice")
        artifacts[filename] = Artifact(filename, bulk.take(_check_integer(size)))
    return tuple(artifacts.values())


def _check_filename(name: str) -> str:
    if not name.isprintable() or "/" in name or name in ("", ".", "..") or len(name.encode()) > MAX_NAME:
        raise BadFrame(f"it sent an artifact under the name {name[:60]!r}")
    return name


def _encode_place(place: Place) -> list[object]:
    return [
        *(place.start, place.end, place.page, place.heading),
        *(place.seconds, place.until, place.speaker, place.box),
    ]


def _decode_place(row: object, within: int | None = None) -> Place:
    start, end, page, heading, seconds, until, speaker, box = _check_row(row, 8)
    if _check_integer(start) > _check_integer(end) or (within is not None and end > within):
        raise BadFrame("a place lies outside its text")
    if page is not None and _check_integer(page) < 1:
        raise BadFrame("pages count from 1")
    return Place(
        *(start, end, page, _optional(_check_text, heading)),
        *(_optional(_check_number, seconds), _optional(_check_number, until)),
        *(_optional(_check_text, speaker), _optional(_check_box, box)),
    )


def _decode_passage(row: object) -> Passage:
    source, ordinal, text, segmented, place = _check_row(row, 5)
    return Passage(
        _check_text(source),
        _check_integer(ordinal),
        _check_text(text),
        _decode_place(place),
        _optional(_check_text, segmented),
    )


def _decode_voice(row: object) -> Voice:
    speaker, seconds, model, vector = _check_row(row, 4)
    return Voice(_check_text(speaker), _check_number(seconds), _check_text(model), _check_vector(vector))


def _decode_tag(row: object) -> TagVector:
    tag, model, vector = _check_row(row, 3)
    return TagVector(_check_text(tag), _check_text(model), _decode_floats(vector))


def _encode_floats(vector: tuple[float, ...]) -> str:
    """The float32 numbers that an embedder gives, in base64: as decimal digits they take more CPU than all else."""
    return base64.b64encode(pack_vector(vector)).decode()


def _decode_floats(value: object) -> tuple[float, ...]:
    try:
        data = base64.b64decode(_check_text(value), validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadFrame("a vector that is not in base64") from error
    if len(data) % NUMBER_BYTES or not 0 < len(data) <= NUMBER_BYTES * MAX_DIMENSIONS:
        raise BadFrame("there is no vector, or one that is too long")
    vector = unpack_vector(data)
    if not all(map(math.isfinite, vector)):
        raise BadFrame("a vector has a number that is not finite")
    return vector


def _decode_embedded(rows: list[object], passages: int, bulk: Bulk) -> Embedded | None:
    """Decode the vectors of all passages that are not reused. They follow the details, so their length is known before
    they are read."""
    if not rows:
        return None
    model, dimension, positions = _check_row(_check_row(rows, 1)[0], 3)
    if not 0 < _check_integer(dimension) <= MAX_DIMENSIONS or not _check_text(model) or len(model) > MAX_NAME:
        raise BadFrame("vectors without a model, or ones that are too long")
    if not isinstance(positions, list):
        raise BadFrame("it does not say which vectors are reused")
    reused = tuple(_check_integer(position) for position in positions)
    if len(set(reused)) < len(reused) or any(position >= passages for position in reused):
        raise BadFrame("vectors are reused for passages that it did not send")
    vectors = bulk.take(NUMBER_BYTES * dimension * (passages - len(reused)))
    if vectors and not _all_of_length_one(vectors, dimension):
        raise BadFrame("a vector is not of length 1")
    return Embedded(model, dimension, vectors, reused)


def _all_of_length_one(vectors: bytes, dimension: int) -> bool:
    import numpy  # only where vectors arrive

    rows = numpy.frombuffer(vectors, "<f4").reshape(-1, dimension)
    squares = numpy.einsum("ij,ij->i", rows, rows)
    return bool((abs(squares - 1.0) <= 2 * LENGTH_SLACK).all())  # NaN fails every comparison


def _check_vector(value: object) -> tuple[float, ...]:
    if not isinstance(value, list) or not 0 < len(value) <= MAX_DIMENSIONS:
        raise BadFrame("there is no vector, or one that is too long")
    return tuple(_check_number(number) for number in value)


def _check_box(value: object) -> Box:
    left, top, right, bottom = (_clip_to_page(_check_number(edge)) for edge in _check_row(value, 4))
    if left > right or top > bottom:
        raise BadFrame("a box is turned inside out")
    return left, top, right, bottom


def _clip_to_page(edge: float) -> float:
    if not -BOX_SLACK <= edge <= 1 + BOX_SLACK:
        raise BadFrame("a box lies outside the page")
    return min(1.0, max(0.0, edge))


def _optional(check: Callable[[object], T], value: object) -> T | None:
    return None if value is None else check(value)


def _check_integer(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise BadFrame("a number is missing or out of range")
    return value


def _check_number(value: object) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
        raise BadFrame("a number is missing or not finite")
    return float(value)  # type: ignore[arg-type]


def _check_text(value: object) -> str:
    if not isinstance(value, str):
        raise BadFrame("text is missing")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise BadFrame("text holds half a character") from error
    return value


def _check_row(value: object, length: int) -> list[Any]:
    if not isinstance(value, list) or len(value) != length:
        raise BadFrame(f"not a list of {length}")
    return value


def _get_rows(details: dict[str, object], name: str) -> list[object]:
    rows = details.get(name, [])
    if not isinstance(rows, list):
        raise BadFrame(f"the {name} are not a list")
    return rows


def _decode_utf8(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadFrame("text is not UTF-8") from error


def _append(data: bytes, bulk: list[bytes]) -> int:
    bulk.append(data)
    return len(data)


def _to_json_bytes(**rows: list[Any]) -> bytes:
    return _to_utf8(_encode_json(rows))


def _to_utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # half characters become "?", one for one, so that places still fit

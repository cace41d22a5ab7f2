"""Vectors of tags reach the server as the child sent them; numbers that are none are refused."""

from __future__ import annotations

import base64
import json
import struct

import pytest

from chyme.core.children.frames import BadFrame, InlineBulk
from chyme.core.children.serialization import MAX_DIMENSIONS, decode_outputs, encode_output
from chyme.model import Output, TagVector


def test_the_vector_of_a_tag_arrives_number_by_number() -> None:
    vector = struct.unpack("<3f", struct.pack("<3f", 0.1, -0.7, 1e-9))
    output = Output("tags", "{}", tag_vectors=(TagVector("rent", "m", vector), TagVector("lease", "m", (1.0,))))
    bulk: list[bytes] = []
    row = encode_output(output, bulk)

    assert decode_outputs([row], ("tags",), InlineBulk(b"".join(bulk))) == [output]


@pytest.mark.parametrize(
    "vector",
    [
        None,
        [0.1, 0.2],
        "",
        "no base64!",
        base64.b64encode(b"\0" * 5).decode(),
        base64.b64encode(struct.pack("<2f", 1.0, float("nan"))).decode(),
        base64.b64encode(b"\0" * 4 * (MAX_DIMENSIONS + 1)).decode(),
        "ä",
    ],
)
def test_a_vector_that_is_none_is_refused(vector: object) -> None:
    details = json.dumps({"tag_vectors": [["rent", "m", vector]]}).encode()

    with pytest.raises(BadFrame):
        decode_outputs([["tags", None, len(details), []]], ("tags",), InlineBulk(details))

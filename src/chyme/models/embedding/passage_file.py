"""What lies in a scratch folder between cutting passages and sending them to a service."""

from __future__ import annotations

import json
from pathlib import Path

from chyme.core.children.frames import BadFrame, parse
from chyme.core.children.serialization import InlineBulk, output_out, outputs_in
from chyme.model import Output
from chyme.speech.recognition.piece_index import put, trusting_nobody

MOST_BYTES = 64 << 20


def lay_down(path: Path, output: Output, title: str) -> None:
    """Write the output with its passages, and the title that is sent before each of them."""
    bulk: list[bytes] = []
    row = output_out(output, bulk)
    put(path, b"\n".join([json.dumps({"title": title, "output": row}).encode(), b"".join(bulk)]))


def pick_up(path: Path, name: str) -> tuple[Output, str]:
    """What was laid down, the output of this name; OSError or ValueError when it cannot be trusted."""
    with trusting_nobody(path, MOST_BYTES) as stream:
        head, _, bulk = stream.read().partition(b"\n")
    try:
        told = parse(head)
        (output,) = outputs_in([told.get("output")], (name,), InlineBulk(bulk))
    except BadFrame as error:
        raise ValueError(str(error)) from error
    title = told.get("title")
    if not isinstance(title, str):
        raise ValueError("the title is no text")
    return output, title

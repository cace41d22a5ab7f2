"""What lies in a scratch folder between cutting passages and sending them to a service."""

from __future__ import annotations

import json
from pathlib import Path

from chyme.core.children.frames import BadFrame, parse
from chyme.core.children.serialization import InlineBulk, decode_outputs, encode_output
from chyme.core.files.untrusted_files import open_untrusted, write_atomically
from chyme.model import Output

MOST_BYTES = 64 << 20


def write_passages(path: Path, output: Output, title: str) -> None:
    """Write the output with its passages, and the title that is sent before each of them."""
    bulk: list[bytes] = []
    row = encode_output(output, bulk)
    write_atomically(path, b"\n".join([json.dumps({"title": title, "output": row}).encode(), b"".join(bulk)]))


def read_passages(path: Path, name: str) -> tuple[Output, str]:
    """What was laid down, the output of this name; OSError or ValueError when it cannot be trusted."""
    with open_untrusted(path, MOST_BYTES) as stream:
        head, _, bulk = stream.read().partition(b"\n")
    try:
        told = parse(head)
        (output,) = decode_outputs([told.get("output")], (name,), InlineBulk(bulk))
    except BadFrame as error:
        raise ValueError(str(error)) from error
    title = told.get("title")
    if not isinstance(title, str):
        raise ValueError("the title is no text")
    return output, title

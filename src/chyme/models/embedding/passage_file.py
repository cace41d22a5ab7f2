"""The file in a scratch folder that holds passages after they are cut and until they are sent to a service."""

from __future__ import annotations

import json
from pathlib import Path

from chyme.core.children.frames import BadFrame, InlineBulk, parse
from chyme.core.children.serialization import decode_outputs, encode_output
from chyme.core.files.untrusted_files import open_untrusted, write_atomically
from chyme.model import Output

MAX_BYTES = 64 << 20


def write_passages(path: Path, output: Output, title: str) -> None:
    """Write the output with its passages, and the title that is sent before each of them."""
    bulk: list[bytes] = []
    row = encode_output(output, bulk)
    write_atomically(path, b"\n".join([json.dumps({"title": title, "output": row}).encode(), b"".join(bulk)]))


def read_passages(path: Path, name: str) -> tuple[Output, str]:
    """The stored output of this name and the title; OSError or ValueError if the file cannot be trusted."""
    with open_untrusted(path, MAX_BYTES) as stream:
        head, _, bulk = stream.read().partition(b"\n")
    try:
        header = parse(head)
        (output,) = decode_outputs([header.get("output")], (name,), InlineBulk(bulk))
    except BadFrame as error:
        raise ValueError(str(error)) from error
    title = header.get("title")
    if not isinstance(title, str):
        raise ValueError("the title is not text")
    return output, title

"""What chyme does to documents, without chyme: identify, convert, draw the first page, cut for search.

Usage: python -m bench.plain_loop FILE …; the last line lists the files that could be read.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from chyme.digester import StaysHome
from chyme.documents.doc_to_markdown import DocToMarkdown
from chyme.documents.doc_to_screenshot import DocToScreenshot
from chyme.documents.pages.limits import PageLimits
from chyme.files.kind_detection import HEAD_BYTES, identify
from chyme.model import File, Form, Kind, Stamp, Upstream
from chyme.search.search_keyword import SearchKeyword


@dataclass(frozen=True)
class PlainSource(StaysHome):
    """A file on disk with what was made of it so far."""

    path: Path
    file: File
    scratch: Path
    made: Upstream | None = None

    def open(self) -> BinaryIO:
        return self.path.open("rb")

    def output(self, name: str) -> Upstream | None:
        return self.made if self.made is not None and self.made.name == name else None

    def progress(self, fraction: float) -> None:
        pass


def identified(path: Path) -> File:
    status = path.stat()
    with path.open("rb") as stream:

        def read_at(offset: int, length: int) -> bytes:
            stream.seek(offset)
            return stream.read(length)

        kind, mime = identify(path.name, read_at(0, HEAD_BYTES), status.st_size, read_at)
    stamp = Stamp(str(status.st_dev), str(status.st_ino), status.st_size, status.st_mtime_ns)
    return File(0, path.name, path.name, kind, mime, stamp, "", 1)


def main() -> None:
    convert, draw, cut = DocToMarkdown(), DocToScreenshot(PageLimits(office="off")), SearchKeyword()
    fine: list[str] = []
    for path in map(Path, sys.argv[1:]):
        file = identified(path)
        if file.kind is not Kind.DOCUMENT:
            continue
        with tempfile.TemporaryDirectory() as scratch:  # each its own: scanned pages that were read are kept there
            try:
                text = convert.digest(PlainSource(path, file, Path(scratch)))[0]
                draw.digest(PlainSource(path, file, Path(scratch)))
                made = Upstream(text.name, text.content, text.places, form=Form.TEXT)
                cut.digest(PlainSource(path, file, Path(scratch), made))
            except Exception as error:
                print(f"{path}: {error}", file=sys.stderr)
                continue
        fine.append(str(path))
    print("\n" + json.dumps(fine))


if __name__ == "__main__":
    main()

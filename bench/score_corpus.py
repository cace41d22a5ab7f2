"""Convert the shared corpus, file by file in children of their own, and print how many words came out right.

Usage: score_corpus.py [FOLDER …] [--by-file]
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from chyme.digester import StaysHome
from chyme.documents.doc_to_markdown import DocToMarkdown
from chyme.errors import DigestError
from chyme.files.kind_detection import HEAD_BYTES, identify
from chyme.model import File, Kind, Stamp, Upstream

CORPUS = Path(__file__).resolve().parents[1] / "../shared/corpus"
FOLDERS = ("pdf", "docx", "xlsx", "pptx", "epub", "odt", "rtf", "html")
SECONDS = 120
MEMORY = 2 << 30


@dataclass(frozen=True)
class DiskSource(StaysHome):
    """A file on disk, read in this process."""

    path: Path
    file: File
    scratch: Path

    def open(self) -> BinaryIO:
        return self.path.open("rb")

    def output(self, name: str) -> Upstream | None:
        return None

    def progress(self, fraction: float) -> None:
        pass


def source_of(path: Path, scratch: Path) -> DiskSource:
    status = path.stat()
    with path.open("rb") as stream:

        def read_at(offset: int, length: int) -> bytes:
            stream.seek(offset)
            return stream.read(length)

        kind, mime = identify(path.name, read_at(0, HEAD_BYTES), status.st_size, read_at)
    stamp = Stamp(str(status.st_dev), str(status.st_ino), status.st_size, status.st_mtime_ns)
    return DiskSource(path, File(0, path.name, path.name, kind, mime, stamp, "", 1), scratch)


def in_child(work: Callable[[], str]) -> str:
    """The sentence that `work` returns, or how the child that ran it died."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.alarm(SECONDS)
        os.write(writer, work().encode("utf-8", "replace")[:4000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        told = stream.read().decode()
    _, status = os.waitpid(child, 0)
    return told or f"DIED {status}"


def convert_file(path: Path, target: Path) -> str:
    """Write the markdown beside the others and tell the outcome in one line."""
    began = time.perf_counter()
    source = source_of(path, target.parent)
    digester = DocToMarkdown()
    if not digester.can_digest(source.file):
        return f"not a document: {source.file.kind} {source.file.mime}" if source.file.kind is not Kind.TEXT else "text"
    try:
        output = digester.digest(source)[0]
    except DigestError as error:
        return f"{type(error).__name__}: {error}"
    except Exception as error:
        return f"UNEXPECTED {type(error).__name__}: {error}"
    target.write_text(output.content or "", encoding="utf-8")
    pages = max((place.page or 0 for place in output.places), default=0)
    size = len(output.content or "")
    notes = [line for line in (output.content or "").splitlines() if line.startswith("> note: ")]
    return f"ok {size} characters, {pages} pages, {1000 * (time.perf_counter() - began):.0f} ms {' '.join(notes)}"


def main() -> None:
    wanted = [name for name in sys.argv[1:] if not name.startswith("--")] or list(FOLDERS)
    if not CORPUS.is_dir():
        sys.exit(f"{CORPUS}: the corpus is not here")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        count = 0
        for name in wanted:
            (out / name).mkdir()
            for path in sorted((CORPUS / name).iterdir()):
                told = in_child(lambda path=path, name=name: convert_file(path, out / name / f"{path.name}.md"))  # type: ignore[misc]
                count += 1
                if "--by-file" in sys.argv or not told.startswith(("ok", "text")):
                    print(f"{name}/{path.name}: {told}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
        print(f"{count} files, {1000 * cpu / max(1, count):.0f} ms CPU a file, a process each")
        scored = {json.loads(line)["type"] for line in (CORPUS / "manifest.jsonl").read_text("utf-8").splitlines()}
        if scored & set(wanted):
            table = subprocess.run(
                [sys.executable, CORPUS / "score.py", out, *(["--by-file"] if "--by-file" in sys.argv else [])],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            print("\n".join(row for row in table.splitlines() if row.split()[0] in {"type", *wanted} or "/" in row))


if __name__ == "__main__":
    main()

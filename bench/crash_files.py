"""Files for the crash run: variants of real files, so that no two are the same and none is merely copied."""

from __future__ import annotations

import io
import os
import random
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[1]
CORPUS = PROJECT / "../shared/corpus"
CORPUS_FOLDERS = ("csv", "docx", "eml", "epub", "html", "image", "pdf", "pptx", "text", "xlsx")
LARGEST, LARGEST_QUICK = 400_000, 20_000
SLOW_KINDS = {".pdf", ".jpg", ".png", ".tiff", ".heic", ".dng", ".mp3", ".mp4", ".ogg", ".m4a", ".wav", ".flac"}
PAGES = 450  # as a PDF, about a second of work
UNSTEADY = "autodate"  # in the name of a document that shows the moment at which it is drawn: never twice the same
OLD = 3600.0  # files that were just written are left alone until they are still


class Stock:
    """Lays down fresh files in a vault, as many as asked for."""

    def __init__(self, vault: Path, chance: random.Random, quick: bool = False) -> None:
        """`quick`: none of the files that take seconds, except the slow PDF."""
        self._vault = vault
        self._chance = chance
        self._sources = [path for path in _sources(chance) if not quick or _is_quick(path)]
        self._thick = _thick_pdf()
        self.laid = 0

    def lay_down(self, count: int) -> None:
        """Half notes, half documents, and every twentieth a slow PDF."""
        for _ in range(count):
            number = self.laid
            self.laid += 1
            folder = self._vault / f"batch {number // 50:03d}"
            folder.mkdir(exist_ok=True)
            if number % 20 == 0:
                self._put(folder / f"{number:05d} thick.pdf", self._thick + b"\n%% %d\n" % number)
            elif number % 2:
                self._put(folder / f"{number:05d} note.md", _note(number, self._chance))
            else:
                source = self._chance.choice(self._sources)
                self._put(folder / f"{number:05d} {source.name}", _varied(source.read_bytes(), number))

    def _put(self, path: Path, data: bytes) -> None:
        path.write_bytes(data)
        moment = time.time() - OLD
        os.utime(path, (moment, moment))


def _is_quick(path: Path) -> bool:
    return path.suffix.lower() not in SLOW_KINDS and path.stat().st_size <= LARGEST_QUICK


def _sources(chance: random.Random) -> Iterator[Path]:
    for folder in (PROJECT / "tests/samples", PROJECT / "demo"):
        yield from (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix not in (".py", ".pyc"))
    for name in CORPUS_FOLDERS:
        folder = CORPUS / name
        if folder.is_dir():
            steady = [path for path in sorted(folder.iterdir()) if path.is_file() and UNSTEADY not in path.name]
            small = [path for path in steady if path.stat().st_size < LARGEST]
            yield from chance.sample(small, min(6, len(small)))


def _varied(data: bytes, number: int) -> bytes:
    """The same file with another hash."""
    if data.startswith(b"PK\x03\x04"):
        buffer = io.BytesIO(data)
        try:
            with zipfile.ZipFile(buffer, "a") as archive:
                archive.comment = b"variant %d" % number
        except (zipfile.BadZipFile, ValueError):
            return data
        return buffer.getvalue()
    if data.startswith(b"%PDF"):
        return data + b"\n%% variant %d\n" % number
    return data + b"\nvariant %d\n" % number


def _note(number: int, chance: random.Random) -> bytes:
    words = ["harbour", "ledger", "rhubarb", "shutter", "bindery", "lantern", "periwinkle", "東京", "Straße"]
    # Words that stand alone: phrases of them would be like other phrases in meaning, and the first to come decides.
    lines = [". ".join(chance.choices(words, k=12)) for _ in range(chance.randrange(3, 40))]
    return f"# Note {number}\n\n{chr(10).join(lines)}\n".encode()


def _thick_pdf() -> bytes:
    import pypdfium2  # type: ignore[import-untyped]

    one = pypdfium2.PdfDocument(PROJECT / "tests/samples/contract.pdf")
    thick = pypdfium2.PdfDocument.new()
    while len(thick) < PAGES:
        thick.import_pages(one)
    buffer = io.BytesIO()
    thick.save(buffer)
    thick.close()
    one.close()
    return buffer.getvalue()

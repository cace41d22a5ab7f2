"""Pages of PDFs as pictures, drawn when somebody looks at them, in a child that does nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from chyme.core.bounding_boxes import repair_box
from chyme.core.children.runner import NOBODY, Family, Runner
from chyme.core.children.task import Task
from chyme.core.files.vault_folder import Vault, stamp_of
from chyme.core.store import digests, documents, files, text_places
from chyme.core.store.sqlite.database import Database
from chyme.documents.pages.cache import PageCache
from chyme.documents.pages.pdf_child import ENTRY, NAME, PICTURE, REQUEST
from chyme.documents.pages.search_highlights import spans_of
from chyme.documents.pages.word_boxes import CHARACTERS
from chyme.documents.pages.word_boxes import MOST as MOST_BOXES
from chyme.errors import ChildCrashed, ChymeError, DigestError, UsageError
from chyme.files.extensions import PDF
from chyme.model import Box, File, Limits, Output, Upstream

WIDTHS = (400, 800, 1200, 1600)
LAST_PAGE = 1_000_000
FOLDER = "pages"
FAMILY = "drawing"
TEXT = "doc-to-markdown"  # whose lines have boxes where a page was read from its picture
SECONDS = 30.0
IDLE = 60.0
WAITING = 8  # people who may wait for a page at the same time, in all vaults of a server together
_places = threading.BoundedSemaphore(WAITING)
RETRY_DELAY = 60.0  # seconds for which nobody tries again what could not be drawn
CACHE_BYTES = 512 << 20
JPEG = b"\xff\xd8\xff"


class NoSuchPage(UsageError):
    """There is no picture of this page, and the message says why."""


class TooBusy(ChymeError):
    """Enough people wait for pages already."""


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page as a JPEG; `fixed` when the same content will always give the same picture."""

    data: bytes
    fixed: bool


_Key = tuple[str, int, int]  # hash, page, width


class PdfPageRenderer:
    """Any number of threads may ask; those who ask for the same page at the same time get one drawing."""

    def __init__(
        self,
        database: Database,
        vault: Vault,
        state: Path,
        *,
        image_pixels: int,
        memory_bytes: int = 1 << 30,
        run_as: tuple[int, int] = NOBODY,
        seconds: float = SECONDS,
        cache_bytes: int = CACHE_BYTES,
        entry: str = ENTRY,
        import_from: Sequence[Path] = (),
    ) -> None:
        self._database = database
        self._vault = vault
        self._image_pixels = image_pixels
        self._memory_bytes = memory_bytes
        self._run_as = run_as
        self._seconds = seconds
        self._entry = entry
        self._import_from = import_from
        self._cache = PageCache(state / FOLDER, cache_bytes)
        self._guard = threading.Lock()
        self._under_way: dict[_Key, Future[bytes]] = {}
        self._failed: dict[tuple[str, int], tuple[float, str]] = {}  # until when nobody tries, and why
        self._runner: Runner | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._closed = False
        self.waiting = 0  # who wait for a page of this vault
        self.drawings = 0  # how often the child was asked

    def render_page(self, path: str, page: int, width: int) -> RenderedPage:
        """One page, counted from 1; NoSuchPage when there is none, TooBusy when it is not the time to ask."""
        if width not in WIDTHS:
            raise UsageError(f"{width} is no width; choose one of: {', '.join(map(str, WIDTHS))}")
        file = self._pdf(path, page)
        with self._opened(file) as opened:
            fixed = stamp_of(os.fstat(opened)) == file.stamp
            if not fixed:  # it has changed since it was looked at; its hash is that of another content
                return RenderedPage(self._in_turn((f"changed {path}", page, width), file, opened), False)
            key = (file.hash, page, width)
            return RenderedPage(self._cache.get(*key) or self._in_turn(key, file, opened), True)

    def word_boxes(self, path: str, page: int, question: str) -> list[Box]:
        """Where the words of a question stand on a page, line by line; empty when that cannot be told.

        By the text layer of the PDF, else by the lines that were read from the picture of the page.
        """
        file = self._pdf(path, page)
        key = (f"words {file.hash}", page, 0)
        with self._guard:
            if time.monotonic() < self._failed.get(key[:2], (0.0, ""))[0]:
                return []
        with self._opened(file) as opened:
            if not _places.acquire(blocking=False):
                raise TooBusy("many pages are being drawn already; ask again in a moment")
            try:
                text = _read_words(self._run(file, opened, {"page": page, "spans": []})).text
                spans = spans_of(text, question)
                found = _read_words(self._run(file, opened, {"page": page, "spans": spans})).boxes if spans else []
            except DigestError as error:
                self._give_up(key, str(error))
                return []
            finally:
                _places.release()
        return found or self._recognised(file, page, question)

    @contextlib.contextmanager
    def _opened(self, file: File) -> Iterator[int]:
        try:
            opened = self._vault.open(file)
        except (OSError, ValueError) as error:
            raise NoSuchPage(f"{file.path}: is not there any more") from error
        try:
            yield opened
        finally:
            os.close(opened)

    def _recognised(self, file: File, page: int, question: str) -> list[Box]:
        """Lines of a scanned page that have the words."""
        db = self._database.read()
        lines = [one for one in text_places.of_digest(db, file.id, TEXT) if one.page == page and one.box is not None]
        text = digests.content(db, file.id, TEXT) if lines else None
        return [line.box for line in lines if line.box and text and spans_of(text[line.start : line.end], question)]

    def delete_purged_pages(self) -> None:
        """Pages of files that were purged leave nothing behind."""

        def known(hashes: Collection[str]) -> set[str]:
            db = self._database.read()
            return {one for one in hashes if files.same_content(db, one, limit=1)}

        self._cache.delete_unknown(known)

    def close(self) -> None:
        """End the child. Whoever waits is told so."""
        with self._guard:
            self._closed = True
            runner, scratch = self._runner, self._scratch
        if runner is not None:
            runner.close()
        if scratch is not None:
            scratch.cleanup()

    def _pdf(self, path: str, page: int) -> File:
        db = self._database.read()
        file = files.by_path(db, path)
        if file is None or file.vanished_at is not None:
            raise NoSuchPage(f"{path}: is not a file of this vault")
        if file.mime != PDF:
            raise NoSuchPage(f"{path}: is no PDF; its preview is among its artifacts")
        row = documents.of_file(db, file.id)
        if page < 1 or page > LAST_PAGE or (row is not None and row.pages is not None and page > row.pages):
            raise _beyond(path, page, row.pages if row else None)
        return file

    def _in_turn(self, key: _Key, file: File, opened: int) -> bytes:
        with self._guard:
            until, why_not = self._failed.get(key[:2], (0.0, ""))
            if time.monotonic() < until:
                raise NoSuchPage(why_not)
            if self._closed:
                raise TooBusy("the vault is being closed")
            if not _places.acquire(blocking=False):
                raise TooBusy("many pages are being drawn already; ask again in a moment")
            self.waiting += 1
            answer = self._under_way.get(key)
            mine = answer is None
            if answer is None:
                answer = self._under_way[key] = Future()
        try:
            if mine:
                self._draw(key, file, opened, answer)
            return answer.result()
        finally:
            with self._guard:
                self.waiting -= 1
            _places.release()

    def _draw(self, key: _Key, file: File, opened: int, answer: Future[bytes]) -> None:
        """Whatever becomes of it, those who wait are told."""
        try:
            data = self._asked(key, file, opened)
            if not key[0].startswith("changed "):
                self._cache.put(*key, data)
            outcome: bytes | BaseException = data
        except DigestError as error:
            outcome = NoSuchPage(f"{file.path}: page {key[1]} cannot be drawn: {_without(file, str(error))}")
            self._give_up(key, str(outcome))
        except BaseException as error:
            outcome = error
        with self._guard:
            self._under_way.pop(key, None)
        if isinstance(outcome, BaseException):
            answer.set_exception(outcome)
        else:
            answer.set_result(outcome)

    def _give_up(self, key: _Key, why_not: str) -> None:
        now = time.monotonic()
        with self._guard:
            self._failed = {one: told for one, told in self._failed.items() if told[0] > now}
            self._failed[key[:2]] = now + RETRY_DELAY, why_not

    def _asked(self, key: _Key, file: File, opened: int) -> bytes:
        _, page, width = key
        self.drawings += 1
        return _read(file.path, page, self._run(file, opened, {"page": page, "width": width}))

    def _run(self, file: File, opened: int, wanted: Mapping[str, object]) -> Sequence[Output]:
        runner, scratch = self._started()
        task = Task(NAME, file, opened, (Upstream(REQUEST, json.dumps(wanted)),), Path(scratch))
        return runner.run(task, FAMILY, Limits(self._seconds, self._seconds, self._memory_bytes))

    def _started(self) -> tuple[Runner, str]:
        with self._guard:
            if self._closed:
                raise TooBusy("the vault is being closed")
            if self._runner is None or self._scratch is None:
                self._scratch = tempfile.TemporaryDirectory(prefix="chyme-drawing-")
                self._runner = Runner(
                    self._entry,
                    {"image_pixels": self._image_pixels},
                    {FAMILY: Family(1, self._memory_bytes, IDLE, memory_setting="page_memory_mb")},
                    import_from=self._import_from,
                    run_as=self._run_as,
                )
            return self._runner, self._scratch.name


def _read(path: str, page: int, outputs: Sequence[Output]) -> bytes:
    """What the child drew. It may have become anything, so it is looked at."""
    found = [one.data for output in outputs for one in output.artifacts if one.filename == PICTURE]
    if not found:
        told = outputs[0].content if outputs else None
        raise _beyond(path, page, json.loads(told)["pages"] if told else None)
    if not found[0].startswith(JPEG):
        raise ChildCrashed("the child gave something that is no picture")
    return found[0]


@dataclass(frozen=True, slots=True)
class _Words:
    text: str
    boxes: list[Box]


def _read_words(outputs: Sequence[Output]) -> _Words:
    """What the child told. It may have become anything, so it is looked at."""
    try:
        told = json.loads((outputs[0].content if outputs else None) or "{}")
        found = [repair_box([float(edge) for edge in box]) for box in told.get("boxes", ())[:MOST_BOXES]]
        text = str(told.get("text", ""))[:CHARACTERS]
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ChildCrashed("the child gave something that are no words of a page") from error
    return _Words(text, [box for box in found if box is not None])


def _beyond(path: str, page: int, pages: int | None) -> NoSuchPage:
    return NoSuchPage(f"{path}: has no page {page}" + (f"; it has {pages}" if pages is not None else ""))


def _without(file: File, reason: str) -> str:
    """The reason without the file's name, which is told already."""
    return reason.removeprefix(f"{file.path}: ").removeprefix(f"{file.name}: ")

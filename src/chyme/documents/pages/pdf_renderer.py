"""Render pages of PDFs as pictures on demand, in a child that does nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from chyme.core.bounding_boxes import repair_box
from chyme.core.children.places import Family
from chyme.core.children.runner import NOBODY, Runner
from chyme.core.children.task import Task
from chyme.core.files.temporary_folder import LockedFolder
from chyme.core.files.vault_folder import Vault, stamp_of
from chyme.core.store import digests, documents, files, text_places
from chyme.core.store.sqlite.database import Database
from chyme.documents.pages.cache import PageCache
from chyme.documents.pages.pdf_child import ENTRY, NAME, PICTURE, REQUEST
from chyme.documents.pages.word_boxes import CHARACTERS, MAX_BOXES
from chyme.errors import ChildCrashed, ChymeError, DigestError, UsageError
from chyme.files.extensions import PDF
from chyme.model import Box, File, Limits, Output, Upstream

WIDTHS = (400, 800, 1200, 1600)
LAST_PAGE = 1_000_000
FOLDER = "pages"
FAMILY = "drawing"
TEXT = "doc-to-markdown"  # its lines have boxes where a page was read from its picture
SECONDS = 30.0
IDLE = 60.0
WAITING = 8  # requests that may wait for a page at the same time, in all vaults of a server together
_waiting_slots = threading.BoundedSemaphore(WAITING)
RETRY_DELAY = 60.0  # seconds before a failed page is tried again
CACHE_BYTES = 512 << 20
JPEG = b"\xff\xd8\xff"


class NoSuchPage(UsageError):
    """There is no picture of this page; the message says why."""


class TooBusy(ChymeError):
    """Too many requests already wait for pages."""


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page as a JPEG; `fixed` if the same content always gives the same picture."""

    data: bytes
    fixed: bool


_Key = tuple[str, int, int]  # hash, page, width


class PdfPageRenderer:
    """Any number of threads may ask; simultaneous requests for the same page share one rendering."""

    def __init__(
        self,
        database: Database,
        vault: Vault,
        state: Path,
        find_spans: Callable[[str, str], list[tuple[int, int]]],
        *,
        image_pixels: int,
        memory_bytes: int = 1 << 30,
        run_as: tuple[int, int] = NOBODY,
        seconds: float = SECONDS,
        cache_bytes: int = CACHE_BYTES,
        entry: str = ENTRY,
        import_from: Sequence[Path] = (),
    ) -> None:
        self._find_spans = find_spans  # which characters of a text are words of a question
        self._database = database
        self._vault = vault
        self._image_pixels = image_pixels
        self._memory_bytes = memory_bytes
        self._run_as = run_as
        self._seconds = seconds
        self._entry = entry
        self._import_from = import_from
        self._cache = PageCache(state / FOLDER, cache_bytes)
        self._lock = threading.Lock()
        self._running: dict[_Key, Future[bytes]] = {}
        self._failed: dict[tuple[str, int], tuple[float, str]] = {}  # until when it is not tried again, and why
        self._runner: Runner | None = None
        self._scratch: LockedFolder | None = None
        self._closed = False
        self.waiting = 0  # requests that wait for a page of this vault
        self.drawings = 0  # how often the child was asked

    def render_page(self, path: str, page: int, width: int) -> RenderedPage:
        """One page, counted from 1; NoSuchPage if there is none, TooBusy if too many requests wait."""
        if width not in WIDTHS:
            raise UsageError(f"{width} is not a supported width; choose one of: {', '.join(map(str, WIDTHS))}")
        file = self._find_pdf(path, page)
        with self._open_file(file) as opened:
            fixed = stamp_of(os.fstat(opened)) == file.stamp
            if not fixed:  # the file has changed since it was scanned, so its hash belongs to other content
                return RenderedPage(self._draw_once((f"changed {path}", page, width), file, opened), False)
            key = (file.hash, page, width)
            return RenderedPage(self._cache.get(*key) or self._draw_once(key, file, opened), True)

    def word_boxes(self, path: str, page: int, question: str) -> list[Box]:
        """The boxes of a question's words on a page, line by line; empty if they are unknown.

        From the text layer of the PDF, else from the lines that were read from the picture of the page.
        """
        file = self._find_pdf(path, page)
        key = (f"words {file.hash}", page, 0)
        with self._lock:
            if time.monotonic() < self._failed.get(key[:2], (0.0, ""))[0]:
                return []
        with self._open_file(file) as opened:
            if not _waiting_slots.acquire(blocking=False):
                raise TooBusy("many pages are being drawn already; ask again in a moment")
            try:
                text = _words_from(self._run(file, opened, {"page": page, "spans": []}))[0]
                spans = self._find_spans(text, question)
                boxes = _words_from(self._run(file, opened, {"page": page, "spans": spans}))[1] if spans else []
            except DigestError as error:
                self._record_failure(key, str(error))
                return []
            finally:
                _waiting_slots.release()
        return boxes or self._recognised_boxes(file, page, question)

    @contextlib.contextmanager
    def _open_file(self, file: File) -> Iterator[int]:
        try:
            opened = self._vault.open(file)
        except (OSError, ValueError) as error:
            raise NoSuchPage(f"{file.path}: is not there any more") from error
        try:
            yield opened
        finally:
            os.close(opened)

    def _recognised_boxes(self, file: File, page: int, question: str) -> list[Box]:
        """The lines of a scanned page that contain the words."""
        db = self._database.read()
        lines = [
            place for place in text_places.of_digest(db, file.id, TEXT) if place.page == page and place.box is not None
        ]
        text = digests.content(db, file.id, TEXT) if lines else None
        return [
            line.box for line in lines if line.box and text and self._find_spans(text[line.start : line.end], question)
        ]

    def delete_purged_pages(self) -> None:
        """Delete the cached pages of purged files."""

        def known(hashes: Collection[str]) -> set[str]:
            db = self._database.read()
            return {hash_ for hash_ in hashes if files.same_content(db, hash_, limit=1)}

        self._cache.delete_unknown(known)

    def close(self) -> None:
        """End the child. Waiting requests get an error."""
        with self._lock:
            self._closed = True
            runner, scratch = self._runner, self._scratch
        if runner is not None:
            runner.close()
        if scratch is not None:
            scratch.remove()

    def _find_pdf(self, path: str, page: int) -> File:
        db = self._database.read()
        file = files.by_path(db, path)
        if file is None or file.vanished_at is not None:
            raise NoSuchPage(f"{path}: is not a file of this vault")
        if file.mime != PDF:
            raise NoSuchPage(f"{path}: is not a PDF; its preview is among its artifacts")
        row = documents.of_file(db, file.id)
        if page < 1 or page > LAST_PAGE or (row is not None and row.pages is not None and page > row.pages):
            raise _no_such_page(path, page, row.pages if row else None)
        return file

    def _draw_once(self, key: _Key, file: File, opened: int) -> bytes:
        with self._lock:
            until, reason = self._failed.get(key[:2], (0.0, ""))
            if time.monotonic() < until:
                raise NoSuchPage(reason)
            if self._closed:
                raise TooBusy("the vault is being closed")
            if not _waiting_slots.acquire(blocking=False):
                raise TooBusy("many pages are being drawn already; ask again in a moment")
            self.waiting += 1
            answer = self._running.get(key)
            is_first = answer is None
            if answer is None:
                answer = self._running[key] = Future()
        try:
            if is_first:
                self._draw(key, file, opened, answer)
            return answer.result()
        finally:
            with self._lock:
                self.waiting -= 1
            _waiting_slots.release()

    def _draw(self, key: _Key, file: File, opened: int, answer: Future[bytes]) -> None:
        """Whatever happens, the waiting requests get a result or an error."""
        try:
            data = self._request_page(key, file, opened)
            if not key[0].startswith("changed "):
                self._cache.put(*key, data)
            outcome: bytes | BaseException = data
        except DigestError as error:
            outcome = NoSuchPage(f"{file.path}: page {key[1]} cannot be drawn: {_strip_name(file, str(error))}")
            self._record_failure(key, str(outcome))
        except BaseException as error:
            outcome = error
        with self._lock:
            self._running.pop(key, None)
        if isinstance(outcome, BaseException):
            answer.set_exception(outcome)
        else:
            answer.set_result(outcome)

    def _record_failure(self, key: _Key, reason: str) -> None:
        now = time.monotonic()
        with self._lock:
            self._failed = {page_key: failure for page_key, failure in self._failed.items() if failure[0] > now}
            self._failed[key[:2]] = now + RETRY_DELAY, reason

    def _request_page(self, key: _Key, file: File, opened: int) -> bytes:
        _, page, width = key
        self.drawings += 1
        return _picture_from(file.path, page, self._run(file, opened, {"page": page, "width": width}))

    def _run(self, file: File, opened: int, request: Mapping[str, object]) -> Sequence[Output]:
        runner, scratch = self._ensure_runner()
        task = Task(NAME, file, opened, (Upstream(REQUEST, json.dumps(request)),), scratch)
        return runner.run(task, FAMILY, Limits(self._seconds, self._seconds, self._memory_bytes))

    def _ensure_runner(self) -> tuple[Runner, Path]:
        with self._lock:
            if self._closed:
                raise TooBusy("the vault is being closed")
            if self._runner is None or self._scratch is None:
                self._scratch = LockedFolder("chyme-drawing-", self._run_as)
                self._runner = Runner(
                    self._entry,
                    {"image_pixels": self._image_pixels},
                    {FAMILY: Family(1, self._memory_bytes, IDLE, memory_setting="page_memory_mb")},
                    import_from=self._import_from,
                    run_as=self._run_as,
                )
            return self._runner, self._scratch.path


def _picture_from(path: str, page: int, outputs: Sequence[Output]) -> bytes:
    """The picture from the child. The child may be compromised, so its output is checked."""
    pictures = [artifact.data for output in outputs for artifact in output.artifacts if artifact.filename == PICTURE]
    if not pictures:
        content = outputs[0].content if outputs else None
        raise _no_such_page(path, page, json.loads(content)["pages"] if content else None)
    if not pictures[0].startswith(JPEG):
        raise ChildCrashed("the child returned something that is not a picture")
    return pictures[0]


def _words_from(outputs: Sequence[Output]) -> tuple[str, list[Box]]:
    """The text and the boxes from the child. The child may be compromised, so its output is checked."""
    try:
        fields = json.loads((outputs[0].content if outputs else None) or "{}")
        boxes = [repair_box([float(edge) for edge in box]) for box in fields.get("boxes", ())[:MAX_BOXES]]
        text = str(fields.get("text", ""))[:CHARACTERS]
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ChildCrashed("the child returned something that is not the words of a page") from error
    return text, [box for box in boxes if box is not None]


def _no_such_page(path: str, page: int, pages: int | None) -> NoSuchPage:
    return NoSuchPage(f"{path}: has no page {page}" + (f"; it has {pages}" if pages is not None else ""))


def _strip_name(file: File, reason: str) -> str:
    """The reason without the file's name, which the message already contains."""
    return reason.removeprefix(f"{file.path}: ").removeprefix(f"{file.name}: ")

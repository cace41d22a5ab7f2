"""What workers ask of a coordinator, and its answers. All of it runs in the loop of the fabric."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable
from typing import IO, BinaryIO, cast

from chyme.core.children.frames import BadFrame
from chyme.errors import ChymeError, WorkerLost
from chyme.workers.fabric import Fabric, FabricAway
from chyme.workers.remote_config import RemoteConfig
from chyme.workers.remote_run import RemoteRun, RunAnswer, Unwanted, read_inline_answer
from chyme.workers.wire import PIECE, WIRE, Message, give_subject, is_token
from chyme.workers.work_line import PutDown, WorkLine

log = logging.getLogger(__name__)

PULL_SECONDS = 20.0  # for one piece of an answer


class WorkerRequests:
    """Answers workers: who they are, what they may do, bytes for it, and what becomes of what they made."""

    def __init__(self, line: WorkLine, fabric: Fabric, config: RemoteConfig, on_change: Callable[[], None]) -> None:
        self._line = line
        self._fabric = fabric
        self._config = config
        self._on_change = on_change

    async def answer(self, subject: str, message: Message) -> tuple[dict[str, object], bytes] | None:
        name = subject.rpartition(".")[2]
        if not is_token(name):
            return None
        instance = message.token("instance")
        try:
            return await self._answer_known(name, instance, message)
        except BadFrame as error:
            with self._line.lock:
                worker = self._line.workers.find(name, instance)
                if worker is not None and worker.babble(str(error)):
                    log.warning("the worker %s is set aside: %s", worker.name, worker.set_aside)
            raise

    async def _answer_known(self, name: str, instance: str, message: Message) -> tuple[dict[str, object], bytes] | None:
        match message.kind:
            case "hello":
                return self._welcome(name, instance, message), b""
            case "claim":
                return self._give_work(name, instance, message)
            case "beat":
                return self._hear_beat(name, instance, message), b""
            case "bytes":
                return await self._send_piece(name, instance, message)
            case "done":
                return self._take_answer_and_give(name, instance, message)
            case "leave":
                return self._let_go(name, instance, message), b""
        raise BadFrame("a request of an unknown kind")

    def _welcome(self, name: str, instance: str, message: Message) -> dict[str, object]:
        if message.integer("wire") != WIRE:
            return {"kind": "foreign", "wire": WIRE}
        fits: frozenset[str] = frozenset()
        if message.text("config", 64) == self._config.config_id:
            offered = message.texts("abilities")
            known = self._config.digesters
            fits = frozenset(
                digester for digester in offered if digester in known and known[digester].ability == offered[digester]
            )
        with self._line.lock:
            worker = self._line.workers.add(name, instance)
            if worker is None or self._line.closed:
                return {"kind": "foreign", "wire": WIRE}
            more = worker.fits != fits
            worker.introduce(message, fits)
            worker.update(message)
        if more:
            self._on_change()
        welcome: dict[str, object] = {"kind": "welcome", "config_id": self._config.config_id}
        if message.text("config", 64) != self._config.config_id:
            welcome["config"] = dict(self._config.config)
            welcome["abilities"] = {digester: known.ability for digester, known in self._config.digesters.items()}
        return welcome

    def _give_work(self, name: str, instance: str, message: Message) -> tuple[dict[str, object], bytes]:
        with self._line.lock:
            worker = self._line.workers.find(name, instance)
            if worker is None:
                return {"kind": "unknown"}, b""
            worker.update(message)
            run = self._line.give(worker)
        if run is None:
            return {"kind": "nothing"}, b""
        try:
            answer = run.describe()
        except (OSError, BadFrame, ChymeError, Unwanted) as error:
            run.fail(error if isinstance(error, ChymeError) else ChymeError(str(error)))
            answer = {"kind": "nothing"}, b""
        run.waiting.put(run)
        return answer

    def _hear_beat(self, name: str, instance: str, message: Message) -> dict[str, object]:
        """Answer a sign of life: which of its runs the worker must stop."""
        stop: list[str] = []
        heard: list[tuple[RemoteRun, float, bool, int]] = []
        with self._line.lock:
            worker = self._line.workers.find(name, instance)
            if worker is not None:
                worker.update(message)
            for row in message.rows("runs", 1000):
                if not isinstance(row, list) or len(row) != 5:
                    raise BadFrame("a sign of life without its runs")
                run_id, key, fraction, running, kept = row
                run = self._line.find_run(name, instance, run_id, key)
                if run is None:
                    stop.append(str(run_id)[:64])
                elif type(fraction) not in (int, float) or type(kept) is not int:
                    raise BadFrame("a sign of life that makes no sense")
                else:
                    heard.append((run, float(fraction), running is True, kept))
        for run, fraction, running, kept in heard:
            if not run.is_wanted():
                stop.append(run.run_id)
                run.fail(PutDown("its result is not wanted any more"))  # nor is it the worker's fault
                continue
            run.silent = 0.0
            if running and run.running_for is None:
                run.running_for = 0.0
                run.waiting.travel.begin(run.worker.name, run.worker.slowness)
            if run.waiting.on_progress is not None and 0 <= fraction <= 1:
                run.waiting.on_progress(fraction)
            if kept and run.waiting.keeps_scratch and not run.pulling_kept:
                run.pulling_kept = True
                self._fabric.spawn(self._pull_kept(run, kept))
        return {"kind": "go on", "stop": stop, "known": worker is not None}

    async def _send_piece(self, name: str, instance: str, message: Message) -> tuple[dict[str, object], bytes]:
        with self._line.lock:
            run = self._line.find_run(name, instance, message.text("run"), message.text("key"))
        if run is None:
            return {"kind": "not wanted"}, b""
        run.silent = 0.0
        part, offset = message.text("part", 20), message.integer("offset")
        loop = asyncio.get_running_loop()
        try:
            return {"kind": "piece"}, await loop.run_in_executor(None, run.piece, part, offset)
        except Unwanted:
            return {"kind": "not wanted"}, b""
        except OSError as error:
            log.warning("run %s: a file cannot be read (%s)", run.run_id, error.strerror)
            run.fail(ChymeError(f"the file cannot be read ({error.strerror})"))
            return {"kind": "not wanted"}, b""

    def _take_answer_and_give(self, name: str, instance: str, message: Message) -> tuple[dict[str, object], bytes]:
        """Take what was made. A worker that asks for more gets its next run with the same answer, which spares a
        request."""
        taken = self._take_answer(name, instance, message)
        if not message.flag("claim") or taken["kind"] != "have it":
            return taken, b""
        order, bulk = self._give_work(name, instance, message)
        return ({**taken, "next": order}, bulk) if order["kind"] == "run" else (taken, b"")

    def _take_answer(self, name: str, instance: str, message: Message) -> dict[str, object]:
        with self._line.lock:
            worker = self._line.workers.find(name, instance)
            run = self._line.find_run(name, instance, message.text("run"), message.text("key"))
            if run is None or run.answered_inline:
                self._line.late_answers += 1
                if worker is not None:
                    worker.late += 1
                return {"kind": "not wanted"}
            if message.header.get("result") != "outputs":
                run.worker.judging.add(run.run_id)  # it gets nothing more until that is decided
        run.silent = 0.0
        if run.running_for is None:
            run.running_for = 0.0
            run.waiting.travel.begin(run.worker.name, run.worker.slowness)
        seconds, size = message.number("seconds"), message.integer("size")
        try:
            if message.flag("inline"):
                run.answered_inline = True
                run.finish(read_inline_answer(message, seconds))
                return {"kind": "have it"}
            if not run.answer_begun:
                run.begin_answer(size)
                run.answer_begun = True
                self._fabric.spawn(self._pull_answer(run, message, seconds, size))
            return {"kind": "wait"}
        except BadFrame as error:
            run.fail(error)
        except Unwanted:
            return {"kind": "not wanted"}
        return {"kind": "have it"}

    async def _pull_answer(self, run: RemoteRun, message: Message, seconds: float, size: int) -> None:
        """Fetch an answer in pieces, and hand it on."""
        try:
            sha256 = await self._pull(run, "answer", size, run.add_to_answer)
            if sha256 != message.text("sha256"):
                raise BadFrame("an answer with another hash than announced")
            run.finish(RunAnswer(message, run.answer_bulk(size), seconds))
        except FabricAway:
            run.fail(WorkerLost(f"the worker {run.worker.name} vanished with its answer"))
        except (BadFrame, Unwanted) as error:
            run.fail(error)
        except OSError as error:
            run.fail(error)

    async def _pull_kept(self, run: RemoteRun, size: int) -> None:
        """Fetch what the worker keeps in its scratch folder, for another attempt, should it vanish."""
        stream: IO[bytes] | None = None
        try:
            if size > self._config.answer_bytes:
                raise BadFrame("more than may be kept")
            stream = run.scratch_file()
            await self._pull(run, "kept", size, stream.write)
            stream.seek(0)
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, run.take_kept, cast("BinaryIO", stream), size)
        except (FabricAway, Unwanted):
            pass
        except (BadFrame, OSError) as error:
            log.warning("run %s: what the worker %s keeps was not taken: %s", run.run_id, run.worker.name, error)
        finally:
            run.pulling_kept = False
            if stream is not None:
                stream.close()

    async def _pull(self, run: RemoteRun, what: str, size: int, write: Callable[[bytes], object]) -> str:
        """Fetch so many bytes from the worker. Returns their SHA-256."""
        digest, offset = hashlib.sha256(), 0
        subject = give_subject(self._config.vault, run.worker.name, run.worker.instance)
        while offset < size:
            header: dict[str, object] = {"kind": what, "run": run.run_id, "key": run.key, "offset": offset}
            piece = await self._fabric.request(subject, header, seconds=PULL_SECONDS)
            if piece.kind != "piece" or not 0 < len(piece.bulk) <= min(PIECE, size - offset):
                raise BadFrame("a piece of another size than asked for")
            run.silent = 0.0
            write(piece.bulk)
            digest.update(piece.bulk)
            offset += len(piece.bulk)
        return digest.hexdigest()

    def _let_go(self, name: str, instance: str, message: Message) -> dict[str, object]:
        """A worker ends on purpose: what it could not finish goes back, and counts for nothing."""
        with self._line.lock:
            worker = self._line.workers.find(name, instance)
            runs = [run for run in self._line.runs.values() if run.worker is worker]
            if worker is not None and message.flag("gone"):
                self._line.workers.remove(worker)
        for run in runs:
            run.fail(PutDown("its worker was asked to end"))
        return {"kind": "bye"}

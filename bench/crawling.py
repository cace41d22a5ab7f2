"""Two hundred pages of a web on loopback, with and without pictures, and once killed half-way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.commands import CHYME, ROOT, Ran, digest, run
from bench.figures import Figure, Sizes, Tell, remark, warn
from bench.processes import family_of
from bench.vaults import forget
from chyme.webpages.browser.executable import browser_program

MB = 1 << 20
PAGES = 200
LOOK_SECONDS = 0.5


def measure(sizes: Sizes, folder: Path, tell: Tell) -> None:
    vault = folder / "vault"
    vault.mkdir()
    with _web() as port:
        addresses = [f"http://127.0.0.1:{port}/article/{number}" for number in range(PAGES)]
        for number, address in enumerate(addresses):
            (vault / f"page {number}.url").write_text(f"[InternetShortcut]\r\nURL={address}\r\n")
            os.utime(vault / f"page {number}.url", (1e9, 1e9))
        settings = {"crawl": "true", "web_allow": f"127.0.0.1:{port}", "web_delay": "0"}
        texts = _loop("text", addresses)
        read = digest(vault, settings=settings | {"browser": "off"})
        tell(Figure("pages read and kept, no pictures", PAGES / read.wall, "pages/s", f"{PAGES} pages, all cores"))
        tell(
            Figure(
                "CPU against urllib and trafilatura in a loop",
                read.cpu / texts.cpu,
                "×",
                f"{read.cpu:.1f} s against {texts.cpu:.1f} s; chyme also keeps copies, indexes and sums up",
            )
        )
        if browser_program("auto") is None:
            warn("Chromium is absent; nothing is pictured")
            return
        pictures = _loop("pictures", addresses)
        forget(vault)
        whole, memory, most = _watched(vault, settings)
        tell(Figure("pages read, kept and pictured", PAGES / whole, "pages/s", f"{PAGES} pages, all cores"))
        tell(
            Figure(
                "against one Chromium alone",
                pictures.wall / whole,
                "×",
                f"{PAGES / pictures.wall:.2f} pages/s, only pictures",
            )
        )
        tell(
            Figure(
                "memory of all Chromium processes",
                memory / MB,
                "MB",
                f"proportional, the most of looks; {most} processes",
            )
        )
        _complete(vault, PAGES)
        _killed(vault, settings, tell)


def _killed(vault: Path, settings: dict[str, str], tell: Tell) -> None:
    """Kill -9 in the middle, see what is left, and go on."""
    forget(vault)
    began = time.monotonic()
    process = _start(vault, settings)
    while _pictured(vault) < PAGES // 2:
        time.sleep(0.2)
        if process.poll() is not None or time.monotonic() - began > 600:
            raise RuntimeError("it did not come half-way")
    before = {used.pid for used in family_of(process.pid)}
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = _gone(lambda: [pid for pid in before if _runs(pid)])
    tell(Figure("processes left after kill -9", left, "", f"of {len(before)}, after 10 s at most", at_most=0))
    ended = digest(vault, settings=settings)
    if ended.code != 0:
        raise RuntimeError(f"the second start failed:\n{ended.output}")
    _complete(vault, PAGES)
    again = _gone(lambda: [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _is_chromium(pid)])
    tell(Figure("Chromium processes left after the second", again, "", "zombies included, after 10 s", at_most=0))


def _gone(left: Callable[[], list[int]]) -> int:
    """How many are still there after a while."""
    deadline = time.monotonic() + 10
    while (found := left()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return len(found)


def _watched(vault: Path, settings: dict[str, str]) -> tuple[float, int, int]:
    """Seconds, and the most memory and processes of Chromium at one moment."""
    began = time.perf_counter()
    process = _start(vault, settings)
    memory = most = 0
    while process.poll() is None:
        pids = [used.pid for used in family_of(process.pid) if _is_chromium(used.pid)]
        memory, most = max(memory, sum(map(_proportional, pids))), max(most, len(pids))
        with suppress(subprocess.TimeoutExpired):
            process.wait(LOOK_SECONDS)
    if process.returncode != 0:
        raise RuntimeError("digestion failed")
    return time.perf_counter() - began, memory, most


def _start(vault: Path, settings: dict[str, str]) -> subprocess.Popen[bytes]:
    environment = os.environ | {f"CHYME_{name.upper()}": value for name, value in settings.items()}
    return subprocess.Popen(
        [*CHYME, "digest", "--vault", str(vault)],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _status(vault: Path) -> dict[str, dict[str, int]]:
    told = run((*CHYME, "status", "--vault", str(vault), "--json"))
    return json.loads(told.output) if told.code == 0 else {"digests": {}}


def _pictured(vault: Path) -> int:
    return _status(vault)["digests"].get("completed", 0) // 6  # outputs of a link


def _complete(vault: Path, pages: int) -> None:
    digests = _status(vault)["digests"]
    if digests.get("failed") or digests.get("todo") or digests.get("completed") != 6 * pages:
        warn(f"not all is complete: {digests}")
    else:
        remark(f"{pages} pages, {6 * pages} digests completed")


def _proportional(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def _is_chromium(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().startswith(("chrom", "chrome"))
    return False


def _runs(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def _loop(what: str, addresses: Sequence[str]) -> Ran:
    ran = run((sys.executable, "-m", "bench.page_loop", what, *addresses))
    if ran.code != 0:
        raise RuntimeError(f"the plain loop failed:\n{ran.output}")
    return ran


@contextmanager
def _web() -> Iterator[int]:
    server = subprocess.Popen(
        [sys.executable, "-m", "bench.page_web"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdin and server.stdout
    try:
        yield int(server.stdout.readline())
    finally:
        server.stdin.close()
        server.wait(10)
        server.stdout.close()

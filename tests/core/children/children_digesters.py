"""Well-behaved and misbehaving digesters. They run inside real children."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from chyme.digester import Digester, Source
from chyme.errors import BY_CATEGORY, Category, RateLimited
from chyme.model import Artifact, File, Output, Passage, Place

hoard: list[object] = []


class Odd(Digester):
    """A digester whose behaviour is one function."""

    label = "Odd"
    description = "For tests."
    acts: ClassVar[Callable[[Source], list[Output]]]

    def can_digest(self, file: File) -> bool:
        return True

    def digest(self, source: Source) -> list[Output]:
        return type(self).acts(source)


def line() -> socket.socket:
    return socket.socket(fileno=os.dup(int(sys.argv[1])))


def raw(header: object, bulk: bytes = b"") -> bytes:
    head = json.dumps(header).encode()
    return struct.pack("!II", len(head), len(bulk)) + head + bulk


def number(source: Source) -> int:
    """Return the id that the parent gave this task: in these tests, the id of the file."""
    return source.file.id


def shout(data: bytes) -> list[Output]:
    line().sendall(data)
    time.sleep(30)
    return []


def echo(source: Source) -> list[Output]:
    with source.open() as file:
        text = file.read().decode()
    place = Place(0, len(text), page=1, heading="h", seconds=1.5, until=2.5, speaker="s", box=(0.0, 0.1, 0.9, 1.0))
    passage = Passage("file", 0, text, Place(0, len(text)), segmented="seg")
    return [Output("echo", text, (Artifact("raw.bin", text.encode()),), (place,), (passage,), ("word", "мир"))]


def reread(source: Source) -> list[Output]:
    with source.open() as first, source.open() as second:
        parts = [first.read(2), second.read(4), first.read(2)]
        first.seek(-1, os.SEEK_END)
        parts.append(first.read())
    return [Output("reread", b"|".join(parts).decode())]


def inputs(source: Source) -> list[Output]:
    upstream = source.output("image-preview")
    assert upstream is not None
    assert source.output("missing") is None
    sizes = {name: len(data) for name, data in upstream.artifacts.items()}
    summary = [len(upstream.content or ""), [place.heading for place in upstream.places], sizes]
    return [Output("inputs", json.dumps(summary))]


def big(source: Source) -> list[Output]:
    size = int(source.file.name)
    text = "é" * size
    artifacts = (Artifact("a.bin", b"\x00" * size), Artifact("empty", b""), Artifact("b.bin", b"\x01" * 10))
    return [Output("big", text, artifacts, (Place(0, size),))]


def steps(source: Source) -> list[Output]:
    for fraction in (0.25, 0.5, 2.0):
        source.progress(fraction)
        time.sleep(0.15)
    return [Output("steps", None)]


def fail(source: Source) -> list[Output]:
    if source.file.name == "rate_limit":
        raise RateLimited("slow down", retry_after=7.5)
    raise BY_CATEGORY[Category(source.file.name)](f"{source.file.path}: as asked")


def abort(_source: Source) -> list[Output]:
    print("native noise", file=sys.stderr, flush=True)
    os.abort()


def hang(_source: Source) -> list[Output]:
    time.sleep(60)
    return []


def with_grandchild(_source: Source) -> list[Output]:
    child = subprocess.Popen(["sleep", "60"])
    Path("grandchild").write_text(str(child.pid), encoding="ascii")
    time.sleep(60)
    return []


def start_program(_source: Source) -> list[Output]:
    """Leave a program running, as the conversion of office documents does."""
    hoard.append(subprocess.Popen(["sleep", "60"]))
    return [Output("start_program", str(os.getpid()))]


def fragment(_source: Source) -> list[Output]:
    """Free memory, all but the last piece, so that the C library keeps all of it unless told otherwise."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    pieces = [libc.malloc(ctypes.c_size_t(10 << 10)) for _ in range(10_000)]
    for piece in pieces:
        ctypes.memset(piece, 1, 10 << 10)
    for piece in pieces[:-1]:
        libc.free(ctypes.c_void_p(piece))
    return [Output("fragment", "")]


def burn(_source: Source) -> list[Output]:
    while True:
        pass


def eat(_source: Source) -> list[Output]:
    while True:
        hoard.append(bytearray(10 << 20))


def native_eat(_source: Source) -> list[Output]:
    """Behave like native code that runs out of memory: abort at once."""
    malloc = ctypes.CDLL(None).malloc
    malloc.restype = ctypes.c_void_p
    while malloc(ctypes.c_size_t(10 << 20)):
        pass
    os.abort()


def keep(source: Source) -> list[Output]:
    hoard.append(bytearray(b"x" * int(source.file.name)))
    return [Output("keep", str(os.getpid()))]


def raise_value_error(_source: Source) -> list[Output]:
    raise ValueError("secret detail")


def leave(_source: Source) -> list[Output]:
    raise SystemExit(3)


def undeclared(_source: Source) -> list[Output]:
    return [Output("somebody-elses", "x")]


def twice(_source: Source) -> list[Output]:
    return [Output("twice", "x"), Output("twice", "y")]


def outside(_source: Source) -> list[Output]:
    return [Output("outside", "abc", places=(Place(0, 4),))]


def slash(_source: Source) -> list[Output]:
    return [Output("slash", None, (Artifact("../../escape", b"x"),))]


def halves(_source: Source) -> list[Output]:
    return [Output("halves", "a\ud800b")]


def pid(_source: Source) -> list[Output]:
    return [Output("pid", str(os.getpid()))]


def slow(source: Source) -> list[Output]:
    time.sleep(float(source.file.name))
    return [Output("slow", str(os.getpid()))]


def garbage(_source: Source) -> list[Output]:
    return shout(b"\x00\x00\x00\x05\x00\x00\x00\x00{{{{{")


def list_frame(_source: Source) -> list[Output]:
    return shout(raw([1, 2]))


def deep(_source: Source) -> list[Output]:
    text = b"[" * 200_000
    return shout(struct.pack("!II", len(text), 0) + text)


def oversized(_source: Source) -> list[Output]:
    return shout(b"\xff" * 64)


def wrong_id(source: Source) -> list[Output]:
    return shout(raw({"kind": "result", "id": number(source) + 1, "outputs": [], "spilled": None}))


def unknown_kind(source: Source) -> list[Output]:
    return shout(raw({"kind": "surprise", "id": number(source)}))


def class_name(source: Source) -> list[Output]:
    return shout(raw({"kind": "error", "id": number(source), "category": "KeyboardInterrupt", "message": ["x"]}))


def overdrawn(source: Source) -> list[Output]:
    rows: list[object] = [["overdrawn", 1 << 40, 0, []]]
    return shout(raw({"kind": "result", "id": number(source), "outputs": rows, "spilled": None}))


def negative(source: Source) -> list[Output]:
    rows: list[object] = [["negative", -5, 0, []]]
    return shout(raw({"kind": "result", "id": number(source), "outputs": rows, "spilled": None}, b"abcde"))


def not_utf8(source: Source) -> list[Output]:
    rows: list[object] = [["not_utf8", 2, 0, []]]
    return shout(raw({"kind": "result", "id": number(source), "outputs": rows, "spilled": None}, b"\xff\xfe"))


def not_finite(source: Source) -> list[Output]:
    details = b'{"places":[[0,0,null,null,NaN,null,null,null]]}'
    rows: list[object] = [["not_finite", None, len(details), []]]
    return shout(raw({"kind": "result", "id": number(source), "outputs": rows, "spilled": None}, details))


def spilled(source: Source, size: int) -> list[Output]:
    rows: list[object] = [[source.file.name, size, 0, []]]
    return shout(raw({"kind": "result", "id": number(source), "outputs": rows, "spilled": size}))


def symlink(source: Source) -> list[Output]:
    Path(".answer").symlink_to("/etc/passwd")
    return spilled(source, Path("/etc/passwd").stat().st_size)


def fifo(source: Source) -> list[Output]:
    os.mkfifo(".answer")
    return spilled(source, 0)


def hard_link(source: Source) -> list[Output]:
    Path("other").write_bytes(b"12345")
    Path(".answer").hardlink_to("other")
    return spilled(source, 5)


def too_much(source: Source) -> list[Output]:
    Path(".answer").write_bytes(b"")
    os.truncate(".answer", 48 << 20)
    return spilled(source, 48 << 20)


def shorter(source: Source) -> list[Output]:
    Path(".answer").write_bytes(b"123")
    return spilled(source, 100)


def folder(source: Source) -> list[Output]:
    Path(".answer").mkdir(exist_ok=True)
    return [Output("folder", "x" * 100_000)]


def flood(source: Source) -> list[Output]:
    sock = line()
    frame = raw({"kind": "progress", "id": number(source), "fraction": 0.5})
    while True:
        sock.sendall(frame * 100)


def noise(_source: Source) -> list[Output]:
    for _ in range(1000):
        print("x" * 1000)
    sys.stdout.flush()
    return [Output("noise", None)]


def network(_source: Source) -> list[Output]:
    results = []
    for address in (("127.0.0.1", 9), ("192.0.2.1", 80)):
        with socket.socket() as sock:
            sock.settimeout(2)
            try:
                sock.connect(address)
                results.append("connected")
            except OSError as error:
                results.append(os.strerror(error.errno or 0))
    return [Output("network", json.dumps(results))]


def surroundings(source: Source) -> list[Output]:
    with tempfile.NamedTemporaryFile() as file:
        temporary = Path(file.name).name in {path.name for path in Path().iterdir()}
    status = dict(line.split(":\t") for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    found = {
        "uid": os.getresuid(),
        "gid": os.getresgid(),
        "groups": os.getgroups() if os.getuid() else [],
        "capabilities": int(status["CapPrm"], 16),
        "no_new_privs": status["NoNewPrivs"],
        "session": os.getsid(0) == os.getpid(),
        "core": resource.getrlimit(resource.RLIMIT_CORE),
        "environment": sorted(os.environ),
        "stdin": Path("/proc/self/fd/0").readlink().as_posix(),
        "temporary_in_scratch": temporary,
        "imports_from": sys.path,
    }
    Path("kept.txt").write_text("stretch", encoding="ascii")
    return [Output("surroundings", json.dumps(found))]


def fill(_source: Source) -> list[Output]:
    with Path("large").open("wb") as file:
        for _ in range(100):
            file.write(b"x" * (1 << 20))
    return []


def no_room(_source: Source) -> list[Output]:
    Path("/dev/full").write_bytes(b"x")
    return []


def over_quota(_source: Source) -> list[Output]:
    raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))


def kept(source: Source) -> list[Output]:
    return [Output("kept", (source.scratch / "kept.txt").read_text())]


BEHAVIOURS = [
    *(
        echo,
        reread,
        inputs,
        big,
        steps,
        fail,
        abort,
        hang,
        with_grandchild,
        start_program,
        fragment,
        burn,
        eat,
        native_eat,
        keep,
    ),
    *(raise_value_error, leave, undeclared, twice, outside, slash, halves, pid, slow, garbage, list_frame, deep),
    *(oversized, wrong_id, unknown_kind, class_name, overdrawn, negative, not_utf8, not_finite, symlink, fifo),
    *(hard_link, too_much, shorter, folder, flood, noise, network, surroundings, fill, kept),
    *(no_room, over_quota),
]


def _digester(act: Callable[[Source], list[Output]]) -> Digester:
    name = act.__name__
    digester_type: type[Odd] = type(name, (Odd,), {"name": name, "outputs": (name,), "acts": staticmethod(act)})
    return digester_type()


def digesters(config: dict[str, object]) -> dict[str, Digester]:
    if config.get("broken"):
        raise ImportError("libparser.so.1: not found")
    if config.get("die"):
        os.kill(os.getpid(), signal.SIGKILL)
    return {act.__name__: _digester(act) for act in BEHAVIOURS}

"""A network namespace for one test, in which every address leads to this machine and all traffic is observed.

Run as a program by root, it leaves the network, makes every IPv4 address local (so that a packet to a private or
metadata address would be seen and still go nowhere), answers DNS, serves the local web, runs chyme on a vault of
links, and prints as JSON every packet that begins a connection, and every Python call that connected.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import local_sites
from local_web import Listener, LocalWeb
from vision_server import says, serving

CLONE_NEWNET, CLONE_NEWNS = 0x40000000, 0x00020000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
SIOCSIFFLAGS, UP_AND_RUNNING = 0x8914, 0x1 | 0x40
ETH_P_ALL = 3
TCP, UDP = 6, 17
SUMMARY = {"points": ["The mill came back.", "The pond was dug out.", "The wheel turns for five hours."]}
NAMES = {"good.test": ["127.0.0.1"], "rebinding.test": ["127.0.0.1", "127.0.0.2"], "inner.test": ["10.0.0.7"]}
WHO = """
import json, os, sys, traceback

def watch(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = arguments[1]
        if isinstance(address, tuple):
            stack = [frame.f_code.co_filename for frame, _ in traceback.walk_stack(None)]
            line = json.dumps({"to": list(address[:2]), "stack": stack, "network": os.readlink("/proc/self/ns/net")})
            fd = os.open(SEEN, os.O_WRONLY | os.O_APPEND)
            os.write(fd, line.encode() + b"\\n")
            os.close(fd)

sys.addaudithook(watch)
"""


def leave(folder: Path) -> None:
    """Move this process into a new network where names are resolved here."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET | CLONE_NEWNS) != 0:
        sys.exit(77)
    libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None)
    (folder / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    for name in ("resolv.conf", "hosts"):
        (folder / name).touch()
        if libc.mount(os.fsencode(folder / name), f"/etc/{name}".encode(), None, MS_BIND, None) != 0:
            sys.exit(77)
    with socket.socket() as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", UP_AND_RUNNING))
    ip = shutil.which("ip") or "/usr/sbin/ip"
    everything = [ip, "route", "add", "local", "0.0.0.0/0", "dev", "lo"]
    if not Path(ip).exists() or subprocess.run(everything, check=False).returncode != 0:
        sys.exit(77)


class Watch:
    """Records every packet that begins a TCP connection, and every UDP packet."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, int]] = []
        self._sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.ntohs(ETH_P_ALL))
        self._sock.bind(("lo", 0))
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while True:
            packet, (_, protocol, direction, *_rest) = self._sock.recvfrom(65535)
            if direction != socket.PACKET_OUTGOING:
                continue
            if protocol == 0x0800:
                self._note(packet[9], socket.inet_ntoa(packet[16:20]), packet[(packet[0] & 15) * 4 :])
            elif protocol == 0x86DD:
                self._note(packet[6], socket.inet_ntop(socket.AF_INET6, packet[24:40]), packet[40:])

    def _note(self, kind: int, to: str, inside: bytes) -> None:
        port = int.from_bytes(inside[2:4])
        begins = kind == UDP or (kind == TCP and inside[13] & 0x12 == 0x02)
        if kind not in (TCP, UDP) or begins:
            self.seen.append(({TCP: "tcp", UDP: "udp"}.get(kind, str(kind)), to, port))


class Names:
    """A DNS server whose answers change: each address in turn, then always the last."""

    def __init__(self) -> None:
        self.questions: list[str] = []
        self.askers: set[int] = set()  # ports
        self._left = {name: list(addresses) for name, addresses in NAMES.items()}
        self._sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sock.bind(("127.0.0.1", 53))
        threading.Thread(target=self._answer, daemon=True).start()

    def _answer(self) -> None:
        while True:
            question, who = self._sock.recvfrom(4096)
            self.askers.add(who[1])
            labels, at = [], 12
            while length := question[at]:
                labels.append(question[at + 1 : at + 1 + length].decode())
                at += 1 + length
            name, kind = ".".join(labels).lower(), int.from_bytes(question[at + 1 : at + 3])
            addresses = self._next(name) if kind == 1 else []
            self.questions += [name] if kind == 1 else []
            code = 0 if name in NAMES else 3
            head = question[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(addresses), 0, 0)
            records = b"".join(
                b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + socket.inet_aton(address) for address in addresses
            )
            self._sock.sendto(head + question[12 : at + 5] + records, who)

    def _next(self, name: str) -> list[str]:
        left = self._left.get(name, [])
        return [left.pop(0) if len(left) > 1 else left[0]] if left else []


def links(web: LocalWeb, forbidden: Listener) -> dict[str, str]:
    by_name: Callable[[str, str], str] = lambda host, path: f"http://{host}:{web.port}{path}"  # noqa: E731
    local_sites.article(web)
    web.page(
        "/rebinding",
        f"<title>Names that change</title><article>{'<p>'.join(local_sites.PARAGRAPHS)}</article>"
        + "".join(f'<img src="http://rebinding.test:{web.port}/{n}.png">' for n in range(5)),
    )
    for number, to in enumerate(("http://169.254.169.254/latest/meta-data/", "http://10.0.0.7/", "http://[::1]/")):
        web.page(f"/leads/{number}", headers={"Location": to}, status=302)
    return {
        "article": by_name("good.test", "/article"),
        "app": local_sites.javascript_only(web),
        "prowler": local_sites.prowler(web, forbidden),
        "rebinding": by_name("rebinding.test", "/rebinding"),
        "inner name": by_name("inner.test", "/"),
        "unknown name": by_name("nowhere.test", "/"),
        "metadata": "http://169.254.169.254/latest/meta-data/",
        "decimal": "http://2852039166/latest/meta-data/",
        "private": "http://192.168.1.1/",
        "mapped": "http://[::ffff:10.0.0.7]/",
        "other port": f"http://127.0.0.1:{forbidden.port}/",
        **{f"leads {number}": web.url(f"/leads/{number}") for number in range(3)},
    }


def main() -> None:
    folder = Path(sys.argv[1])
    leave(folder)
    vault, site, seen = folder / "vault", folder / "site", folder / "seen.jsonl"
    vault.mkdir()
    site.mkdir()
    seen.touch()
    seen.chmod(0o666)
    (site / "sitecustomize.py").write_text(WHO.replace("SEEN", repr(os.fspath(seen))))
    watch, names = Watch(), Names()
    with LocalWeb() as web, Listener() as forbidden, serving([says(SUMMARY)] * 20) as model:
        for name, url in links(web, forbidden).items():
            (vault / f"{name}.url").write_text(f"[InternetShortcut]\nURL={url}\n")
        ended = subprocess.run(
            [sys.executable, "-m", "chyme", "digest", "--vault", os.fspath(vault), "--json"],
            env={
                **{name: value for name, value in os.environ.items() if not name.startswith("CHYME_")},
                "PYTHONPATH": os.fspath(site),
                "CHYME_WEB_ALLOW": f"{web.host}",
                "CHYME_WEB_DELAY": "0",
                "CHYME_MAX_ATTEMPTS": "1",
                "CHYME_LLM_URL": model.url,
                "CHYME_LLM_MODEL": "teller",
                "CHYME_LLM_KEY": "k",
            },
            capture_output=True,
            check=False,
            timeout=1500,
        )
        print(
            json.dumps(
                {
                    "code": ended.returncode,
                    "said": ended.stderr.decode()[-2000:],
                    "web": web.port,
                    "model": urlsplit(model.url).port,
                    "forbidden": forbidden.connections,
                    "packets": sorted(set(watch.seen)),
                    "names": names.questions,
                    "askers": sorted(names.askers),
                    "calls": [json.loads(line) for line in seen.read_text().splitlines()],
                    "result": json.loads(ended.stdout or b"{}"),
                }
            )
        )
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()

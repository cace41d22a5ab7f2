"""What Chromium cannot do for any page: reach a forbidden address, read a file, or keep running."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import local_sites
import pytest
from local_web import Listener, LocalWeb
from waiting import AMPLE, wait_until

from chyme.core.outbound.connection_server import ConnectionServer
from chyme.core.outbound.guard import Guard
from chyme.core.outbound.policy import policy_of
from chyme.errors import AddressRefused, DigestError
from chyme.webpages.browser.browser import Browser
from chyme.webpages.browser.chromium_process import NOBODY, SANDBOX
from chyme.webpages.browser.executable import browser_program
from chyme.webpages.browser.process_tree import Process, process_tree
from chyme.webpages.settings import BrowserSettings

SRC = Path(__file__).parents[2] / "src"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        browser_program("auto") is None, reason="Chromium is not installed (Debian: apt-get install chromium)"
    ),
]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="changes the user, or makes namespaces: only root can")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    made = Browser(BrowserSettings(seconds=AMPLE, settle=3))
    yield made
    made.close()


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    with LocalWeb() as made:
        yield made


@pytest.fixture
def forbidden() -> Iterator[Listener]:
    with Listener() as made:
        yield made


@pytest.fixture
def guard(web: LocalWeb) -> Guard:
    return Guard(policy_of(web.host), delay=0)


def test_a_page_cannot_reach_a_forbidden_address(
    browser: Browser, web: LocalWeb, guard: Guard, forbidden: Listener
) -> None:
    visited = browser.visit(local_sites.prowler(web, forbidden), guard, "prowler.url")
    assert local_sites.TITLE in visited.html
    assert visited.refused == (forbidden.host,)
    assert forbidden.connections == 0


def test_datagrams_hints_and_workers_cannot_bypass_the_proxy(
    browser: Browser, web: LocalWeb, guard: Guard, forbidden: Listener
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind((forbidden.address, forbidden.port))
        datagrams.settimeout(0.5)
        there = forbidden.host
        web.page("/worker.js", f"fetch('http://{there}/worker').catch(() => 0)", {"Content-Type": "text/javascript"})
        script = f"""
            const peer = new RTCPeerConnection({{iceServers: [
                {{urls: ["stun:{there}", "turn:{there}?transport=udp", "turn:{there}?transport=tcp"],
                  username: "a", credential: "b"}}]}});
            peer.createDataChannel("x");
            peer.createOffer().then(offer => peer.setLocalDescription(offer));
            try {{ new WebTransport("https://{there}/transport").ready.catch(() => 0) }} catch (e) {{}}
            new Worker("/worker.js"); new SharedWorker("/worker.js");
            navigator.serviceWorker?.register("/worker.js").catch(() => 0);
            new WebSocket("wss://{there}/socket");
        """
        url = web.page(
            "/around",
            f'<link rel=preconnect href="http://{there}"><link rel=dns-prefetch href="//{there}">'
            f'<link rel=preload as=script href="https://{there}/a.js"><link rel=prefetch href="http://{there}/p">'
            f'<script type=speculationrules>{{"prerender": [{{"urls": ["http://{there}/"]}}]}}</script>'
            f"<p>read me</p><script>{script}</script>",
        )
        visited = browser.visit(url, guard, "around.url")
        time.sleep(1.0)  # candidates are gathered after the page has come to rest
        assert "read me" in visited.html
        assert forbidden.connections == 0
        with pytest.raises(TimeoutError):
            datagrams.recv(2048)


def test_a_page_that_leads_to_a_forbidden_address_is_refused_with_the_guards_message(
    browser: Browser, web: LocalWeb, guard: Guard, forbidden: Listener
) -> None:
    message = rf"^away\.url: {forbidden.host}: .*web_allow"
    for target in (forbidden.url("/"), forbidden.url("/", "https")):
        with pytest.raises(AddressRefused, match=message):
            browser.visit(web.page("/turn", headers={"Location": target}, status=302), guard, "away.url")
        with pytest.raises(AddressRefused, match=message):
            browser.visit(web.page("/go", f"<script>location.href = '{target}'</script>"), guard, "away.url")
        with pytest.raises(AddressRefused, match=message):
            browser.visit(target, guard, "away.url")
    assert forbidden.connections == 0


def test_a_name_whose_second_lookup_leads_elsewhere_is_not_followed(
    browser: Browser, web: LocalWeb, forbidden: Listener
) -> None:
    answers = iter(["127.0.0.1"])
    guard = Guard(
        policy_of(f"127.0.0.1:{web.port}, rebinding.test:1"),
        delay=0,
        resolve=lambda _host: [next(answers, forbidden.address)],
    )
    web.page("/page", "<p>shown</p><img src='/second.png'><iframe src='/third'></iframe>")
    visited = browser.visit(f"http://rebinding.test:{web.port}/page", guard, "rebinding.url")
    assert "shown" in visited.html
    assert visited.refused == (f"rebinding.test:{web.port}",)
    assert web.paths == ["/page"]
    assert forbidden.connections == 0


class Recorder:
    """The guard, with a record of the hosts it was asked for."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self.hosts: set[str] = set()

    def connect(self, host: str, port: int, polite: bool = False) -> socket.socket:
        self.hosts.add(host)
        return self._guard.connect(host, port, polite)

    def hold(self, host: str, seconds: float) -> None:
        self._guard.hold(host, seconds)


def test_chromium_connects_to_no_host_by_itself(browser: Browser, web: LocalWeb, guard: Guard) -> None:
    recorder = Recorder(guard)
    url = web.page("/page", "<form><input type=password></form><script>setInterval(() => fetch('/page'), 200)</script>")
    assert browser.visit(url, recorder, "page.url").notes  # it was open for some seconds
    assert recorder.hosts == {"127.0.0.1"}


def test_files_of_this_machine_are_not_shown(browser: Browser, web: LocalWeb, guard: Guard, tmp_path: Path) -> None:
    secret = tmp_path / "secret.html"
    secret.write_text("<h1 style='background:red'>the secret words</h1>", encoding="utf-8")
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(folder.stat().st_mode | 0o055)  # Chromium's user could read it
    address = secret.as_uri()
    url = web.page(
        "/peek",
        f"<p>read me</p><iframe src='{address}'></iframe><object data='{address}'></object><script>"
        f"fetch('{address}').then(r => r.text()).then(t => document.body.append(t)).catch(() => 0);"
        f"const asked = new XMLHttpRequest(); asked.open('GET', '{address}');"
        "asked.onload = () => document.body.append(asked.responseText); try { asked.send() } catch (e) {}"
        f"window.open('{address}'); const frame = document.createElement('iframe');"
        f"frame.src = 'view-source:{address}'; document.body.append(frame); location.href = '{address}'</script>",
    )
    visited = browser.visit(url, guard, "peek.url")
    assert visited.url == url
    assert "secret words" not in visited.html
    with pytest.raises(DigestError):
        browser.visit(web.page("/turn", headers={"Location": address}, status=302), guard, "turn.url")


def test_the_page_runs_in_a_sandbox_and_without_privileges(browser: Browser, web: LocalWeb, guard: Guard) -> None:
    seen: dict[str, str] = {}

    def look(_request: object, _wire: object) -> None:
        for process in process_tree(browser.pid or 0):
            with suppress(OSError):  # helpers such as chromium-sandbox may end at any moment
                if b"--type=renderer" in Path(f"/proc/{process.pid}/cmdline").read_bytes():
                    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii").splitlines()
                    seen.update(line.partition(":\t")[::2] for line in status)
                    seen["network"] = os.readlink(f"/proc/{process.pid}/ns/net") if os.geteuid() == 0 else ""

    web.handler("/look", look)
    browser.visit(web.page("/looked", "<img src='/look'>"), guard, "looked.url")
    assert (seen["Seccomp"], seen["NoNewPrivs"]) == ("2", "1")
    assert seen["Uid"].split()[0] == str(NOBODY if os.geteuid() == 0 else os.geteuid())
    assert int(seen["CapEff"], 16) == 0
    if seen["network"]:
        assert seen["network"] != os.readlink("/proc/self/ns/net")  # the process of the page has no network at all


def still_there(processes: frozenset[Process]) -> list[int]:
    return [process.pid for process in processes if process in process_tree(process.pid)]


def test_close_leaves_no_process_and_no_folder(web: LocalWeb, guard: Guard) -> None:
    browser = Browser(BrowserSettings())
    browser.visit(local_sites.javascript_only(web), guard, "ferry.url", shot=False)
    processes = process_tree(browser.pid or 0)
    folder = browser.folder
    assert len(processes) > 3
    assert folder is not None
    assert folder.is_dir()
    browser.close()
    assert still_there(processes) == []
    assert not folder.exists()
    browser.close()


AS_USER = """
    import codecs, ctypes, os, sys, time
    from chyme.webpages.browser.browser import Browser
    from chyme.webpages.settings import BrowserSettings
    from chyme.core.children.isolation import confine
    from chyme.core.outbound.connection_client import ConnectionClient
    from chyme.errors import DigestError

    for name in ("utf-16-le", "idna", "ascii"):  # Python may be installed where this user cannot read later
        codecs.lookup(name)
    libc = ctypes.CDLL(None, use_errno=True)
    how, uid, url, door = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    if how != "child of root" and uid != os.geteuid():
        os.setgroups([]); os.setresgid(uid, uid, uid); os.setresuid(uid, uid, uid)
        libc.prctl(4, 1, 0, 0, 0)  # like a process that belonged to this user from the start
    if how == "no namespaces":
        assert libc.unshare(0x10000000) == 0
        for name, content in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{uid} {uid} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(content)
        with open("/proc/sys/user/max_user_namespaces", "w") as file:
            file.write("0")
    if how.startswith("child"):
        assert confine((uid, uid), os.getppid(), 1 << 30, goes_out=True).network_off
    os.environ["HOME"] = "/nonexistent"
    browser = Browser(BrowserSettings())
    outside = ConnectionClient(door, 30)
    try:
        for _ in range(2):
            visited = browser.visit(url, outside, "a.url")
        print("seen", visited.title, len(visited.screenshot or b"") > 1000, flush=True)
        print(browser.pid, browser.folder, flush=True)
    except DigestError as error:
        print(type(error).__name__, error, flush=True)
    if how == "wait":
        time.sleep(60)
    outside.close()
    browser.close()
"""


@pytest.fixture
def door(guard: Guard) -> Iterator[ConnectionServer]:
    with closing(ConnectionServer(guard)) as made:
        yield made


def start_browser_as(how: str, uid: int, web: LocalWeb, door: ConnectionServer) -> subprocess.Popen[str]:
    url = local_sites.javascript_only(web)
    with door.add_child() as end:
        arguments = (how, str(uid), url, str(end.fileno()))
        return subprocess.Popen(
            [sys.executable, "-W", "error", "-c", textwrap.dedent(AS_USER), *arguments],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(SRC)},
            stdout=subprocess.PIPE,
            pass_fds=[end.fileno()],
            cwd="/",
            text=True,
        )


@needs_root
@pytest.mark.parametrize(("how", "uid"), [("child of root", NOBODY), ("child", 12345), ("user", 12345)])
def test_it_works_for_every_user_and_inside_a_child_without_network(
    how: str, uid: int, web: LocalWeb, door: ConnectionServer
) -> None:
    with start_browser_as(how, uid, web, door) as process:
        output, _ = process.communicate(timeout=AMPLE)
    assert process.returncode == 0
    assert output.startswith("seen Ferry times True\n")
    assert not Path(output.split()[-1]).exists()


@needs_root
def test_without_a_sandbox_chromium_is_not_used_and_the_error_says_so(web: LocalWeb, door: ConnectionServer) -> None:
    with start_browser_as("no namespaces", NOBODY, web, door) as process:
        output, _ = process.communicate(timeout=AMPLE)
    assert output == f"EngineUnavailable a.url: {SANDBOX}\n"


def test_chromium_ends_when_our_process_is_killed(web: LocalWeb, door: ConnectionServer) -> None:
    with start_browser_as("wait", os.geteuid(), web, door) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("seen ")
        pid, folder = process.stdout.readline().split()
        processes = process_tree(int(pid))
        assert len(processes) > 3
        process.send_signal(signal.SIGKILL)
    wait_until(lambda: not running(processes) and not Path(folder).exists())


def running(processes: frozenset[Process]) -> list[int]:
    """The processes that are alive; zombies do not count."""
    found = []
    for pid in still_there(processes):
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state not in ("Z", "X"):
            found.append(pid)
    return found

"""One Chromium process with all its helpers: started without privileges and inside its own sandbox, ended for certain.

It listens on two pipes and on no socket, and it ends when the pipes close, when its memory passes the limit, or when
the thread that started it dies, whatever comes first. It draws nothing by the graphics card, writes to its private
folder alone, and every connection it makes goes to a proxy on loopback: no name is looked up by itself.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from chyme.core.files.temporary_folder import TemporaryFolder, recreate_folder
from chyme.webpages.browser.devtools_pipe import BrowserDisconnected, CommandFailed, DeadlineExceeded, Pipe
from chyme.webpages.browser.process_tree import Process, adopt_orphans, kill_all, private_memory, process_tree
from chyme.webpages.browser.settings import BrowserSettings

PREFIX = "chyme-browser-"
NOBODY = 65534  # whom Chromium runs as where we are root: it does not run as root inside its sandbox
START_SECONDS = 30.0
STOP_SECONDS = 1.0
LOG_ERRORS_SECONDS = 10.0
NICE_INCREMENT = 5
PR_SET_PDEATHSIG = 1
CHILD_READS, CHILD_WRITES = 3, 4  # the descriptors that --remote-debugging-pipe means
COMPLAINT_BYTES = 16384
KEPT_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
# Without Negotiate: a server that asks for it makes Chromium load Kerberos, of which it dies here.
LOCAL_STATE = '{"auth": {"schemes": "basic,digest,ntlm"}}'
SANDBOX = (
    "Chromium cannot make its sandbox here, and without it it is not used; allow user namespaces "
    "(sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces above 0, on Ubuntu "
    "kernel.apparmor_restrict_unprivileged_userns=0, in a container a seccomp profile that permits them)"
)

_OFF = (
    *("AcceptCHFrame", "AutofillServerCommunication", "BackForwardCache", "CertificateTransparencyComponentUpdater"),
    *("DialMediaRouteProvider", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades", "IsolateOrigins", "MediaRouter"),
    *("OptimizationHints", "PreconnectFromKeyedService", "PreconnectToSearch", "Prerender2", "SearchEnginePreconnect2"),
    *("PrewarmDefaultSearchEngine", "SpareRendererForSitePerProcess", "Translate", "WebBluetooth"),
    *("WebRtcHideLocalIpsWithMdns", "WebUSB", "site-per-process"),
)
_FLAGS = (
    *("--headless=new", "--remote-debugging-pipe", "--no-startup-window", "--no-first-run"),
    # nothing on its own account
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"),
    *("--disable-component-extensions-with-background-pages", "--disable-default-apps", "--disable-domain-reliability"),
    *("--disable-breakpad", "--disable-crashpad-for-testing", "--disable-field-trial-config"),
    *("--disable-client-side-phishing-detection", "--no-pings", "--no-service-autorun", "--password-store=basic"),
    "--log-level=3",
    # no way around the proxy, which each page's context names anew
    *("--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>", "--disable-quic"),
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # the name of old
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    # nothing that asks, opens or plays
    *("--block-new-web-contents", "--deny-permission-prompts", "--disable-notifications", "--disable-speech-api"),
    *("--disable-print-preview", "--mute-audio", "--autoplay-policy=user-gesture-required"),
    "--disable-device-discovery-notifications",
    # small, still and alike everywhere
    *("--disable-gpu", "--disable-software-rasterizer", "--disable-dev-shm-usage", "--renderer-process-limit=1"),
    *("--disable-site-isolation-trials", "--hide-scrollbars", "--force-color-profile=srgb", "--lang=en-US"),
    *("--force-device-scale-factor=1", "--disable-hang-monitor"),
    *("--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disk-cache-size=1"),
    # The service has no sandbox of its own in any case, and by itself it does not start without a crash reporter.
    "--enable-features=NetworkServiceInProcess2",
    f"--disable-features={','.join(_OFF)}",
)


class BrowserStartError(Exception):
    """Chromium does not start; the message says why and what would help, as part of a sentence."""


class MemoryLimitExceeded(Exception):
    """Its processes together held more than they may."""


class Chromium:
    """A running one, from construction to `stop`."""

    def __init__(self, program: Path, settings: BrowserSettings, home: TemporaryFolder) -> None:
        self._most = settings.memory_mb << 20
        self._family: frozenset[Process] = frozenset()
        self.served = 0
        complaints = home.path / "complaints"
        answers, commands, process = _spawned(program, home, complaints)
        self._adopted = adopt_orphans(True)
        self._process = process
        self.pipe = Pipe(answers, commands)
        self.pipe.watches = self._watch
        try:
            told = self.pipe.call("Browser.getVersion", time.monotonic() + START_SECONDS)
            self.version = str(told["product"]).rpartition("/")[2]
            self.agent = str(told["userAgent"]).replace("HeadlessChrome/", "Chrome/")
        except (BrowserDisconnected, CommandFailed, DeadlineExceeded, KeyError) as error:
            self.stop()
            if isinstance(error, BrowserDisconnected) and not _lacks_sandbox(complaints):
                _log_start_errors(program, home, complaints)
            raise BrowserStartError(_why(error, complaints)) from None
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process.poll() is None else None

    @property
    def memory(self) -> int:
        """Private bytes of all its processes together."""
        return 0 if self.pid is None else private_memory(process_tree(self._process.pid))

    def stop(self) -> None:
        """End it and all its processes. Doing so twice does no harm."""
        known = self._family if self.pid is None else self._family | process_tree(self._process.pid)
        self.pipe.close()
        self._process.kill()
        self._process.wait()
        kill_all(process for process in known if process.pid != self._process.pid)
        adopt_orphans(self._adopted)

    def _watch(self) -> None:
        if self._process.poll() is not None:
            raise BrowserDisconnected
        self._family = process_tree(self._process.pid)
        if private_memory(self._family) > self._most:
            raise MemoryLimitExceeded


def _why(error: Exception, complaints: Path) -> str:
    if _lacks_sandbox(complaints):
        return SANDBOX
    if isinstance(error, DeadlineExceeded):
        return f"Chromium did not start within {START_SECONDS:g} seconds"
    return "Chromium does not start; try `chromium --headless --dump-dom about:blank` by hand, not as root"


def _lacks_sandbox(complaints: Path) -> bool:
    try:
        with complaints.open("rb") as file:
            said = file.read(COMPLAINT_BYTES).decode(errors="replace")
    except OSError:
        return False
    return "No usable sandbox" in said or "without sandboxing" in said


def _log_start_errors(program: Path, home: TemporaryFolder, complaints: Path) -> None:
    """Start it once more with its errors logged. Otherwise they are not, because a page could cause too many."""
    answers, commands, process = _spawned(program, home, complaints, "--log-level=2")
    try:
        process.wait(LOG_ERRORS_SECONDS)
    except subprocess.TimeoutExpired:
        kill_all(process_tree(process.pid))
        process.wait()
    finally:
        os.close(answers)
        os.close(commands)


def _spawned(
    program: Path, home: TemporaryFolder, complaints: Path, *more: str
) -> tuple[int, int, subprocess.Popen[bytes]]:
    """The process, the end of a pipe where its answers arrive, and the one that takes commands."""
    own = _furnished(home)
    environment = {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ}
    environment |= dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), str(own))
    environment |= dict.fromkeys(("DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS"), "disabled:")
    root = os.geteuid() == 0
    theirs_in, commands = os.pipe()
    answers, theirs_out = os.pipe()
    try:
        with complaints.open("wb") as stderr:
            process = subprocess.Popen(
                [str(program), *_FLAGS, *more, f"--user-data-dir={own / 'profile'}"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                cwd=own,
                env=environment,
                pass_fds=(CHILD_READS, CHILD_WRITES),
                user=NOBODY if root else None,
                group=NOBODY if root else None,
                extra_groups=[] if root else None,
                # In our group on purpose: all that Chromium starts dies with the group when we are ended.
                preexec_fn=_bound_to(os.getpid(), theirs_in, theirs_out),  # noqa: PLW1509 (no proxy runs yet)
            )
    except OSError as error:
        os.close(answers)
        os.close(commands)
        raise BrowserStartError(f"Chromium cannot be started ({error.strerror or error})") from error
    finally:
        os.close(theirs_in)
        os.close(theirs_out)
    return answers, commands, process


def _furnished(home: TemporaryFolder) -> Path:
    """A new folder inside the private one, which belongs to whoever Chromium runs as."""
    own = recreate_folder(home.path / "own")
    state = own / "profile" / "Local State"
    state.parent.mkdir(mode=0o700)
    state.write_text(LOCAL_STATE, encoding="ascii")
    if os.geteuid() == 0:
        home.path.chmod(0o711)
        for path in (own, state.parent, state):
            os.chown(path, NOBODY, NOBODY)
    return own


def _bound_to(parent: int, reads: int, writes: int) -> Callable[[], None]:
    libc = ctypes.CDLL(None)

    def bind() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        # By way of higher numbers: either may stand where the other has to go.
        first, second = (fcntl.fcntl(fd, fcntl.F_DUPFD, CHILD_WRITES + 1) for fd in (reads, writes))
        os.dup2(first, CHILD_READS)
        os.dup2(second, CHILD_WRITES)
        for limit in (resource.RLIMIT_AS, resource.RLIMIT_CPU):  # it reserves terabytes, and serves many pages
            _, most = resource.getrlimit(limit)
            resource.setrlimit(limit, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError):
            os.nice(NICE_INCREMENT)

    return bind

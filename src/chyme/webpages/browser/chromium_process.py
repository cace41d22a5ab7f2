"""One Chromium process with all its helpers: started without privileges in its own sandbox, and reliably ended.

It listens on two pipes and on no socket. It ends when the pipes close, when its memory passes the limit, or when the
thread that started it dies, whichever comes first. It does not use the graphics card, writes only to its private
folder, and makes connections only to a proxy on loopback: it looks up no names by itself.
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
from chyme.webpages.settings import BrowserSettings

PREFIX = "chyme-browser-"
NOBODY = 65534  # the user for Chromium if we are root: it does not run as root in its sandbox
START_SECONDS = 30.0
LOG_ERRORS_SECONDS = 10.0
NICE_INCREMENT = 5
PR_SET_PDEATHSIG = 1
CHILD_READS, CHILD_WRITES = 3, 4  # the descriptors that --remote-debugging-pipe uses
ERROR_LOG_BYTES = 16384
KEPT_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
# Without Negotiate: a server that asks for it makes Chromium load Kerberos and crash here.
LOCAL_STATE = '{"auth": {"schemes": "basic,digest,ntlm"}}'
SANDBOX = (
    "Chromium cannot make its sandbox here, and without it it is not used; allow user namespaces "
    "(sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces above 0, on Ubuntu "
    "kernel.apparmor_restrict_unprivileged_userns=0, in a container a seccomp profile that permits them)"
)

_DISABLED_FEATURES = (
    *("AcceptCHFrame", "AutofillServerCommunication", "BackForwardCache", "CertificateTransparencyComponentUpdater"),
    *("DialMediaRouteProvider", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades", "IsolateOrigins", "MediaRouter"),
    *("OptimizationHints", "PreconnectFromKeyedService", "PreconnectToSearch", "Prerender2", "SearchEnginePreconnect2"),
    *("PrewarmDefaultSearchEngine", "SpareRendererForSitePerProcess", "Translate", "WebBluetooth"),
    *("WebRtcHideLocalIpsWithMdns", "WebUSB", "site-per-process"),
)
_FLAGS = (
    *("--headless=new", "--remote-debugging-pipe", "--no-startup-window", "--no-first-run"),
    # nothing in the background
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"),
    *("--disable-component-extensions-with-background-pages", "--disable-default-apps", "--disable-domain-reliability"),
    *("--disable-breakpad", "--disable-crashpad-for-testing", "--disable-field-trial-config"),
    *("--disable-client-side-phishing-detection", "--no-pings", "--no-service-autorun", "--password-store=basic"),
    "--log-level=3",
    # no way around the proxy, which each page's context sets anew
    *("--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>", "--disable-quic"),
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # the old name
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    # no prompts, new windows or sounds
    *("--block-new-web-contents", "--deny-permission-prompts", "--disable-notifications", "--disable-speech-api"),
    *("--disable-print-preview", "--mute-audio", "--autoplay-policy=user-gesture-required"),
    "--disable-device-discovery-notifications",
    # small, quiet and the same everywhere
    *("--disable-gpu", "--disable-software-rasterizer", "--disable-dev-shm-usage", "--renderer-process-limit=1"),
    *("--disable-site-isolation-trials", "--hide-scrollbars", "--force-color-profile=srgb", "--lang=en-US"),
    *("--force-device-scale-factor=1", "--disable-hang-monitor"),
    *("--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disk-cache-size=1"),
    # The network service has no sandbox of its own anyway, and as a process it does not start without a crash reporter.
    "--enable-features=NetworkServiceInProcess2",
    f"--disable-features={','.join(_DISABLED_FEATURES)}",
)


class BrowserStartError(Exception):
    """Chromium does not start; the message says why and what helps, as part of a sentence."""


class MemoryLimitExceeded(Exception):
    """Its processes together use more memory than allowed."""


class Chromium:
    """A running Chromium, from construction to `stop`."""

    def __init__(self, program: Path, settings: BrowserSettings, home: TemporaryFolder) -> None:
        self._max_memory = settings.memory_mb << 20
        self._processes: frozenset[Process] = frozenset()
        self.served = 0
        error_log = home.path / "complaints"
        responses, commands, process = _spawn(program, home, error_log)
        self._adopted_before = adopt_orphans(True)
        self._process = process
        self.pipe = Pipe(responses, commands)
        self.pipe.on_tick = self._check_health
        try:
            version = self.pipe.call("Browser.getVersion", time.monotonic() + START_SECONDS)
            self.version = str(version["product"]).rpartition("/")[2]
            self.agent = str(version["userAgent"]).replace("HeadlessChrome/", "Chrome/")
        except (BrowserDisconnected, CommandFailed, DeadlineExceeded, KeyError) as error:
            self.stop()
            if isinstance(error, BrowserDisconnected) and not _lacks_sandbox(error_log):
                _log_start_errors(program, home, error_log)
            raise BrowserStartError(_describe_start_error(error, error_log)) from None
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
        """End it and all its processes. May be called twice."""
        known = self._processes if self.pid is None else self._processes | process_tree(self._process.pid)
        self.pipe.close()
        self._process.kill()
        self._process.wait()
        kill_all(process for process in known if process.pid != self._process.pid)
        adopt_orphans(self._adopted_before)

    def _check_health(self) -> None:
        if self._process.poll() is not None:
            raise BrowserDisconnected
        self._processes = process_tree(self._process.pid)
        if private_memory(self._processes) > self._max_memory:
            raise MemoryLimitExceeded


def _describe_start_error(error: Exception, error_log: Path) -> str:
    if _lacks_sandbox(error_log):
        return SANDBOX
    if isinstance(error, DeadlineExceeded):
        return f"Chromium did not start within {START_SECONDS:g} seconds"
    return "Chromium does not start; try `chromium --headless --dump-dom about:blank` by hand, not as root"


def _lacks_sandbox(error_log: Path) -> bool:
    try:
        with error_log.open("rb") as file:
            errors = file.read(ERROR_LOG_BYTES).decode(errors="replace")
    except OSError:
        return False
    return "No usable sandbox" in errors or "without sandboxing" in errors


def _log_start_errors(program: Path, home: TemporaryFolder, error_log: Path) -> None:
    """Start it once more with its errors logged. Normally they are not, because a page could cause too many."""
    responses, commands, process = _spawn(program, home, error_log, "--log-level=2")
    try:
        process.wait(LOG_ERRORS_SECONDS)
    except subprocess.TimeoutExpired:
        kill_all(process_tree(process.pid))
        process.wait()
    finally:
        os.close(responses)
        os.close(commands)


def _spawn(
    program: Path, home: TemporaryFolder, error_log: Path, *extra_flags: str
) -> tuple[int, int, subprocess.Popen[bytes]]:
    """Return our ends of the pipes for responses and commands, and the process."""
    folder = _prepare_folder(home)
    environment = {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ}
    environment |= dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), str(folder))
    environment |= dict.fromkeys(("DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS"), "disabled:")
    is_root = os.geteuid() == 0
    child_in, commands = os.pipe()
    responses, child_out = os.pipe()
    try:
        with error_log.open("wb") as stderr:
            process = subprocess.Popen(
                [str(program), *_FLAGS, *extra_flags, f"--user-data-dir={folder / 'profile'}"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                cwd=folder,
                env=environment,
                pass_fds=(CHILD_READS, CHILD_WRITES),
                user=NOBODY if is_root else None,
                group=NOBODY if is_root else None,
                extra_groups=[] if is_root else None,
                # In our group on purpose: everything that Chromium starts dies with the group when we are killed.
                preexec_fn=_make_preexec(os.getpid(), child_in, child_out),  # noqa: PLW1509 (no proxy runs yet)
            )
    except OSError as error:
        os.close(responses)
        os.close(commands)
        raise BrowserStartError(f"Chromium cannot be started ({error.strerror or error})") from error
    finally:
        os.close(child_in)
        os.close(child_out)
    return responses, commands, process


def _prepare_folder(home: TemporaryFolder) -> Path:
    """Return a new folder inside the private one, owned by the user that Chromium runs as."""
    folder = recreate_folder(home.path / "own")
    state = folder / "profile" / "Local State"
    state.parent.mkdir(mode=0o700)
    state.write_text(LOCAL_STATE, encoding="ascii")
    if os.geteuid() == 0:
        home.path.chmod(0o711)
        for path in (folder, state.parent, state):
            os.chown(path, NOBODY, NOBODY)
    return folder


def _make_preexec(parent: int, reads: int, writes: int) -> Callable[[], None]:
    libc = ctypes.CDLL(None)

    def bind() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        # Through higher numbers first: one descriptor may have the number that the other needs.
        first, second = (fcntl.fcntl(fd, fcntl.F_DUPFD, CHILD_WRITES + 1) for fd in (reads, writes))
        os.dup2(first, CHILD_READS)
        os.dup2(second, CHILD_WRITES)
        for limit in (resource.RLIMIT_AS, resource.RLIMIT_CPU):  # Chromium reserves terabytes, and serves many pages
            _, hard = resource.getrlimit(limit)
            resource.setrlimit(limit, (hard, hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError):
            os.nice(NICE_INCREMENT)

    return bind

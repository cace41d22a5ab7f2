"""The unit with which systemd runs `chyme serve`: for one user, or hardened further for the whole machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chyme.errors import UsageError

MARK = "# Made by 'chyme service install'"

# Children leave the network in namespaces of their own, and Chromium makes its sandbox of some more. Therefore user,
# network and process namespaces stay allowed, and unshare, setns, chroot and mount stay in the filter.
_EVERYWHERE = """\
NoNewPrivileges=yes
ProtectSystem=strict
ProtectControlGroups=yes
ProtectKernelTunables=yes
RestrictNamespaces=user net pid
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=~@clock @cpu-emulation @module @obsolete @raw-io @reboot @swap
SystemCallErrorNumber=EPERM
"""
# What takes privileges to set up; in the manager of a user, such a line keeps the service from starting.
_SYSTEM_ONLY = """\
CapabilityBoundingSet=
AmbientCapabilities=
PrivateDevices=yes
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectProc=invisible
RemoveIPC=yes
"""
_NOT_SET = """\
# Not MemoryDenyWriteExecute=: inference engines, LibreOffice and Chromium compile code while they run.
# Not PrivateNetwork=, RootDirectory=, RestrictNamespaces=yes: children could not leave the network.
# Not UMask=: uploaded files get 0666 less the umask; what chyme keeps for itself is private whatever it is.
"""


@dataclass(frozen=True, slots=True)
class Service:
    """What systemd is to run, and as whom."""

    program: Sequence[str]
    vaults: Sequence[Path]
    writable: Sequence[Path]  # besides the vaults
    environment_file: Path  # may be missing; for keys and CHYME_ variables
    installed_in: Path  # the environment of Python with chyme
    host: str | None = None
    port: int | None = None
    run_as: str = ""  # of a unit for the whole machine; empty for a user's own
    has_home: bool = True  # else accounts and weights are in /var/lib/chyme, which systemd makes

    @property
    def is_system(self) -> bool:
        return bool(self.run_as)


def unit_text(service: Service) -> str:
    """The unit file."""
    command = [*service.program, "serve", *map(str, service.vaults)]
    if service.host is not None:
        command += ["--host", service.host]
    if service.port is not None:
        command += ["--port", str(service.port)]
    writable = dict.fromkeys([*service.vaults, *service.writable])
    lines = [
        f"{MARK}; 'chyme service uninstall' removes it. Write changes of your own into a drop-in",
        "# (systemctl edit), because the next install writes this file anew.",
        "",
        "[Unit]",
        "Description=chyme",
        *(("Wants=network-online.target", "After=network-online.target") if service.is_system else ()),
        "StartLimitIntervalSec=0",
        "",
        "[Service]",
        "Type=exec",
        *((f"User={service.run_as}",) if service.is_system else ()),
        *(() if service.has_home else ("StateDirectory=chyme", "StateDirectoryMode=0700")),
        *(() if service.has_home else ("Environment=XDG_DATA_HOME=/var/lib",)),
        f"EnvironmentFile=-{_escape(service.environment_file)}",
        f"ExecStart={' '.join(_quote(word, in_command=True) for word in command)}",
        "Restart=on-failure",
        "RestartSec=5",
        "TimeoutStopSec=60",
        "# Only the server gets SIGTERM: it ends its children itself.",
        "KillMode=mixed",
        "",
        _EVERYWHERE.rstrip("\n"),
        f"PrivateTmp={'no' if _needs(service, '/tmp', '/var/tmp') else 'yes'}",
        *((_SYSTEM_ONLY.rstrip("\n"), _protect_home(service)) if service.is_system else ()),
        *(f"ReadWritePaths={_quote(str(path))}" for path in writable),
        _NOT_SET.rstrip("\n"),
        "",
        "# One file that runs out of memory ends its child; the kernel must not take the server with it.",
        "OOMPolicy=continue",
        "TasksMax=8192",
        "LimitNOFILE=65536" if service.is_system else "LimitNOFILE=4096:65536",
        "",
        "[Install]",
        f"WantedBy={'multi-user.target' if service.is_system else 'default.target'}",
    ]
    return "\n".join(lines) + "\n"


def _protect_home(service: Service) -> str:
    """Homes cannot be seen, unless the service needs something in them; then they are read-only besides that."""
    return f"ProtectHome={'read-only' if _needs(service, '/home', '/root', '/run/user') else 'yes'}"


def _needs(service: Service, *folders: str) -> bool:
    """Whether something that the service uses is in one of these folders."""
    used = [*service.vaults, *service.writable, service.installed_in]
    return any(path.is_relative_to(folder) for path in used for folder in folders)


def _escape(path: Path) -> str:
    text = str(path)
    if "\n" in text or "\r" in text:
        raise UsageError(f"{text!r} has a line break in its name, which systemd does not take")
    return text.replace("%", "%%")


def _quote(word: str, in_command: bool = False) -> str:
    """One word of a line; `%` is for specifiers, and `$` in commands for variables."""
    text = _escape(Path(word)) if word.startswith("/") else word.replace("%", "%%")
    if in_command:
        text = text.replace("$", "$$")
    if text and all(character.isalnum() or character in "/._-+=:,@" for character in text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

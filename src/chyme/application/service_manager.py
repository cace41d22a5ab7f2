"""Puts the unit of `chyme serve` into its place, and asks systemd to run it."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chyme.application.service_unit import MARK, Service, unit_text
from chyme.application.settings import read_settings, server_folder
from chyme.core.files.vault_folder import STATE
from chyme.errors import UsageError

DEFAULT_NAME = "chyme"
SYSTEM_UNITS = Path("/etc/systemd/system")
SYSTEM_ENVIRONMENT = Path("/etc/chyme/environment")
ANSWER_SECONDS = 90.0  # systemctl waits until a service has stopped
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class ServiceState:
    """What is known about an installed service."""

    unit: str
    installed: bool
    enabled: str  # what systemctl answers; empty if it could not be asked
    active: str
    note: str = ""  # what did not work, and the way out


class ServiceManager:
    """One unit of systemd: in the user's own manager, or in that of the machine."""

    def __init__(self, name: str, system: bool, environment: Mapping[str, str]) -> None:
        """`environment` says where the user's configuration is, and how systemd is reached."""
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!r} is no name for a service; use letters, digits, '-' and '_'")
        if system and os.geteuid() != 0:
            raise UsageError("a service for the whole machine is written by root; leave out --system for your own")
        self._environment = environment
        self._system = system
        self.unit = f"{name}.service"
        self.path = (SYSTEM_UNITS if system else self._configuration() / "systemd/user") / self.unit

    def plan(
        self, vaults: Sequence[Path], host: str | None = None, port: int | None = None, run_as: str = ""
    ) -> Service:
        """What is to run. The settings of the vaults say what else it writes to."""
        roots = [vault.resolve() for vault in vaults]
        for root in roots:
            if not root.is_dir():
                raise UsageError(f"{root} is not a folder; make it first")
        user = self._owner(run_as, roots[0]) if self._system else ""
        return Service(
            program=program(),
            vaults=roots,
            writable=self._writable_folders(roots, user),
            environment_file=SYSTEM_ENVIRONMENT if self._system else self._configuration() / "chyme/environment",
            host=host,
            port=port,
            run_as=user,
            installed_in=Path(sys.prefix),
            has_home=_home_of(user) is not None,
        )

    def install(self, service: Service, start: bool) -> ServiceState:
        """Write the unit and, with `start`, run it now and at every start of the machine or sign-in."""
        self._refuse_foreign()
        text = unit_text(service)
        for folder in service.writable:
            self._make_folder(folder, service.run_as)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_suffix(".new")
        temporary.write_text(text, encoding="utf-8")
        temporary.chmod(0o644)
        os.replace(temporary, self.path)
        steps = [["daemon-reload"]] + ([["enable", self.unit], ["restart", self.unit]] if start else [])
        return self.state(self._run_all(steps))

    def uninstall(self) -> ServiceState:
        """End the service and remove its unit. Vaults, accounts and weights stay."""
        if not self.path.exists():
            raise UsageError(f"{self.path} is not there; 'chyme service status' shows what is installed")
        self._refuse_foreign()
        note = self._run_all([["disable", "--now", self.unit]])
        self.path.unlink()
        return self.state(note or self._run_all([["daemon-reload"]]))

    def state(self, note: str = "") -> ServiceState:
        """What is installed, and what systemd says about it."""
        enabled, active = (self._systemctl([question, self.unit])[1] for question in ("is-enabled", "is-active"))
        return ServiceState(str(self.path), self.path.exists(), enabled, active, note)

    def _run_all(self, steps: Sequence[Sequence[str]]) -> str:
        """Run steps until one fails. Returns what then remains to be done, or an empty string."""
        for number, step in enumerate(steps):
            code, said = self._systemctl(step)
            if code != 0:
                mode = "" if self._system else "--user "
                remaining = " && ".join(f"systemctl {mode}{' '.join(later)}" for later in steps[number:])
                return f"systemd did not do it ({said or f'systemctl ended with {code}'}); run: {remaining}"
        return ""

    def _systemctl(self, arguments: Sequence[str]) -> tuple[int, str]:
        found = shutil.which("systemctl", path=self._environment.get("PATH"))
        if found is None:
            return 127, ""
        command = [found, *([] if self._system else ["--user"]), "--no-pager", *arguments]
        try:
            done = subprocess.run(
                command,
                env=dict(self._environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=ANSWER_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return 126, str(error)
        question = arguments[0].startswith("is-")
        return done.returncode, (done.stdout if question else done.stderr).strip().partition("\n")[0]

    def _refuse_foreign(self) -> None:
        if self.path.exists() and not self.path.read_text(encoding="utf-8", errors="replace").startswith(MARK):
            raise UsageError(f"{self.path} was not made by chyme and is left as it is; choose another --name")

    def _configuration(self) -> Path:
        return self._user_folder("XDG_CONFIG_HOME", ".config")

    def _user_folder(self, variable: str, below_home: str) -> Path:
        chosen = self._environment.get(variable, "")
        return Path(chosen) if os.path.isabs(chosen) else Path.home() / below_home

    def _owner(self, run_as: str, root: Path) -> str:
        """The user of a unit for the machine: the given one, else the one the first vault belongs to; never root."""
        try:
            user = pwd.getpwnam(run_as) if run_as else pwd.getpwuid(root.stat().st_uid)
        except KeyError:
            raise UsageError(f"there is no user {run_as or root.stat().st_uid}; name one with --run-as") from None
        if user.pw_uid == 0:
            raise UsageError(f"{root} belongs to root, and the service must not run as root; name a user with --run-as")
        return user.pw_name

    def _writable_folders(self, roots: Sequence[Path], user: str) -> list[Path]:
        """What the server writes to besides the vaults: states elsewhere, accounts, weights."""
        home = _home_of(user)
        data = home / ".local/share" if user and home else self._user_folder("XDG_DATA_HOME", ".local/share")
        folders: list[Path] = [data / "chyme"] if home else []
        for root in roots:
            settings = read_settings(root / STATE, {})
            if settings.state_dir:
                folders.append(Path(settings.state_dir).expanduser().resolve())
            if settings.server_dir:
                folders.append(server_folder(settings).resolve())
        return list(dict.fromkeys(folders))

    def _make_folder(self, folder: Path, user: str) -> None:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        if user:
            owner = pwd.getpwnam(user)
            for path in missing:
                os.chown(path, owner.pw_uid, owner.pw_gid)
        if missing:
            folder.chmod(0o700)


def _home_of(user: str) -> Path | None:
    """The home of this user, or of ours if it is empty; None if there is none, as with many users of services."""
    home = Path(pwd.getpwnam(user).pw_dir) if user else Path.home()
    return home if home.is_dir() and home != Path("/") and (not user or home.stat().st_uid != 0) else None


def program() -> list[str]:
    """How chyme is started by a path that stays."""
    beside = Path(sys.executable).with_name("chyme")
    return [str(beside)] if beside.is_file() else [sys.executable, "-m", "chyme"]

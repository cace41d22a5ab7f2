"""chyme installed from its wheel, in an environment with nothing of the checkout in it."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[2]
LEFT_OUT = ("chyme", "_chyme", "_editable_impl_chyme", "nats", "pydantic_ai", "xllamacpp")  # and what extras bring


@dataclass(frozen=True)
class Installed:
    """A place where chyme was installed."""

    folder: Path

    @property
    def program(self) -> Path:
        return self.folder / "bin/chyme"

    @property
    def environment(self) -> dict[str, str]:
        """What the shell of a person has who is not online, and nothing of ours."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(("CHYME_", "PYTHON", "PIP_"))}
        home = self.folder.parent / "home"
        home.mkdir(exist_ok=True)
        offline = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
        return (
            own | offline | {"HOME": str(home), "CHYME_CRAWL": "false", "CHYME_BROWSER": "off", "CHYME_OFFICE": "off"}
        )

    def run(self, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.program, *arguments],
            cwd=self.folder.parent,
            env=self.environment | settings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Do what `make dist` does, into this folder."""
    command = ["sh", ".ci/dist", sys.executable, str(folder)]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)


def install(wheel: Path, folder: Path) -> Installed:
    """Install a wheel into a new environment, without extras. What it needs is linked from the present one."""
    venv.create(folder, symlinks=True)
    (packages,) = (folder / "lib").glob("python3*/site-packages")
    for source in map(Path, site.getsitepackages()):
        for entry in source.iterdir():
            if not entry.name.startswith(LEFT_OUT) and entry.suffix != ".pth":
                (packages / entry.name).symlink_to(entry)
    options = ("--quiet", "--no-index", "--no-deps", "--no-compile", "--disable-pip-version-check")
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", folder / "bin/python", "install", *options, wheel],
        check=True,
        env=os.environ | {"PIP_CONFIG_FILE": os.devnull},
    )
    return Installed(folder)

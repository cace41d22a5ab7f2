"""What is installed, what is missing, and how to get it."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from chyme import digesters
from chyme.engines.children.runner import isolation
from chyme.errors import VaultError
from chyme.store.database import refuse_network_file_system

MB = 1024 * 1024


@dataclass(frozen=True)
class Engine:
    """One line of `chyme doctor`."""

    capability: str
    engine: str
    ok: bool
    how: str = ""


_ENGINES = (
    ("PDF", "liteparse"),
    ("PDF, second", "pypdfium2"),
    ("office, ODF, RTF, EPUB", "firecrawl-anydoc"),
    ("PPTX, MSG", "xberg"),
    ("articles in HTML", "trafilatura"),
    ("web pages", "html-to-markdown"),
    ("kinds of file", "puremagic"),
)


def doctor(root: Path) -> list[Engine]:
    """What is installed, what is missing and how to get it; needs no vault."""
    found = [_installed(capability, package) for capability, package in _ENGINES]
    sqlite = sqlite3.sqlite_version
    good = sqlite3.sqlite_version_info >= (3, 37, 0)
    found.append(Engine("database", f"SQLite {sqlite}", good, "" if good else "SQLite 3.37 or newer is needed"))
    apart = isolation()
    found.append(
        Engine("children without network", apart.how, apart.network_off, "" if apart.network_off else _NO_NAMESPACE)
    )
    found.append(Engine("children's user", apart.user, bool(apart.user)))
    try:
        refuse_network_file_system(root)
        found.append(Engine("disk", f"{shutil.disk_usage(root).free // MB:,} MB free at {root}", True))
    except (VaultError, OSError) as error:
        found.append(Engine("disk", str(root), False, str(error)))
    found += [Engine("plug-in", "not loaded", False, problem) for problem in digesters.load({}).problems]
    return found


_NO_NAMESPACE = "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1), or run as root"


def _installed(capability: str, package: str) -> Engine:
    try:
        return Engine(capability, f"{package} {version(package)}", True)
    except PackageNotFoundError:
        return Engine(capability, package, False, f"pip install {package}")

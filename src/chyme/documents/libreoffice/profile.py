"""The folder of a LibreOffice process: its profile, the current document, and nothing that outlives us."""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import suppress
from pathlib import Path

from chyme.core.files.temporary_folder import TEMPORARY, TemporaryFolder, recreate_folder

PREFIX = "chyme-office-"

_SETTINGS = (
    ("Office.Common/Security/Scripting", "MacroSecurityLevel", "3"),
    ("Office.Common/Security/Scripting", "DisableMacrosExecution", "true"),
    ("Office.Common/Security/Scripting", "BlockUntrustedRefererLinks", "true"),  # pictures and objects by address
    ("Office.Common/Security/Scripting", "DisableActiveContent", "true"),  # since 24.2
    ("Office.Common/Misc", "FirstRun", "false"),
    ("Office.Common/Misc", "UseLocking", "false"),
    ("Office.Common/Misc", "UseDocumentOOoLockFile", "false"),
    ("Office.Common/Misc", "UseDocumentSystemFileLocking", "false"),
    ("Office.Common/Misc", "UseOpenCL", "false"),
    ("Office.Common/Misc", "CrashReport", "false"),
    ("Office.Common/History", "PickListSize", "0"),
    ("Office.Common/Cache/GraphicManager", "TotalCacheSize", "50000000"),
    ("Office.Calc/Content/Update", "Link", "1"),  # never
    ("Office.Writer/Content/Update", "Link", "0"),  # never
    ("Office.Calc/Formula/Load", "OOXMLRecalcMode", "1"),  # never: the saved values are shown
    ("Office.Calc/Formula/Load", "ODFRecalcMode", "1"),
    # By itself LibreOffice gives authors of tracked changes colours in the order in which it meets them.
    ("Office.Writer/Revision/TextDisplay/Insert", "Color", str(0x1F6FB2)),
    ("Office.Writer/Revision/TextDisplay/Delete", "Color", str(0xB2361F)),
    ("Office.Writer/Revision/TextDisplay/ChangedAttribute", "Color", str(0x1F6FB2)),
    ("Office.Java/VirtualMachine", "Enable", "false"),
    ("Office.Recovery/AutoSave", "Enabled", "false"),
    ("Office.Recovery/RecoveryInfo", "Enabled", "false"),
    ("Setup/Office", "ooSetupInstCompleted", "true"),
    ("Inet/Settings", "ooInetProxyType", "1"),
    ("Inet/Settings", "ooInetHTTPProxyName", "127.0.0.1"),  # port 9 does not answer
    ("Inet/Settings", "ooInetHTTPProxyPort", "9"),
    ("Inet/Settings", "ooInetHTTPSProxyName", "127.0.0.1"),
    ("Inet/Settings", "ooInetHTTPSProxyPort", "9"),
)


class OfficeProfile:
    """One process's folder: `profile`, `desk` for the document, `tmp` for LibreOffice's own files.

    LibreOffice ends and wants to be started again when a profile does not name its own build, to look for extensions of
    another one. With `build` in the profile it starts only once.
    """

    def __init__(self, build: str = "") -> None:
        self._build = build
        self._folder = TemporaryFolder(PREFIX, lambda folder: _pipes(folder / "profile"))
        self.path = self._folder.path
        self.profile = self.path / "profile"
        self.document_folder = self.path / "desk"
        self.temporary = self.path / "tmp"
        self.pipes = _pipes(self.profile)
        try:
            self.reset()
        except OSError:
            self.remove()
            raise

    def reset(self) -> None:
        """Recreate everything, without a trace of earlier documents."""
        for path in (self.profile, self.document_folder, self.temporary):
            recreate_folder(path)
        user = self.profile / "user"
        user.mkdir(mode=0o700)
        (user / "registrymodifications.xcu").write_text(_registry(), encoding="utf-8")
        if self._build:
            (user / "extensions").mkdir(mode=0o700)
            (user / "extensions" / "buildid").write_text(self._build, encoding="utf-8")
        self.delete_pipes()

    def restrict_pipe_access(self) -> None:
        """For a user without a name, LibreOffice lets everyone in."""
        for pipe in self.pipes:
            with suppress(OSError):
                pipe.chmod(0o600)

    def delete_pipes(self) -> None:
        """A socket that a killed process left would be taken for one that answers."""
        for pipe in self.pipes:
            with suppress(OSError):
                pipe.unlink(missing_ok=True)

    def clear_document_folder(self) -> None:
        for path in self.document_folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def remove(self) -> None:
        self._folder.remove()


def _pipes(profile: Path) -> tuple[Path, ...]:
    """Where LibreOffice may listen for this profile; for a user without a name it leaves the number out."""
    digest = hashlib.md5(profile.as_uri().encode("utf-16-le"), usedforsecurity=False).digest()
    name = f"SingleOfficeIPC_{''.join(f'{byte:x}' for byte in digest)}"
    return tuple(Path(folder, f"OSL_PIPE_{user}{name}") for folder in TEMPORARY for user in (f"{os.getuid()}_", ""))


def _registry() -> str:
    items = "\n".join(
        f'<item oor:path="/org.openoffice.{path}"><prop oor:name="{name}" oor:op="fuse">'
        f"<value>{value}</value></prop></item>"
        for path, name, value in _SETTINGS
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema" '
        f'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">\n{items}\n</oor:items>\n'
    )

"""Several vaults in one server: how they are named, and what is refused."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from chyme.application.app import App
from chyme.application.server_vaults import address_name, open_server_vaults
from chyme.application.settings import Settings, server_folder
from chyme.errors import VaultError
from chyme.vault.watch.pending_files import ScanReport


def make_folders(root: Path, *names: str) -> list[Path]:
    made = [root / name for name in names]
    for folder in made:
        folder.mkdir(parents=True)
    return made


def malformed() -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError("database disk image is malformed")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def test_vaults_are_named_after_their_folders_and_a_number_makes_names_unique(tmp_path: Path) -> None:
    with open_server_vaults(
        make_folders(tmp_path, "a/photos", "b/photos", "c/Käse & Brot", "d/写真", "e/Фото")
    ) as house:
        assert list(house.vaults) == ["photos", "photos-2", "Kase-Brot", "vault", "vault-2"]
        assert len(set(house.identities.values())) == 5


@pytest.mark.parametrize("folder", ["..", "a/b?c#d", "<script>", "%2e", "-", "a b\n"])
def test_a_name_is_safe_in_an_address(folder: str) -> None:
    name = address_name(folder)
    assert (
        name
        and all(character.isascii() and (character.isalnum() or character in "._-") for character in name)
        and name[0] != "."
    )


def test_a_vault_is_served_once(tmp_path: Path) -> None:
    (photos,) = make_folders(tmp_path, "photos")
    with pytest.raises(VaultError, match="twice"), open_server_vaults([photos, tmp_path / "photos/../photos"]):
        pass


def test_a_copy_of_a_vault_is_refused_because_it_would_share_the_rights_of_its_original(tmp_path: Path) -> None:
    (photos,) = make_folders(tmp_path, "photos")
    with open_server_vaults([photos]):
        pass
    shutil.copytree(photos, tmp_path / "copy")
    with pytest.raises(VaultError, match="is a copy of"), open_server_vaults([photos, tmp_path / "copy"]):
        pass


def test_accounts_are_stored_in_the_users_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", "relative/is/ignored")
    assert server_folder(Settings()) == tmp_path / ".local/share/chyme"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert server_folder(Settings()) == tmp_path / "data/chyme"
    assert server_folder(Settings(server_dir="~/mine")) == tmp_path / "mine"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (malformed(), []),  # it is logged, and the pages show it
        (sqlite3.OperationalError("disk I/O error"), ["could not be scanned"]),
        (VaultError("somewhere: is not a folder"), ["could not be scanned"]),
    ],
)
def test_a_failed_first_scan_reports_why_and_damage_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, said: list[str]
) -> None:
    def scan(_app: App) -> ScanReport:
        raise error

    monkeypatch.setattr(App, "scan", scan)
    messages: list[str] = []
    with open_server_vaults(make_folders(tmp_path, "notes")) as house:
        house.start(messages.append)
        for scan_thread in house.scans:
            scan_thread.join()
    assert [part for line in messages for part in said if part in line] == said and len(messages) == len(said)


def test_a_first_scan_ends_before_its_vault_is_closed(tmp_path: Path) -> None:
    (notes,) = make_folders(tmp_path, "notes")
    for number in range(2000):
        (notes / f"{number}.txt").write_text(f"note {number}")
        os.utime(notes / f"{number}.txt", (1, 1))
    messages: list[str] = []
    with open_server_vaults([notes]) as house:
        house.start(messages.append)
    assert not any(scan.is_alive() for scan in house.scans)
    assert messages == []

"""A vault that was copied, moved or restored, and engines that have its former state."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from contract_vault import ContractVault
from engine_clients import engines_of, pusher_of
from engine_servers import KEY, Server

from chyme.search.engines.consistency_check import check
from chyme.search.engines.meilisearch import Meilisearch
from chyme.search.engines.remote_index import RemoteIndex
from chyme.search.engines.vault_engines import VaultEngines, vault_name
from chyme.search.sqlite_index import SqliteIndex
from chyme.search.tables import engine_outbox

pytestmark = pytest.mark.slow

Opens = Callable[[Path], tuple[ContractVault, VaultEngines]]


@pytest.fixture
def opened(servers: Mapping[str, Server]) -> Iterator[Opens]:
    """Return a function that opens the vault in a folder, as a starting process does."""
    all_opened: list[tuple[ContractVault, VaultEngines]] = []

    def open_(folder: Path) -> tuple[ContractVault, VaultEngines]:
        vault = ContractVault(folder)
        all_opened.append((vault, engines_of(vault, servers)))
        return all_opened[-1]

    yield open_
    for vault, engines in all_opened:
        engines.clear()
        engines.close()
        vault.database.close()


def fill(vault: ContractVault, *names: str) -> None:
    model = vault.embedder("tiny", 2)
    for name in names:
        vault.embed(vault.put(f"{name}.txt", f"an {name}"), model, [(1.0, 0.0)])


def found(vault: ContractVault, engines: VaultEngines, word: str) -> list[str]:
    return vault.found(RemoteIndex(vault.database.read, SqliteIndex(vault.database.read), engines), word)


def back_up(vault: ContractVault, to: Path) -> Path:
    vault.database.checkpoint()
    return Path(shutil.copy(vault.database.path, to))


def replace(database: Path, backup: Path) -> None:
    """Restore the backup as a new file."""
    fresh = Path(shutil.copy(backup, database.with_name("fresh.db")))
    _forget_log(database)
    fresh.replace(database)


def overwrite(database: Path, backup: Path) -> None:
    """Restore the backup into the existing file."""
    before = database.stat().st_ino
    _forget_log(database)
    shutil.copyfile(backup, database)
    assert database.stat().st_ino == before


def _forget_log(database: Path) -> None:
    for name in ("vault.db-wal", "vault.db-shm"):
        database.with_name(name).unlink(missing_ok=True)


@pytest.mark.parametrize("does", ["purges", "rebuilds", "lets go of the engines and comes back"])
def test_actions_of_a_copy_do_not_affect_the_original(tmp_path: Path, opened: Opens, does: str) -> None:
    original, engines = opened(tmp_path / "original")
    fill(original, "owl", "kite")
    pusher_of(original, engines).push_all()
    original.database.checkpoint()
    shutil.copytree(tmp_path / "original", tmp_path / "copy")

    copy, of_copy = opened(tmp_path / "copy")
    assert found(copy, of_copy, "owl") == ["owl.txt"], "not found before its first push"
    if does == "purges":
        copy.purge(1)
        pusher_of(copy, of_copy).push_all()
    elif does == "rebuilds":
        pusher_of(copy, of_copy).rebuild()
    else:
        copy.database.write(engine_outbox.deactivate)
        pusher_of(copy, of_copy).push_all()

    assert check(copy.database, of_copy) == []
    assert check(original.database, engines) == []
    original.purge(2)
    pusher_of(original, engines).push_all()
    assert found(original, engines, "owl") == ["owl.txt"]
    assert found(copy, of_copy, "kite") == ["kite.txt"]
    assert check(copy.database, of_copy) == check(original.database, engines) == []


def test_a_vault_that_is_moved_is_not_pushed_again(tmp_path: Path, opened: Opens) -> None:
    vault, engines = opened(tmp_path / "here")
    fill(vault, "owl")
    pusher_of(vault, engines).push_all()
    vault.database.close()

    (tmp_path / "here").rename(tmp_path / "there")
    moved, of_moved = opened(tmp_path / "there")

    assert of_moved.vault == engines.vault
    assert pusher_of(moved, of_moved).push_all() == 0
    backup = back_up(moved, tmp_path / "backup.db")
    moved.database.close()
    replace(moved.database.path, backup)
    restored, of_restored = opened(tmp_path / "there")
    assert of_restored.vault == engines.vault, "it is not recognised at its new place"
    assert pusher_of(restored, of_restored).push_all() == 0
    assert check(restored.database, of_restored) == []


@pytest.mark.parametrize("goes_on", [False, True], ids=["at once", "after much else"])
@pytest.mark.parametrize("restore", [replace, overwrite])
def test_engines_that_know_more_than_a_restored_vault_are_filled_again(
    tmp_path: Path, opened: Opens, restore: Callable[[Path, Path], None], goes_on: bool
) -> None:
    vault, engines = opened(tmp_path / "vault")
    fill(vault, "owl", "kite")
    pusher_of(vault, engines).push_all()
    backup = back_up(vault, tmp_path / "backup.db")
    fill(vault, "owl", "stork")  # the same file again gets other ids
    vault.purge(2)
    pusher_of(vault, engines).push_all()
    vault.database.close()

    restore(vault.database.path, backup)
    restored, same = opened(tmp_path / "vault")
    if goes_on:
        fill(restored, *(f"crane{number}" for number in range(30)))
    pusher_of(restored, same).push_all()

    assert same.vault == engines.vault
    assert check(restored.database, same) == []
    assert found(restored, same, "owl kite stork") == ["owl.txt", "kite.txt"]
    assert pusher_of(restored, same).push_all() == 0


def test_a_backup_made_during_a_push_contains_all_that_was_pushed(
    tmp_path: Path, opened: Opens, servers: Mapping[str, Server]
) -> None:
    vault, engines = opened(tmp_path / "vault")
    fill(vault, "owl")
    pusher_of(vault, engines).push_all()
    backups: list[Path] = []

    class Watched(Meilisearch):
        def put(self, index: str, documents: Sequence[Mapping[str, object]]) -> int:
            if index == engines.sync_index and backups:
                raise KeyboardInterrupt
            if index == engines.sync_index:
                backups.append(back_up(vault, tmp_path / "backup.db"))
                changed = vault.put("owl.txt", "another owl")  # unchanged files are not sent again
                vault.embed(changed, vault.embedder("tiny", 2), [(0.0, 1.0)])
            return super().put(index, documents)

    fill(vault, "kite")
    watched = VaultEngines(Watched(servers["meilisearch"].url, KEY), engines.meaning, engines.vault)
    with pytest.raises(KeyboardInterrupt):
        pusher_of(vault, watched).push_all()
    watched.words.close()
    vault.database.close()
    replace(vault.database.path, backups[0])
    restored, same = opened(tmp_path / "vault")

    assert pusher_of(restored, same).push_all() == 1, "it must know the engines' number, and what is left to send"
    assert check(restored.database, same) == []


def test_a_pusher_that_dies_before_sending_need_not_send_everything_again(
    tmp_path: Path, opened: Opens, servers: Mapping[str, Server]
) -> None:
    vault, engines = opened(tmp_path / "vault")
    fill(vault, "owl")
    pusher_of(vault, engines).push_all()
    fill(vault, "kite")

    class Dying(Meilisearch):
        def put(self, index: str, documents: Sequence[Mapping[str, object]]) -> int:
            raise KeyboardInterrupt

    dying = VaultEngines(Dying(servers["meilisearch"].url, KEY), engines.meaning, engines.vault)
    with pytest.raises(KeyboardInterrupt):
        pusher_of(vault, dying).push_all()
    dying.words.close()

    assert pusher_of(vault, engines).push_all() == 1


def test_a_restored_vault_that_dies_while_it_clears_its_engines_begins_again(tmp_path: Path, opened: Opens) -> None:
    vault, engines = opened(tmp_path / "vault")
    fill(vault, "owl")
    pusher_of(vault, engines).push_all()
    backup = back_up(vault, tmp_path / "backup.db")
    fill(vault, "owl", "stork")
    pusher_of(vault, engines).push_all()
    vault.database.close()
    replace(vault.database.path, backup)
    restored, same = opened(tmp_path / "vault")

    class Dying(VaultEngines):
        def clear(self) -> None:
            self.words.delete_index(self.sync_index)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pusher_of(restored, Dying(same.words, same.meaning, same.vault)).push_all()
    assert found(restored, same, "owl stork") == ["owl.txt"], "engines with another state were asked"
    pusher_of(restored, same).push_all()

    assert check(restored.database, same) == []


def test_an_empty_vault_is_pushed_once(tmp_path: Path, opened: Opens) -> None:
    vault, engines = opened(tmp_path / "vault")
    pusher_of(vault, engines).push_all()
    before = vault.database.read().execute("SELECT sequence FROM outbox_state").fetchone()

    pusher_of(vault, engines).push_all()

    assert vault.database.read().execute("SELECT sequence FROM outbox_state").fetchone() == before


def test_a_name_belongs_to_one_database(tmp_path: Path) -> None:
    vault = ContractVault(tmp_path / "vault")
    name = vault_name(vault.database)
    assert vault_name(vault.database) == name
    vault.database.close()
    os.link(tmp_path / "vault" / "vault.db", tmp_path / "kept")  # otherwise the copy may get its inode number
    shutil.copytree(tmp_path / "vault", tmp_path / "copy")

    copy = ContractVault(tmp_path / "copy")

    assert vault_name(copy.database) != name
    assert vault_name(copy.database) == vault_name(copy.database)
    copy.database.close()

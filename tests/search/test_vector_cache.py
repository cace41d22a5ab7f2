"""The cache of vectors is up to date, shared, disposable, and never used for another database."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from sqlite3 import Connection

import pytest
from vector_vault import EVERYTHING, SMALL, VectorVault, ids

from chyme.core.store import vault_properties
from chyme.core.store.sqlite.database import connect
from chyme.search.tables import embedders, vectors
from chyme.search.tables.embedders import Embedder
from chyme.search.vectors.cache import VectorCache
from chyme.search.vectors.embedder_vectors import SizeLimits
from chyme.search.vectors.segment import DamagedSegment, Label, Span, open_segment
from chyme.search.vectors.segment_folder import select_covering, select_merge

pytestmark = pytest.mark.slow  # each takes little time, but there are many


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[VectorVault]:
    vault = VectorVault(tmp_path)
    yield vault
    vault.db.close()


def files(vault: VectorVault, ending: str = ".vectors") -> list[Path]:
    return sorted((vault.folder / "vectors").rglob(f"*{ending}"))


def assert_right(vault: VectorVault, cache: VectorCache, embedder: Embedder) -> None:
    """Check that the cache finds all vectors of the database in the right order; removed ones may remain in it."""
    target = vault.vector(embedder.dimension)
    expected = ids(vault.by_hand(target, embedder, 10_000))
    existing = set(expected)
    assert [id_ for id_ in ids(cache.nearest(target, embedder, 10_000)) if id_ in existing] == expected


def build(vault: VectorVault, embedder: Embedder, count: int = 100) -> None:
    """Store vectors, and write all but a few of them to files."""
    vault.fill(embedder, count)
    cache = vault.cache()
    cache.refresh(embedder)
    cache.compact()
    cache.close()


def test_few_new_vectors_stay_in_memory_and_more_become_a_file(vault: VectorVault) -> None:
    embedder, cache = vault.embedder(), vault.cache()
    vault.fill(embedder, SMALL.tail - 1)
    cache.refresh(embedder)
    cache.compact()
    assert files(vault) == []
    vault.fill(embedder, 1)
    cache.refresh(embedder)
    cache.compact()
    assert [path.name for path in files(vault)] == [f"0-{SMALL.tail}.vectors"]
    assert_right(vault, cache, embedder)


def test_small_files_become_larger_ones_and_nothing_is_lost_on_the_way(vault: VectorVault) -> None:
    embedder, cache = vault.embedder(), vault.cache()
    for step in range(1, 41):
        vault.fill(embedder, 5)
        cache.refresh(embedder)
        cache.compact()
        assert cache.count(embedder) == 5 * step
        assert_right(vault, cache, embedder)
    assert len(files(vault)) <= 6
    assert max(path.stat().st_size for path in files(vault)) < 4 * 4096 + SMALL.max_file * 70 * 4


def test_vectors_on_disk_are_not_read_from_the_database_again(vault: VectorVault) -> None:
    embedder = vault.embedder()
    build(vault, embedder, 103)
    statements: list[str] = []
    vault.db.set_trace_callback(statements.append)
    cache = vault.cache()
    cache.refresh(embedder)
    vault.db.set_trace_callback(None)
    limits = sum(int(statement.rsplit("LIMIT", 1)[1]) for statement in statements if "vectors.vector" in statement)
    assert limits < 103
    assert_right(vault, cache, embedder)


def test_a_refresh_with_nothing_new_takes_one_small_query(vault: VectorVault) -> None:
    embedder, cache = vault.embedder(), vault.cache()
    vault.fill(embedder, 50)
    cache.refresh(embedder)
    statements: list[str] = []
    vault.db.set_trace_callback(statements.append)
    cache.refresh(embedder)
    vault.db.set_trace_callback(None)
    assert [statement.split()[:2] for statement in statements] == [["SELECT", "max(id)"]]


def cut_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 100)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def altered_id(path: Path) -> None:
    _invert_byte(path, 4096)


def altered_count(path: Path) -> None:
    _invert_byte(path, path.read_bytes().index(b'"count": ') + len(b'"count": '))


def other_format(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data.replace(b"chyme vectors 1\n", b"chyme vectors 0\n", 1))


def nonsense(path: Path) -> None:
    path.write_bytes(os.urandom(5000))


def another_name(path: Path) -> None:
    path.rename(path.with_name("0-100000.vectors"))


def removed(path: Path) -> None:
    path.unlink()


def _invert_byte(path: Path, at: int) -> None:
    with path.open("r+b") as stream:
        stream.seek(at)
        byte = stream.read(1)[0]
        stream.seek(at)
        stream.write(bytes([byte ^ 255]))


@pytest.mark.parametrize(
    "damage", [cut_short, emptied, altered_id, altered_count, other_format, nonsense, another_name, removed]
)
@pytest.mark.parametrize("which", [0, 1, -1])
def test_a_damaged_file_is_made_again(vault: VectorVault, damage: Callable[[Path], None], which: int) -> None:
    embedder = vault.embedder()
    build(vault, embedder, 220)
    assert len(files(vault)) >= 3
    damage(files(vault)[which])
    cache = vault.cache()
    assert_right(vault, cache, embedder)
    cache.compact()
    assert_right(vault, vault.cache(), embedder)
    assert cache.count(embedder) == 220


def test_a_file_of_another_embedder_is_not_used(vault: VectorVault) -> None:
    first, second = vault.embedder("one"), vault.embedder("two")
    build(vault, first, 40)
    build(vault, second, 40)
    folders = sorted((vault.folder / "vectors").iterdir())
    for path in folders[0].glob("*.vectors"):
        shutil.copy(path, folders[1])
    for embedder in (first, second):
        assert_right(vault, vault.cache(), embedder)


def test_a_file_has_a_label_and_cannot_be_opened_with_another(vault: VectorVault) -> None:
    embedder = vault.embedder("one", 70)
    build(vault, embedder, 40)
    label = Label("one", embedder.id, "one", 70)
    open_segment(files(vault)[0], label)
    for other in (Label("two", 1, "one", 70), Label("one", 2, "one", 70), Label("one", 1, "two", 70)):
        with pytest.raises(DamagedSegment, match="other vectors"):
            open_segment(files(vault)[0], other)


def test_another_database_in_its_place_is_noticed(vault: VectorVault, tmp_path: Path) -> None:
    embedder = vault.embedder()
    build(vault, embedder, 60)
    (tmp_path / "elsewhere").mkdir()
    other = VectorVault(tmp_path / "elsewhere", "two")
    other.folder = vault.folder
    same = other.embedder()
    other.fill(same, 80)
    cache = other.cache()
    assert_right(other, cache, same)
    assert cache.count(same) == 80
    cache.compact()
    assert len(list((vault.folder / "vectors").iterdir())) == 1
    other.db.close()


@pytest.mark.parametrize("later", [0, 5, 40, 400])
def test_an_older_copy_of_the_database_in_its_place_is_noticed(vault: VectorVault, later: int) -> None:
    """Ids that were assigned after the copy are assigned again, to other vectors."""
    embedder = vault.embedder()
    build(vault, embedder, 100)
    vault.db.execute("VACUUM INTO ?", (str(vault.folder / "copy.db"),))
    build(vault, embedder, 64)
    vault.db.close()
    for path in vault.folder.glob("vault.db*"):
        path.unlink()
    (vault.folder / "copy.db").rename(vault.path)
    vault.db = connect(vault.path)
    vault.fill(embedder, later)
    cache = vault.cache()
    assert_right(vault, cache, embedder)
    assert cache.count(embedder) == 100 + later
    vault.fill(embedder, 70)
    cache.refresh(embedder)
    cache.compact()
    assert_right(vault, vault.cache(), embedder)


def test_a_database_without_an_identity_is_recognised_by_its_content(vault: VectorVault) -> None:
    vault_properties.remove(vault.db, "identity")
    embedder = vault.embedder()
    build(vault, embedder, 100)
    vault.db.execute("DELETE FROM semantic_passages")
    vault.db.execute("UPDATE sqlite_sequence SET seq = 0 WHERE name = 'semantic_passages'")
    vault.fill(embedder, 150)
    cache = vault.cache()
    assert_right(vault, cache, embedder)
    assert cache.count(embedder) == 150


def test_vectors_that_are_gone_leave_the_files_when_they_are_many(vault: VectorVault) -> None:
    embedder, cache = vault.embedder(), vault.cache()
    file_ids = vault.fill(embedder, 120)
    cache.refresh(embedder)
    cache.compact()
    for file_id in file_ids[:20]:
        vault.remove(file_id)
    cache.compact()
    assert cache.count(embedder) == 120
    for file_id in file_ids[20:50]:
        vault.remove(file_id)
    cache.compact()
    assert cache.count(embedder) == 70
    assert_right(vault, cache, embedder)
    for file_id in file_ids[50:]:
        vault.remove(file_id)
    vault.fill(embedder, 10)
    cache.refresh(embedder)
    cache.compact()
    assert cache.count(embedder) == 10
    assert_right(vault, vault.cache(), embedder)


def test_an_embedder_that_was_swept_leaves_no_files(vault: VectorVault) -> None:
    first, second = vault.embedder("one"), vault.embedder("two")
    build(vault, first, 40)
    build(vault, second, 40)
    while embedders.sweep(vault.db, []):
        pass
    cache = vault.cache()
    cache.refresh(first)
    cache.compact()
    assert {path.parent.name.split("-")[0] for path in files(vault)} == {str(first.id)}


def test_files_that_another_process_wrote_are_used(vault: VectorVault) -> None:
    embedder = vault.embedder()
    first, second = vault.cache(), vault.cache()
    for _ in range(10):
        vault.fill(embedder, 7)
        first.refresh(embedder)
        vault.fill(embedder, 6)
        second.refresh(embedder)
        second.compact()
        assert_right(vault, first, embedder)
        first.compact()
        assert_right(vault, first, embedder)
        assert_right(vault, second, embedder)
    assert first.count(embedder) == second.count(embedder) == 130
    assert len(files(vault)) <= 7


def test_each_vector_counts_once_in_overlapping_files_of_two_writers(vault: VectorVault) -> None:
    embedder = vault.embedder()
    vault.fill(embedder, 66)
    for name, chunk in (("vectors", 10), ("elsewhere", 14)):
        amounts = SizeLimits(chunk, chunk, 9, 99)
        VectorCache(vault.folder / name, vault.read, amounts=amounts, at_once=None, tended=False).refresh(embedder)
    for path in (vault.folder / "elsewhere").rglob("*.vectors"):
        shutil.copy(path, files(vault)[0].parent)
    cache = vault.cache()
    assert_right(vault, cache, embedder)
    assert cache.count(embedder) == 66
    cache.compact()
    assert_right(vault, vault.cache(), embedder)


def test_files_removed_while_they_are_in_use_are_made_again(vault: VectorVault) -> None:
    embedder, cache = vault.embedder(), vault.cache()
    vault.fill(embedder, 100)
    cache.refresh(embedder)
    cache.compact()
    shutil.rmtree(vault.folder / "vectors")
    assert_right(vault, cache, embedder)
    vault.fill(embedder, 20)
    cache.refresh(embedder)
    cache.compact()
    assert_right(vault, cache, embedder)
    cache.compact()
    assert cache.count(embedder) == 120
    assert files(vault)
    assert_right(vault, vault.cache(), embedder)


def test_a_part_of_the_vectors_is_in_memory_when_nothing_can_be_written(vault: VectorVault) -> None:
    embedder = vault.embedder()
    vault.fill(embedder, 2 * SMALL.chunk)
    (vault.folder / "vectors").write_text("no folder")
    cache = vault.cache()
    assert not cache.refresh(embedder)
    assert cache.count(embedder) == SMALL.chunk
    assert "files may be missing" in (vault.meaning(cache).meaning_note(embedder) or "")


WRITE_AND_DIE = """
import os, signal, sys
from pathlib import Path
from sqlite3 import Connection
from chyme.search.vectors.embedder_vectors import SizeLimits, EmbedderVectors
from chyme.search.vectors.segment import Label
from chyme.search.vectors.segment_folder import SegmentFolder
from chyme.search.tables import embedders
from chyme.core.store.sqlite.database import connect

folder, left = Path(sys.argv[1]), int(sys.argv[2])

def die_in_time():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return False

db = connect(folder.parents[1] / "vault.db")
(embedder,) = embedders.list_all(db)
shelf = SegmentFolder(folder, Label("one", embedder.id, embedder.model, embedder.dimension))
stored = EmbedderVectors(shelf, lambda: db, embedder, SizeLimits(tail=8, chunk=1000, fan=2, max_file=1000))
stored.refresh(None)
stored.compact(die_in_time)
"""


@pytest.mark.parametrize("after", [1, 3, 8, 9, 12, 15])
def test_a_process_killed_while_it_writes_leaves_a_usable_cache(vault: VectorVault, after: int) -> None:
    embedder = vault.embedder()
    unjoined = vault.cache(SizeLimits(8, 8, 99, 1000))
    vault.fill(embedder, 60)
    unjoined.refresh(embedder)
    vault.fill(embedder, 60)
    folder = files(vault)[0].parent
    killed = subprocess.run(
        [sys.executable, "-c", WRITE_AND_DIE, str(folder), str(after)], capture_output=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert len(files(vault, ".unfinished")) == 1
    cache = vault.cache()
    assert_right(vault, cache, embedder)
    cache.compact()
    assert files(vault, ".unfinished") == []
    assert_right(vault, vault.cache(), embedder)
    assert cache.count(embedder) == 120


def test_threads_search_while_another_writes_and_files_come_and_go(vault: VectorVault) -> None:
    """A search finds everything that was there when it began."""
    embedder = vault.embedder()
    local = threading.local()
    opened: list[Connection] = []

    def read() -> Connection:
        db: Connection | None = getattr(local, "db", None)
        if db is None:
            db = local.db = connect(vault.path)
            opened.append(db)
        return db

    cache = VectorCache(vault.folder / "vectors", read, at_once=None, amounts=SMALL)
    targets = [vault.vector() for _ in range(120)]
    written: list[int] = []
    wrong: list[str] = []
    done = threading.Event()

    def search(seed: int) -> None:
        at = seed
        while not done.is_set():
            at = (at * 31 + 7) % max(1, len(written))
            if not written:
                continue
            try:
                found = cache.nearest(targets[at], embedder, 1)
            except Exception as error:
                wrong.append(repr(error))
                return
            if found[0][0] != written[at] or found[0][1] < 0.999:
                wrong.append(f"{found} instead of {written[at]}")

    searching = [threading.Thread(target=search, args=(number,)) for number in range(4)]
    for thread in searching:
        thread.start()
    for target in targets:
        vault.put(embedder, [target, vault.vector(), vault.vector()])
        written.append(vectors.highest_id(vault.db, embedder.id) - 2)
    done.set()
    for thread in searching:
        thread.join()
    cache.close()
    for db in opened:
        db.close()
    assert wrong == []
    assert_right(vault, vault.cache(), embedder)


def test_a_large_backlog_is_read_in_the_background(vault: VectorVault) -> None:
    embedder = vault.embedder()
    vault.fill(embedder, 200)
    vault.db.close()
    vault.db = connect(vault.path)
    cache = vault.cache(at_once=16, tended=True)
    assert not cache.refresh(embedder)
    assert "files may be missing" in (vault.meaning(vault.cache()).meaning_note(embedder) or "")  # nothing read so far
    waited = threading.Event()
    for _ in range(6000):
        if cache.count(embedder) == 200:
            break
        waited.wait(0.01)
    cache.close()
    assert_right(vault, cache, embedder)
    assert cache.count(embedder) == 200
    assert vault.meaning(cache).meaning_note(embedder) is None


def test_a_search_that_finds_many_removed_vectors_starts_a_cleanup(vault: VectorVault) -> None:
    embedder = vault.embedder()
    build(vault, embedder, 64)
    cache = vault.cache(tended=True)
    meaning = vault.meaning(cache)
    meaning.find_by_meaning(vault.vector(), embedder, EVERYTHING, 64)
    vault.db.close()
    vault.db = connect(vault.path)
    for file_id in range(1, 41):
        vault.remove(file_id)
    meaning.find_by_meaning(vault.vector(), embedder, EVERYTHING, 64)
    waited = threading.Event()
    for _ in range(6000):
        if cache.count(embedder) == 24:
            break
        waited.wait(0.01)
    cache.close()
    assert cache.count(embedder) == 24


def test_closing_ends_the_thread(vault: VectorVault) -> None:
    embedder = vault.embedder()
    vault.fill(embedder, 50)
    vault.db.close()
    vault.db = connect(vault.path)
    cache = vault.cache(tended=True)
    cache.refresh(embedder)
    assert any(thread.name == "vectors" for thread in threading.enumerate())
    cache.close()
    assert not any(thread.name == "vectors" for thread in threading.enumerate())


@pytest.mark.parametrize(
    ("spans", "chosen"),
    [
        ([], []),
        ([(0, 5), (5, 9)], [(0, 5), (5, 9)]),
        ([(0, 5), (5, 9), (0, 9)], [(0, 9)]),
        ([(0, 5), (6, 9)], [(0, 5)]),
        ([(1, 9)], []),
        ([(0, 5), (3, 9), (4, 8), (9, 12)], [(0, 5), (3, 9), (9, 12)]),
    ],
)
def test_a_cover_has_no_gap(spans: list[tuple[int, int]], chosen: list[tuple[int, int]]) -> None:
    assert select_covering(Span(*span) for span in spans) == [Span(*span) for span in chosen]


@pytest.mark.parametrize(
    ("counts", "joined"),
    [
        ([], None),
        ([10, 10, 10], None),
        ([10, 10, 10, 10], slice(0, 4)),
        ([900, 10, 12, 0, 11], slice(1, 5)),
        ([160, 10, 160, 160, 10], None),
        ([160, 40, 10, 10], None),
        ([10, 160, 160, 10, 160, 170, 10], slice(1, 6)),
        ([600, 600, 600, 600], None),
        ([300, 300, 300, 300], None),
        ([200, 200, 200, 200, 200, 200], slice(0, 5)),
    ],
)
def test_neighbours_of_one_size_are_joined(counts: list[int], joined: slice | None) -> None:
    assert select_merge(counts, unit=10, fan=4, max_size=1000) == joined


def test_joining_copies_each_vector_a_few_times_only() -> None:
    counts: list[int] = []
    copied = 0
    for _ in range(1000):
        counts.append(10)
        while joined := select_merge(counts, unit=10, fan=4, max_size=10**9):
            copied += sum(counts[joined])
            counts[joined] = [sum(counts[joined])]
    assert copied <= 10_000 * 6
    assert len(counts) <= 3 * 6

"""Which vanished file is the origin of a new path."""

from __future__ import annotations

from chyme.model import File, Kind, Seen, Stamp
from chyme.vault.moved_files import displaced_path, find_origin

HERE = Stamp("1", "10", 5, 100)


def vanished_file(
    path: str, *, hash_: str = "h", stamp: Stamp = HERE, made: str = "2026-01-01", file_id: int = 1
) -> File:
    name = path.rpartition("/")[2]
    return File(file_id, path, name, Kind.TEXT, "text/plain", stamp, hash_, 1, created_at=made)


def seen_file(path: str, *, hash_: str = "h", stamp: Stamp = HERE) -> Seen:
    return Seen(path, False, Kind.TEXT, "text/plain", stamp, hash_)


def test_without_vanished_files_there_is_no_origin() -> None:
    assert find_origin(seen_file("a"), []) is None


def test_same_inode_size_and_time_is_the_same_file() -> None:
    old = vanished_file("a", hash_="unknown yet")
    assert find_origin(seen_file("b"), [old]) is old


def test_the_inode_alone_never_decides() -> None:
    for stamp in (Stamp("1", "10", 6, 100), Stamp("1", "10", 5, 101), Stamp("2", "10", 5, 100)):
        assert find_origin(seen_file("b", hash_="new"), [vanished_file("a", stamp=stamp)]) is None


def test_equal_content_is_the_same_file() -> None:
    old = vanished_file("a", stamp=Stamp("1", "99", 5, 7))
    assert find_origin(seen_file("b"), [old]) is old


def test_empty_files_are_never_alike() -> None:
    empty = Stamp("1", "10", 0, 100)
    assert find_origin(seen_file("b", stamp=empty), [vanished_file("a", stamp=empty)]) is None


def test_among_several_files_the_stamp_decides_then_the_name_then_the_folder_then_the_age() -> None:
    other = Stamp("1", "99", 5, 7)
    youngest = vanished_file("x/q", stamp=other, made="2026-03-01", file_id=5)
    oldest = vanished_file("x/r", stamp=other, made="2026-01-01", file_id=4)
    folder = vanished_file("dir/r", stamp=other, made="2026-02-01", file_id=3)
    name = vanished_file("x/name", stamp=other, made="2026-03-01", file_id=2)
    stamped = vanished_file("x/s", made="2026-03-01", file_id=6)
    candidates = [youngest, oldest, folder, name, stamped]
    order = []
    while candidates:
        chosen = find_origin(seen_file("dir/name"), candidates)
        assert chosen is not None
        order.append(chosen)
        candidates.remove(chosen)

    assert order == [stamped, name, folder, oldest, youngest]


def test_of_two_files_of_the_same_age_the_first_known_is_taken() -> None:
    first, second = vanished_file("x", file_id=1), vanished_file("y", file_id=2)
    assert find_origin(seen_file("b"), [second, first]) is first


def test_a_displaced_file_has_a_unique_path_that_is_never_on_disk() -> None:
    paths = {displaced_path(vanished_file("a/n", file_id=1)), displaced_path(vanished_file("b/n", file_id=2))}
    assert len(paths) == 2
    assert all(path.startswith(".chyme/") and path.endswith("/n") for path in paths)

"""Files that are sent in pieces."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from chyme.application.app import App, open_app
from chyme.application.settings import Settings
from chyme.errors import DiskFull, UsageError, VaultError
from chyme.vault.intake.links import add_links
from chyme.vault.intake.notes import add_note
from chyme.vault.intake.upload_limits import UploadTooLarge
from chyme.vault.intake.upload_placement import UploadResult
from chyme.vault.intake.uploads import UploadReceiver

BOUNDARY = b"0123456789"


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    (tmp_path / "vault").mkdir()
    with open_app(tmp_path / "vault") as opened:
        yield opened


def part(name: str, data: bytes, field: str = "file") -> bytes:
    head = f'Content-Disposition: form-data; name="{field}"; filename="{name}"\r\n\r\n'.encode()
    return b"--" + BOUNDARY + b"\r\n" + head + data + b"\r\n"


def body(*files: tuple[str, bytes]) -> bytes:
    return b"".join(part(*file) for file in files) + b"--" + BOUNDARY + b"--\r\n"


def send(app: App, data: bytes, folder: str = "", step: int = 1 << 20) -> list[UploadResult]:
    receiving = UploadReceiver(app.open_vault, folder, BOUNDARY, len(data))
    try:
        for start in range(0, len(data), step):
            receiving.feed(data[start : start + step])
        return receiving.finish()
    finally:
        receiving.close()


def listed(app: App) -> dict[str, bytes]:
    """Every file of the vault but chyme's own, hidden ones too."""
    root = app.vault.root
    found = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if not path.is_dir()}
    return {name: path.read_bytes() for name, path in found.items() if not name.startswith(".chyme/")}


def nothing_is_left(app: App) -> bool:
    return list(app.open_vault.staging.folder.iterdir()) == []


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
def test_files_arrive_whole_however_they_are_cut(app: App, step: int) -> None:
    tricky = b"\r\n--0123456\r\n--" + bytes(range(256)) + b"\r"
    results = send(app, body(("a.bin", tricky), ("b.txt", b""), ("größe.txt", b"x")), "in/box", step)
    assert results == [
        UploadResult("a.bin", "in/box/a.bin", len(tricky), created=True),
        UploadResult("b.txt", "in/box/b.txt", 0, created=True),
        UploadResult("größe.txt", "in/box/größe.txt", 1, created=True),
    ]
    assert listed(app) == {"in/box/a.bin": tricky, "in/box/b.txt": b"", "in/box/größe.txt": b"x"}
    status = (app.vault.root / "in/box/a.bin").stat()
    assert (stat.S_IMODE(status.st_mode), status.st_nlink) == (0o644, 1)
    assert nothing_is_left(app)


@pytest.mark.parametrize(("umask", "file", "folder"), [(0o077, 0o600, 0o700), (0o002, 0o664, 0o775)])
def test_the_umask_decides_who_may_read_new_files(app: App, umask: int, file: int, folder: int) -> None:
    before = os.umask(umask)
    try:
        send(app, body(("a.txt", b"x")), "new")
        add_note(app.open_vault, "boil it", "Jam", "new")
        add_links(app.open_vault, ["https://example.org/"], "link", "new")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (app.vault.root / "new").iterdir()}
    assert modes == {"a.txt": file, "Jam.md": file, "link.url": file}
    assert stat.S_IMODE((app.vault.root / "new").stat().st_mode) == folder


def test_nothing_is_ever_written_over(app: App) -> None:
    (app.vault.root / "a.txt").write_text("mine")
    (app.vault.root / "b.txt").symlink_to("nowhere")
    (app.vault.root / "c.txt").mkdir()
    results = send(app, body(("a.txt", b"1"), ("a.txt", b"2"), ("b.txt", b"3"), ("c.txt", b"4")))
    assert [result.path for result in results] == ["a 2.txt", "a 3.txt", "b 2.txt", "c 2.txt"]
    assert (app.vault.root / "a.txt").read_text() == "mine"
    assert not (app.vault.root / "nowhere").exists()


def test_a_file_that_already_exists_under_that_name_is_not_written_again(app: App) -> None:
    send(app, body(("a.txt", b"one"), ("a.txt", b"two")))
    assert send(app, body(("a.txt", b"two"))) == [UploadResult("a.txt", "a 2.txt", 3, created=False)]
    assert send(app, body(("b.txt", b"two")))[0].created
    assert sorted(listed(app)) == ["a 2.txt", "a.txt", "b.txt"]


def test_folders_that_are_dropped_become_folders(app: App) -> None:
    results = send(
        app, part("trip/day:1/a.jpg", b"1") + part("b.jpg", b"2", "trip/b.jpg") + b"--" + BOUNDARY + b"--", "x"
    )
    assert [result.path for result in results] == ["x/trip/day 1/a.jpg", "x/trip/b.jpg"]


@pytest.mark.parametrize(
    "name", ["../a.txt", "a/../../b.txt", "/etc/passwd", ".env", "sub/.git/config", "~$a.docx", "a.part", "x/", ".."]
)
def test_a_file_that_may_not_be_in_the_vault_is_refused_and_the_rest_is_taken(app: App, name: str) -> None:
    results = send(app, body((name, b"bad"), ("good.txt", b"good")))
    assert (results[0].path, results[0].created) == (None, False)
    assert len((results[0].problem or "").split()) > 4
    assert listed(app) == {"good.txt": b"good"}
    with pytest.raises(UsageError):
        send(app, body((name, b"bad")))
    assert sorted(path.name for path in app.vault.root.parent.iterdir()) == ["vault"]


def test_ignored_names_are_refused(app: App) -> None:
    (app.vault.root / ".chymeignore").write_text("*.tmp\nbuild/\n")
    app.scan()
    results = send(app, body(("a.tmp", b"1"), ("build/a.txt", b"2"), ("c.txt", b"3")))
    assert [result.path for result in results] == [None, None, "c.txt"]
    assert ".chymeignore" in (results[0].problem or "")


@pytest.mark.parametrize(
    "folder", ["..", "../out", "/tmp", ".chyme", ".git/x", "a\0b", "x" * 300, "\ud800", "a/\ud800"]
)
def test_only_folders_inside_the_vault_are_written_to(app: App, folder: str) -> None:
    with pytest.raises(UsageError):
        UploadReceiver(app.open_vault, folder, BOUNDARY, None)


def test_a_linked_folder_is_not_followed(app: App, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (app.vault.root / "in").symlink_to(tmp_path / "outside")
    with pytest.raises(UsageError, match="link"):
        send(app, body(("a.txt", b"1")), "in")
    with pytest.raises(UsageError):
        send(app, body(("in/a.txt", b"1")))
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_folder_that_is_swapped_for_a_link_while_files_come_is_not_followed(app: App, tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", app.vault.root / "in"
    outside.mkdir()
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            with contextlib.suppress(OSError):  # the upload makes the folder, too
                os.rename(inside, app.vault.root / secrets.token_hex(4))
            with contextlib.suppress(OSError):
                os.symlink(outside, inside)
                os.unlink(inside)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for number in range(60):
            try:
                send(app, body((f"{number}.txt", b"1")), "in")
            except (VaultError, UsageError):
                continue
    finally:
        stop.set()
        swapping.join()
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        b"--0123456789",
        part("a.txt", b"half"),
        part("a.txt", b"half")[:-20],
        part("a.txt", b"whole") + part("b.txt", b"half"),
        b"--0123456789\r\nbroken header\r\n\r\nx\r\n--0123456789--\r\n",
        b"--0123456789\r\n" + b"X-A: " + b"a" * 20_000 + b"\r\n\r\nx\r\n--0123456789--\r\n",
        b"--0123456789\r\n" + b"X-A: a\r\n" * 100 + b"\r\nx\r\n--0123456789--\r\n",
        b'--0123456789\r\nContent-Disposition: form-data; name="text"\r\n\r\nno file\r\n--0123456789--\r\n',
        body(("", b"browsers send this for an empty field")),
        b"--0123456789--\r\n",
    ],
)
def test_a_broken_body_leaves_nothing(app: App, data: bytes) -> None:
    with pytest.raises(UsageError):
        send(app, data)
    assert listed(app) == {}
    assert nothing_is_left(app)


def test_limits_are_enforced(tmp_path: Path) -> None:
    with open_app(tmp_path, Settings(upload_bytes=1000, upload_files=2)) as app:
        with pytest.raises(UploadTooLarge, match="upload_bytes"):
            UploadReceiver(app.open_vault, "", BOUNDARY, 1001)
        unsized_receiver = UploadReceiver(app.open_vault, "", BOUNDARY, None)
        with pytest.raises(UploadTooLarge, match="upload_bytes"):
            unsized_receiver.feed(body(("a.txt", b"x" * 1000)))
        unsized_receiver.close()
        with pytest.raises(UploadTooLarge, match="upload_files"):
            send(app, body(("a", b"1"), ("b", b"2"), ("c", b"3")))
        assert listed(app) == {}
        assert nothing_is_left(app)


def test_nothing_is_begun_when_the_disk_is_nearly_full(tmp_path: Path) -> None:
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize // (1024 * 1024)
    with open_app(tmp_path, Settings(upload_free_mb=free + 100_000)) as app:
        with pytest.raises(DiskFull, match="room"):
            UploadReceiver(app.open_vault, "", BOUNDARY, None)
        assert nothing_is_left(app)


def test_a_folder_that_cannot_be_written_to_is_not_the_senders_fault(app: App) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (app.vault.root / "in").mkdir(0o500)
    with pytest.raises(VaultError, match="who may write"):
        send(app, body(("a.txt", b"1")), "in")


@pytest.mark.parametrize("folder", ["a\x1bb", "what?", "a:b"])
def test_a_new_folder_must_have_a_name_that_every_system_takes(app: App, folder: str) -> None:
    with pytest.raises(UsageError, match="new folder"):
        send(app, body(("a.txt", b"1")), folder)


def test_a_file_comes_to_another_disk_whole(app: App) -> None:
    elsewhere = Path("/dev/shm")
    if not elsewhere.is_dir() or elsewhere.stat().st_dev == app.vault.root.stat().st_dev:
        pytest.skip("needs two disks")
    folder = elsewhere / f"chyme-incoming-{os.getpid()}"
    app.open_vault.staging.folder = folder
    try:
        assert send(app, body(("a.txt", b"x" * 5_000_000)))[0].created
        assert {name: len(data) for name, data in listed(app).items()} == {"a.txt": 5_000_000}
        assert nothing_is_left(app)
    finally:
        folder.rmdir()


def test_twenty_uploads_at_once_all_arrive_under_their_own_names(app: App) -> None:
    results: list[UploadResult] = []

    def upload(number: int) -> None:
        results.extend(send(app, body(("same.txt", str(number).encode())), "in"))

    threads = [threading.Thread(target=upload, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(listed(app).values()) == sorted(str(number).encode() for number in range(20))
    assert len({result.path for result in results}) == 20
    assert nothing_is_left(app)

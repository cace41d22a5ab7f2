"""Putting links into a vault."""

from __future__ import annotations

import os
import platform
import plistlib
import resource
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from chyme.application.app import App, open_app
from chyme.errors import UsageError, VaultError
from chyme.files.link_files import link_in
from chyme.vault.intake.links import LinkResult, add_links

PAGE = "https://example.org/how-to-digest"
NAME = "example.org – how to digest.url"


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    (tmp_path / "vault").mkdir()
    with open_app(tmp_path / "vault") as opened:
        yield opened


def listed(app: App) -> list[str]:
    """Every file and folder of the vault but chyme's own, hidden ones too."""
    root = app.vault.root
    found = (path.relative_to(root).as_posix() for path in root.rglob("*"))
    return sorted(path for path in found if not path.startswith(".chyme"))


def settle(app: App) -> None:
    for path in app.vault.root.rglob("*.*"):
        os.utime(path, (1e9, 1e9))
    app.scan_and_settle()


def test_a_link_becomes_a_file_that_opens_at_a_double_click(app: App) -> None:
    assert add_links(app.open_vault, [PAGE]) == [LinkResult(PAGE, NAME, created=True)]
    file = app.vault.root / NAME
    assert file.read_bytes() == f"[InternetShortcut]\r\nURL={PAGE}\r\n".encode()
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert file.stat().st_nlink == 1
    assert listed(app) == [NAME]


def test_an_added_file_is_taken_in_as_a_link(app: App) -> None:
    (added,) = add_links(app.open_vault, [PAGE], folder="pages/new")
    settle(app)
    assert app.documents.show(added.path)["file"]["kind"] == "url"


def test_nothing_is_ever_written_over(app: App) -> None:
    (app.vault.root / NAME).write_text("mine")
    (app.vault.root / "b.url").symlink_to(app.vault.root / "nowhere")
    assert add_links(app.open_vault, [PAGE])[0].path == "example.org – how to digest 2.url"
    assert add_links(app.open_vault, ["https://example.org/b"], name="b")[0].path == "b 2.url"
    assert (app.vault.root / NAME).read_text() == "mine"
    assert not (app.vault.root / "nowhere").exists()


def test_the_same_address_is_not_added_twice(app: App) -> None:
    again = [LinkResult(PAGE, NAME, created=False)]
    (first,) = add_links(app.open_vault, [PAGE, "HTTPS://EXAMPLE.org:443/how-to-digest"])
    assert first.created
    assert add_links(app.open_vault, [PAGE]) == again  # not taken in yet
    assert add_links(app.open_vault, [PAGE], name="another name") == again
    settle(app)
    assert add_links(app.open_vault, [PAGE]) == again
    assert add_links(app.open_vault, [PAGE], folder="sub") == again  # in another folder, by what the database knows
    assert listed(app) == ["example.org – how to digest.url", "sub"]


def test_a_link_in_another_form_is_recognised_in_the_same_folder(app: App) -> None:
    (app.vault.root / "page.webloc").write_bytes(plistlib.dumps({"URL": PAGE}))
    (app.vault.root / "note.txt").write_text("https://example.org/other\n")
    settle(app)
    found = add_links(app.open_vault, [PAGE, "https://example.org/other", "https://example.org/third"])
    assert [(result.path, result.created) for result in found[:2]] == [("page.webloc", False), ("note.txt", False)]
    assert found[2].created


def test_a_link_that_is_gone_can_be_added_again(app: App) -> None:
    (added,) = add_links(app.open_vault, [PAGE])
    settle(app)
    (app.vault.root / added.path).write_bytes(b"[InternetShortcut]\r\nURL=https://example.org/else\r\n")
    assert add_links(app.open_vault, [PAGE])[0].path == "example.org – how to digest 2.url"
    for path in app.vault.root.glob("*.url"):
        path.unlink()
    assert add_links(app.open_vault, [PAGE]) == [LinkResult(PAGE, NAME, created=True)]


def test_the_same_link_from_many_sides_at_once_is_one_file(app: App) -> None:
    found: list[LinkResult] = []
    threads = [threading.Thread(target=lambda: found.extend(add_links(app.open_vault, [PAGE]))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {result.path for result in found} == {NAME}
    assert [result.created for result in found].count(True) == 1
    assert listed(app) == [NAME]


def test_a_name_may_be_chosen_and_leads_nowhere_else(app: App) -> None:
    assert add_links(app.open_vault, [PAGE], name="../My: page.url")[0].path == "My page.url"
    with pytest.raises(UsageError, match="choose another"):
        add_links(app.open_vault, ["https://example.org/b"], name="../..")
    with pytest.raises(UsageError, match="one link"):
        add_links(app.open_vault, ["https://example.org/b", "https://example.org/c"], name="both")
    assert listed(app) == ["My page.url"]


def test_nothing_is_written_unless_all_addresses_are_valid(app: App) -> None:
    with pytest.raises(UsageError, match="ftp:"):
        add_links(app.open_vault, [PAGE, "ftp://example.org/"], folder="sub")
    with pytest.raises(UsageError, match="at least one"):
        add_links(app.open_vault, [])
    assert listed(app) == []


@pytest.mark.parametrize(
    "folder",
    [
        "..",
        "sub/../..",
        "/tmp",
        ".chyme",
        "sub/.hidden",
        "a\0b",
        "ignored",
        "out",
        "note.txt",
        "bell\x07",
        "sub/ ",
        "x" * 300,
        "deep/" * 300,
    ],
)
def test_links_stay_in_folders_that_chyme_reads(app: App, folder: str, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (app.vault.root / "out").symlink_to(tmp_path / "outside")
    (app.vault.root / "note.txt").write_text("words")
    (app.vault.root / ".chymeignore").write_text("ignored/\n")
    app.scan()
    before = listed(app)
    with pytest.raises(UsageError):
        add_links(app.open_vault, [PAGE], folder=folder)
    assert [path for path in listed(app) if path.endswith(".url")] == []
    assert set(listed(app)) - set(before) <= {"sub"}
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize("folder", ["..", "sub/../..", "/tmp", "/"])
def test_a_folder_outside_the_vault_is_reported_as_such(app: App, folder: str) -> None:
    with pytest.raises(UsageError, match="not a folder inside the vault"):
        add_links(app.open_vault, [PAGE], folder=folder)


def test_a_name_that_the_vault_ignores_is_refused(app: App) -> None:
    (app.vault.root / ".chymeignore").write_text("*.url\n")
    app.scan()
    with pytest.raises(UsageError, match="chymeignore"):
        add_links(app.open_vault, [PAGE])
    assert listed(app) == []


def test_a_folder_with_a_name_that_is_not_text_is_found_again(app: App) -> None:
    os.mkdir(os.fsencode(app.vault.root) + b"/caf\xe9")
    (added,) = add_links(app.open_vault, [PAGE], folder="caf%E9")
    assert added.path == f"caf%E9/{NAME}"
    with open(os.fsencode(app.vault.root) + b"/caf\xe9/" + NAME.encode(), "rb") as stream:
        assert link_in(NAME, stream.read()) == PAGE


def test_a_failure_to_write_is_reported_in_words_and_leaves_nothing(app: App) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(VaultError, match=r"no link can be written there \(File too large\)"):
            add_links(app.open_vault, [PAGE])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert listed(app) == []


WITHOUT_HARD_LINKS = f"""
import ctypes, os, platform, struct, sys
from pathlib import Path
from chyme.application.app import open_app
from chyme.vault.intake.links import add_links

linkat = {{"x86_64": 265, "aarch64": 37}}[platform.machine()]
# Load the number of the system call; if it is linkat, answer EPERM, as a disk does that has no hard links.
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, linkat), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code))
with open_app(Path(sys.argv[1])) as app:
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(38, 1, 0, 0, 0) or prctl(22, 2, program):
        sys.exit(f"no filter: {{os.strerror(ctypes.get_errno())}}")
    folder = os.open(sys.argv[1], os.O_RDONLY)
    try:
        os.link("nothing", "link", src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except PermissionError:
        for page in ({PAGE!r}, {PAGE!r} + "?2"):
            print([(added.path, added.created) for added in add_links(app.open_vault, [page])])
"""


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64"), reason="knows the system calls of no other machine"
)
def test_links_can_be_added_on_disks_without_hard_links(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_HARD_LINKS, os.fspath(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.splitlines() == [f"[({NAME!r}, True)]", f"[({NAME.replace('.url', ' 2.url')!r}, True)]"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([".chyme", NAME, NAME.replace(".url", " 2.url")])
    assert link_in(NAME, (tmp_path / NAME).read_bytes()) == PAGE
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o644

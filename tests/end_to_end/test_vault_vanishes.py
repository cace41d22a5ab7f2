"""The vault or its own folder is deleted, renamed or replaced under a running server, and comes back."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from running_chyme import RunningChyme, Server, wait_until

pytestmark = pytest.mark.slow

LONG = 120.0
FILES = 12

Change = Callable[[Path, Path], None]


def rename_state(vault: Path, aside: Path) -> None:
    (vault / ".chyme").rename(aside)


def bring_state_back(vault: Path, aside: Path) -> None:
    shutil.rmtree(vault / ".chyme", ignore_errors=True)
    aside.rename(vault / ".chyme")


def replace_state_by_copy(vault: Path, aside: Path) -> None:
    shutil.copytree(vault / ".chyme", vault.parent / "copy", ignore=shutil.ignore_patterns("*.sock"))
    rename_state(vault, aside)
    (vault.parent / "copy").rename(vault / ".chyme")


def rename_vault(vault: Path, aside: Path) -> None:
    vault.rename(aside)


def replace_vault(vault: Path, aside: Path) -> None:
    vault.rename(aside)
    vault.mkdir()


def bring_vault_back(vault: Path, aside: Path) -> None:
    if vault.exists():
        vault.rmdir()  # nothing was written into it
    aside.rename(vault)


@pytest.fixture
def server(chyme: RunningChyme) -> Iterator[Server]:
    """A server that has digested all files."""
    for number in range(FILES):
        chyme.drop(f"{number}.md", f"a walrus, number {number}")
    server = chyme.serve()
    with closing(server.http):
        wait_until(lambda: len(found(server, "walrus")) == FILES, LONG)
        wait_until(lambda: not status(server)["work"] and not status(server)["digests"].get("todo"), LONG)
        yield server


def found(server: Server, word: str) -> list[str]:
    answer = server.http.get("/api/search", params={"q": word, "limit": 50})
    return [hit["path"] for hit in answer.json()["hits"]] if answer.status_code == 200 else []


def status(server: Server) -> dict:  # type: ignore[type-arg]
    return server.http.get("/api/status").json()  # type: ignore[no-any-return]


def statuses_of_changes(server: Server) -> dict[str, int]:
    """The status codes of all requests that would change something."""
    http = server.http
    return {
        "note": http.post("/api/notes", json={"text": "a note in the dark"}).status_code,
        "link": http.post("/api/links", json={"url": "http://127.0.0.1:9/"}).status_code,
        "upload": http.post("/api/upload", files={"file": ("up.txt", b"uploaded")}).status_code,
        "edit": http.patch("/api/files/1.md", json={"title": "edited"}).status_code,
        "digest": http.post("/api/digest/2.md?wait=false").status_code,
        "trash": http.delete("/api/files/3.md").status_code,
    }


CHANGES = {
    "state renamed": (rename_state, bring_state_back, "is gone"),
    "state replaced by a copy": (replace_state_by_copy, bring_state_back, "is not the database"),
    "vault renamed": (rename_vault, bring_vault_back, "is gone"),
    "vault replaced by a fresh one": (replace_vault, bring_vault_back, "is gone"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_is_acknowledged_until_it_is_back_and_then_work_goes_on(
    chyme: RunningChyme, server: Server, change: str
) -> None:
    go, come_back, reason = CHANGES[change]
    aside = chyme.folder / "aside"
    go(chyme.vault, aside)

    assert set(statuses_of_changes(server).values()) == {503}
    assert reason in status(server)["paused"]
    assert server.http.get("/healthz").json() == {"status": "paused"}
    if chyme.vault.exists():
        assert not list(chyme.vault.glob("*note*")) and not (chyme.vault / "up.txt").exists()

    come_back(chyme.vault, aside)
    chyme.drop("later.md", "a heron after the return", still=False)
    wait_until(lambda: found(server, "heron") == ["later.md"], LONG)
    assert status(server)["paused"] is None
    assert len(found(server, "walrus")) == FILES
    assert server.http.post("/api/notes", json={"text": "a note after it"}).status_code == 201
    assert server.http.patch("/api/files/1.md", json={"title": "edited"}).status_code == 200
    lines = [line for line in chyme.said(server.process).splitlines() if line.startswith(("ERROR", "WARNING"))]
    assert ["paused" in line for line in lines] == [True, False], lines
    assert chyme.run("verify").code == 0


@pytest.mark.parametrize("folder", ["state", "vault"])
def test_a_deleted_folder_is_not_created_again(chyme: RunningChyme, server: Server, folder: str) -> None:
    deleted = chyme.vault / ".chyme" if folder == "state" else chyme.vault
    shutil.rmtree(deleted)

    assert set(statuses_of_changes(server).values()) == {503}
    assert "is gone" in status(server)["paused"]
    assert not deleted.exists()
    ended = chyme.run("status")
    assert ended.code != 0
    assert "Traceback" not in ended.err + chyme.said(server.process)

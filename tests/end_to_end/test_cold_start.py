"""Everything is started as a user starts it: a new interpreter for the command and for each of its children."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import warm_start
from running_chyme import SAMPLES, RunningChyme, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def cold(chyme: RunningChyme) -> RunningChyme:
    chyme.cold = True
    return chyme


def without_times(text: str) -> str:
    return re.sub(r'\d+ ms|"(seconds|ms)": [\d.]+', "", text)


def test_the_installed_command_digests_and_finds(cold: RunningChyme) -> None:
    command = Path(sys.executable).with_name("chyme")
    cold.drop("contract.pdf", (SAMPLES / "contract.pdf").read_bytes())

    def run_command(*arguments: str) -> str:
        command_line = [os.fspath(command), *arguments, "--vault", os.fspath(cold.vault)]
        ended = subprocess.run(command_line, env=cold.environment(), cwd=cold.folder, capture_output=True, check=False)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.decode()

    assert "1 new" in run_command("digest")
    assert "contract.pdf" in run_command("search", "harbour office")


def test_a_served_vault_is_digested_and_searched_until_it_is_asked_to_end(cold: RunningChyme) -> None:
    cold.drop("note.md", "# Note\n\nmarigold")
    server = cold.serve()
    wait_until(lambda: server.http.get("/api/search", params={"q": "marigold"}).json()["total"] == 1)
    assert server.end(signal.SIGTERM) == 0, cold.said(server.process)
    assert cold.alive() == []


def test_a_warm_start_has_the_same_visible_results(cold: RunningChyme) -> None:
    for name, text in {"note.md": "# Note\n\nmarigold", "letter.txt": "Dear Ms Miller,\n\nthe pump is new."}.items():
        cold.drop(name, text)
    questions = (("digest", "--json"), ("status", "--json"), ("show", "note.md"), ("show", "nowhere"), ("nonsense",))
    (cold.folder / "warm").mkdir()
    warm = RunningChyme(cold.folder / "warm")
    try:
        for path in cold.vault.iterdir():
            warm.drop(path.name, path.read_bytes())
        for question in questions:
            from_cold, from_warm = (running.run(*question) for running in (cold, warm))
            assert (from_cold.code, without_times(from_cold.out), from_cold.err) == (
                from_warm.code,
                without_times(from_warm.out),
                from_warm.err,
            )
        select = "SELECT file_path, digester, status, content, error FROM digests ORDER BY 1, 2"
        assert cold.rows(select) == warm.rows(select)
    finally:
        assert warm.close() == []


PRINT_PROCESS = """
import os, sys
print(os.getpid(), os.getppid(), os.getcwd(), os.environ['PYTHONPATH'], sys.argv, sys.stdin.read())
"""


@pytest.mark.skipif(not warm_start.WARM, reason="no process is copied here")
def test_a_copy_is_a_process_of_its_own_and_a_child_of_ours(tmp_path: Path) -> None:
    (tmp_path / "shown.py").write_text(PRINT_PROCESS)
    environment = os.environ | {"PYTHONPATH": os.fspath(tmp_path)}
    command = [sys.executable, "-m", "shown", "one", "two"]
    pipe = subprocess.PIPE
    with warm_start.start(command, env=environment, cwd=tmp_path, stdin=pipe, stdout=pipe) as process:
        wait_until(lambda: b"PYTHONPATH=" in Path(f"/proc/{process.pid}/environ").read_bytes())
        environ = Path(f"/proc/{process.pid}/environ").read_bytes()
        out, _ = process.communicate(b"typed")
    assert f"PYTHONPATH={tmp_path}\0".encode() in environ
    expected = f"{process.pid} {os.getpid()} {tmp_path} {tmp_path} ['{tmp_path / 'shown.py'}', 'one', 'two'] typed\n"
    assert out.decode() == expected
    assert process.returncode == 0

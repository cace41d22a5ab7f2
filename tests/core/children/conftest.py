"""Runners with real children, and tasks for them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from children_world import FAMILY, HERE, MEGABYTE, MakeRunner, MakeTask

from chyme.core.children.places import Family
from chyme.core.children.runner import Runner
from chyme.core.children.task import Task
from chyme.model import File, Kind, Stamp, Upstream


@pytest.fixture
def make_runner() -> Iterator[MakeRunner]:
    made: list[Runner] = []

    def make(
        *,
        config: dict[str, object] | None = None,
        entry: str = "children_digesters:digesters",
        scratch_bytes: int = 64 * MEGABYTE,
        **families: Family,
    ) -> Runner:
        runner = Runner(
            entry,
            config or {},
            families or {"parsers": FAMILY},
            import_from=[HERE],
            scratch_bytes=scratch_bytes,
            answer_bytes=32 * MEGABYTE,
        )
        made.append(runner)
        return runner

    yield make
    for runner in made:
        runner.close()


@pytest.fixture
def runner(make_runner: MakeRunner) -> Runner:
    return make_runner()


@pytest.fixture
def make_task(tmp_path: Path) -> Iterator[MakeTask]:
    opened: list[int] = []

    def make(
        digester: str, *, name: str = "note.txt", data: bytes = b"hello", inputs: tuple[Upstream, ...] = (), id: int = 1
    ) -> Task:
        folder = tmp_path / f"task-{len(opened)}"
        folder.mkdir(mode=0o700)
        source = folder.with_suffix(".source")
        source.write_bytes(data)
        source.chmod(0o600)
        opened.append(os.open(source, os.O_RDONLY))
        stamp = Stamp("1", "2", len(data), 3)
        file = File(id, f"notes/{name}", name, Kind.TEXT, "text/plain", stamp, "00", 1)
        return Task(digester, file, opened[-1], inputs, folder)

    yield make
    for fd in opened:
        os.close(fd)

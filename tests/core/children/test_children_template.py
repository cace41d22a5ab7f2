"""Children are copies of a template that has loaded what they share; without it they start by themselves."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from children_world import AMPLE, FAMILY, HERE, MEGABYTE, MakeTask, gone, wait_until

from chyme.core.children import launcher
from chyme.core.children.launcher import ChildLauncher
from chyme.core.children.places import Family
from chyme.core.children.runner import Runner
from chyme.core.children.template import CLONE_CALL

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CLONE_CALL is None, reason="children are not copied on this kind of machine"),
]


class World:
    """Runners with a launcher, and so a template, of their own."""

    def __init__(self, make_task: MakeTask) -> None:
        self.launcher = ChildLauncher()
        self._make_task = make_task
        self._runners: list[Runner] = []

    def runner(self, config: dict[str, object] | None = None, **more: Any) -> Runner:
        families = more.pop("families", {"text": FAMILY, "embedding": FAMILY})
        stock = "template_stock:preload"
        runner = Runner(
            "template_stock:digesters", config or {}, families, preload=stock, launcher=self.launcher, **more
        )
        self._runners.append(runner)
        return runner

    def show(self, runner: Runner, family: str = "text") -> dict[str, Any]:
        return self.show_all(runner, [family])[0]

    def show_all(self, runner: Runner, families: Sequence[str]) -> list[dict[str, Any]]:
        """Run a task of each family, all at once."""
        tasks = [self._make_task("show") for _ in families]
        with ThreadPoolExecutor(len(tasks)) as pool:
            answers = pool.map(lambda task, family: runner.run(task, family, AMPLE), tasks, families)
            return [json.loads(outputs[0].content or "") for outputs in answers]

    @property
    def template(self) -> int:
        pid = self.launcher.template.pid
        assert pid is not None
        return pid

    def close(self) -> None:
        for runner in self._runners:
            runner.close()
        self.launcher.template.close()


@pytest.fixture
def world(make_task: MakeTask, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("PYTHONPATH", os.fspath(HERE))
    world = World(make_task)
    yield world
    world.close()


def test_a_child_has_what_the_template_loaded_and_is_our_own_child(world: World) -> None:
    shown = world.show(world.runner())

    assert shown["by"] == world.template != shown["pid"]
    assert shown["parent"] == os.getpid()


def test_what_is_loaded_is_loaded_once_for_all_children_of_a_pool(world: World) -> None:
    pooled = {name: Family(1, 1 << 30, pool="small") for name in ("text", "embedding")}

    shown = world.show_all(world.runner(families=pooled), list(pooled))

    assert [one["families"] for one in shown] == [["text", "embedding"]] * 2
    assert {one["by"] for one in shown} == {world.template}


def test_a_child_has_no_descriptor_of_the_template_or_of_other_children(world: World) -> None:
    runner = world.runner()
    first = world.show(runner)
    os.kill(first["pid"], signal.SIGKILL)
    second = world.show(runner)

    for shown in (first, second):
        kinds = sorted(target.partition(":")[0] for target in shown["descriptors"].values())
        files = [kind for kind in kinds if kind.startswith("/")]
        assert kinds.count("socket") == 1
        assert kinds.count("pipe") == 2  # what it prints, twice
        assert len(files) == 3  # /dev/null, its scratch folder, its file


def test_a_template_that_was_killed_is_started_again(world: World) -> None:
    runner = world.runner()
    before = world.show(runner)
    os.kill(world.template, signal.SIGKILL)
    os.kill(before["pid"], signal.SIGKILL)

    after = world.show(runner)
    os.kill(after["pid"], signal.SIGKILL)

    assert after["pid"] != before["pid"]
    assert world.show(runner)["by"] == world.template != before["by"]


def test_children_go_on_when_their_template_ends(world: World) -> None:
    runner = world.runner()
    before = world.show(runner)

    os.kill(world.template, signal.SIGKILL)

    assert world.show(runner)["pid"] == before["pid"]


@pytest.mark.parametrize("trouble", ["fails", "starts a thread", "dies"])
def test_a_child_starts_without_what_cannot_be_loaded(world: World, trouble: str) -> None:
    shown = world.show(world.runner({trouble: True}))

    assert shown["by"] is None
    assert shown["parent"] == os.getpid()


def test_children_are_not_copied_any_more_after_a_library_started_a_thread(world: World) -> None:
    world.show(world.runner({"starts a thread": True}))

    assert world.launcher.template.pid is None
    assert world.show(world.runner())["by"] is None


def test_what_is_needed_soon_is_loaded_in_advance(world: World) -> None:
    runner = world.runner()

    runner.preload(["text"])

    wait_until(lambda: world.launcher.template.pid)
    assert world.show(runner)["by"] == world.template


def test_it_is_loaded_in_advance_again_after_the_template_ended(world: World) -> None:
    runner = world.runner()
    world.show(runner)
    stock = runner.stock("text")
    assert world.launcher.template.has(stock)
    world.launcher.start_child(lambda template: template.close())
    assert not world.launcher.template.has(stock)

    runner.preload(["text"])

    wait_until(lambda: world.launcher.template.has(stock))


LIGHT = {"text": replace(FAMILY, pool="texts"), "words": replace(FAMILY, pool="texts", light=True)}


def test_a_light_task_does_not_wait_for_what_others_share(world: World) -> None:
    runner = world.runner(families=LIGHT)

    first = world.show(runner, "words")
    full = world.show(runner, "text")

    assert (first["by"], first["families"]) == (world.template, [])
    assert full["families"] == ["text", "words"]
    assert full["pid"] != first["pid"]  # it lacks what the other needs
    wait_until(lambda: gone(first["pid"]))  # full ones start at once now
    assert world.show(runner, "words")["pid"] == full["pid"]


def test_a_task_goes_to_the_child_that_has_served_its_family(world: World) -> None:
    families = {name: replace(FAMILY, pool="documents") for name in ("parsers", "pages")}
    runner = world.runner(families=families)
    parsing, drawing = world.show_all(runner, ["parsers", "pages"])  # at once, so two children

    for family, before in [("pages", drawing), ("parsers", parsing), ("parsers", parsing), ("pages", drawing)]:
        assert world.show(runner, family)["pid"] == before["pid"]


def test_the_template_ends_when_it_is_closed(world: World) -> None:
    world.show(world.runner())
    pid = world.template

    world.close()

    wait_until(lambda: gone(pid))


def test_a_template_that_is_not_needed_ends_and_its_children_go_on(make_task: MakeTask) -> None:
    launcher = ChildLauncher(template_seconds=0.2)
    families = {"parsers": Family(1, 512 * MEGABYTE)}
    runner = Runner("children_digesters:digesters", {}, families, import_from=[HERE], launcher=launcher)
    try:
        before = runner.run(make_task("pid"), "parsers", AMPLE)
        wait_until(lambda: launcher.template.pid is None)

        assert runner.run(make_task("pid"), "parsers", AMPLE) == before
        os.kill(int(before[0].content or ""), signal.SIGKILL)
        assert runner.run(make_task("pid"), "parsers", AMPLE) != before
    finally:
        runner.close()
        launcher.template.close()


def test_no_more_children_live_than_cores_and_one(world: World) -> None:
    names = ("text", "embedding", "pages", "media")
    runner = world.runner(families=dict.fromkeys(names, FAMILY), cores=1)

    for name in names:
        world.show(runner, name)

    living = [child.family for child in runner.snapshot().children]
    assert len(living) == 2  # which of the idle ones ended depends on their memory
    assert living[-1] == "media"


def test_children_for_what_is_quick_take_no_place_of_others(world: World) -> None:
    families = {"pages": FAMILY, "media": FAMILY, "text": replace(FAMILY, quick=True, pool="text")}
    runner = world.runner(families={**families, "meaning": replace(FAMILY, pool="text")}, cores=1)

    for name in ("pages", "media", "text", "meaning"):
        world.show(runner, name)

    assert [child.family for child in runner.snapshot().children] == ["pages", "media", "meaning"]


def test_a_child_that_runs_a_program_ends_last(make_task: MakeTask) -> None:
    families = dict.fromkeys(("pages", "media", "pictures", "parsers"), FAMILY)
    runner = Runner("children_digesters:digesters", {}, families, import_from=[HERE], cores=1)
    try:
        (output,) = runner.run(make_task("start_program"), "pages", AMPLE)
        for family in ("media", "pictures", "parsers"):
            runner.run(make_task("pid"), family, AMPLE)

        living = {child.family: child.pid for child in runner.snapshot().children}
        assert living.keys() == {"pages", "parsers"}
        assert living["pages"] == int(output.content or "")
    finally:
        runner.close()


def test_a_child_returns_the_memory_that_a_task_has_freed(make_task: MakeTask) -> None:
    runner = Runner("children_digesters:digesters", {}, {"text": FAMILY}, import_from=[HERE])

    def resident() -> int:
        (child,) = runner.snapshot().children
        return child.resident_bytes

    try:
        runner.run(make_task("pid"), "text", AMPLE)
        before = resident()
        runner.run(make_task("fragment"), "text", AMPLE)
        wait_until(lambda: resident() < before + 40 * MEGABYTE)  # of 100; it answers before it tidies up
    finally:
        runner.close()


def test_idle_children_end_when_all_together_use_too_much_memory(world: World) -> None:
    runner = world.runner(memory_bytes=1)

    for name in ("text", "embedding", "text"):
        world.show(runner, name)

    assert [child.family for child in runner.snapshot().children] == ["text"]


def test_a_task_waits_while_running_ones_use_too_much_memory(make_task: MakeTask) -> None:
    families = {"parsers": Family(2, 512 * MEGABYTE)}
    runner = Runner("children_digesters:digesters", {}, families, import_from=[HERE], memory_bytes=1)
    try:
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(runner.run, make_task("slow", name="1.0"), "parsers", AMPLE)
            wait_until(lambda: any(child.busy_with for child in runner.snapshot().children))
            second = pool.submit(runner.run, make_task("pid"), "parsers", AMPLE)
            wait_until(lambda: runner.snapshot().waiting == 1)

            assert not second.done()
            first.result()
            assert second.result()
    finally:
        runner.close()


def test_all_runners_of_a_process_share_one_launcher() -> None:
    assert launcher.shared_launcher() is launcher.shared_launcher()


def test_only_the_environment_that_children_may_see_reaches_the_template(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    world.show(world.runner())

    assert "OPENAI_API_KEY" not in Path(f"/proc/{world.template}/environ").read_text(encoding="utf-8")

"""Many files digested again as a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from coordinating import Bench, Clock, ScriptedDigester, fails

from chyme.application.bulk_jobs import KEEP_FINISHED_FOR, MAX_REQUESTED, MAX_SLOW, BulkJobs, Selection
from chyme.core.pipeline.transitions import Claim
from chyme.core.store import digest_queue, files
from chyme.core.store import jobs as store
from chyme.digester import Digester
from chyme.errors import ChildCrashed, NotFound, UnreadableFile, UsageError
from chyme.model import Lane, Mode, Output, iso
from chyme.search.search import Search
from chyme.search.sqlite_index import SqliteIndex

pytestmark = pytest.mark.slow  # each test is quick, but there are many

ALL = Selection(everything=True)


class Jobs:
    """A vault with bulk jobs. It works only when a test calls `work` or `run`."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        search = Search(bench.database.read, SqliteIndex(bench.database.read))
        self.bulk = BulkJobs(bench.database, bench.rules, lambda: search, self.private, bench.clock, lambda: None)

    def private(self, path: str) -> bool:
        return path.startswith("private")

    def fill(self, count: int, text: str = "note") -> None:
        for number in range(count):
            (self.bench.root / f"{number:03}.txt").write_text(f"{text} {number}")
        self.bench.scanner.scan()
        self.work()

    def work(self) -> None:
        """Process every file that is due, in all lanes."""
        for lane in Lane:
            while due := digest_queue.list_due(self.bench.db, iso(self.bench.clock.now), 1000, lane=lane):
                for digest in due:
                    self.bench.process(digest.file_id)

    def work_in(self, lane: Lane) -> None:
        """Process the files that are due in one lane, and leave the other lanes alone."""
        while due := digest_queue.list_due(self.bench.db, iso(self.bench.clock.now), 1000, lane=lane):
            claims = self.bench.coordinator.claim([digest.file_id for digest in due], frozenset({lane}))
            self.bench.coordinator.run_claims([claim for claim in claims if isinstance(claim, Claim)])

    def states(self, name: str) -> list[str]:
        return [self.bench.digest(file.id, name)[0] for file in files.below(self.bench.db, "")]

    def run(self, rounds: int = 100) -> None:
        for _ in range(rounds):
            if not self.bulk.advance():
                return
            self.work()


@pytest.fixture
def jobs(bench: Callable[..., Bench]) -> Iterator[Callable[..., Jobs]]:
    yield lambda *registry: Jobs(bench(*registry))


def test_a_job_makes_everything_again_a_few_files_at_a_time(jobs: Callable[..., Jobs]) -> None:
    digester_one, digester_two = ScriptedDigester("one"), ScriptedDigester("two")
    house = jobs(digester_one, digester_two)
    house.fill(MAX_REQUESTED + 10)
    digester_one.calls = digester_two.calls = 0

    job = house.bulk.start(ALL, ["one"])
    assert (job.state, job.total, job.left) == ("running", MAX_REQUESTED + 10, MAX_REQUESTED + 10)
    house.bulk.advance()
    assert house.states("one").count("todo") == MAX_REQUESTED
    house.bulk.advance()
    assert house.states("one").count("todo") == MAX_REQUESTED
    house.run()

    ended = house.bulk.job(job.id)
    assert (ended.state, ended.done, ended.failed, ended.left) == ("done", MAX_REQUESTED + 10, 0, 0)
    assert (digester_one.calls, digester_two.calls) == (MAX_REQUESTED + 10, 0)
    assert store.count_asked(house.bench.db) == (0, 0)


def test_a_plan_changes_nothing_and_counts_the_files_that_a_model_would_see(jobs: Callable[..., Jobs]) -> None:
    house = jobs(
        ScriptedDigester("text"), ScriptedDigester("tags", reads=("text",), provider="llm"), ScriptedDigester("other")
    )
    house.fill(4)
    (house.bench.root / "private.txt").write_text("mine")
    house.bench.scanner.scan()
    house.work()

    plan = house.bulk.plan(ALL, ["text"])
    assert (plan.files, plan.digests, plan.by_digester) == (5, 5, {"text": 5})
    assert (plan.asks_models, plan.providers) == (4, {"llm": 4})  # tags read the text; the private file is not sent
    assert house.bulk.plan(ALL, ["other"]).providers == {}
    assert set(house.states("text")) == {"completed"}
    assert house.bulk.list_jobs() == []


def test_a_hundred_clicks_make_one_job_and_a_finished_job_never_blocks_another(jobs: Callable[..., Jobs]) -> None:
    house = jobs(ScriptedDigester("one"), ScriptedDigester("two"))
    house.fill(3)
    ids = {house.bulk.start(ALL, ["one"]).id for _ in range(100)}
    assert len(ids) == 1
    assert house.bulk.start(ALL, ["two"]).id not in ids
    assert house.bulk.start(ALL, ["one"], Mode.RETRY).state == "done"  # nothing had failed
    house.run()
    assert house.bulk.start(ALL, ["one"]).id not in ids


def test_a_paused_job_begins_with_no_more_files(jobs: Callable[..., Jobs]) -> None:
    digester = ScriptedDigester("one")
    house = jobs(digester)
    house.fill(MAX_REQUESTED * 2)
    digester.calls = 0
    job = house.bulk.start(ALL, ["one"])
    house.bulk.advance()
    paused = house.bulk.pause(job.id)
    assert (paused.state, paused.under_way) == ("paused", MAX_REQUESTED)
    assert house.bulk.start(ALL, ["one"]).id == job.id
    house.run(3)
    assert (house.bulk.job(job.id).done, digester.calls) == (MAX_REQUESTED, MAX_REQUESTED)
    assert (house.bulk.count_waiting_files(), house.bulk.job(job.id).under_way, house.bulk.advance()) == (0, 0, False)
    assert house.bulk.resume(job.id).state == "running"
    house.run()
    assert (house.bulk.job(job.id).state, digester.calls) == ("done", MAX_REQUESTED * 2)


def test_a_cancelled_job_leaves_the_other_files_as_they_are_and_counts_those_it_had_begun_with(
    jobs: Callable[..., Jobs],
) -> None:
    digester = ScriptedDigester("one")
    house = jobs(digester)
    house.fill(MAX_REQUESTED * 2)
    job = house.bulk.start(ALL, ["one"])
    house.bulk.advance()
    ended = house.bulk.cancel(job.id)
    assert (ended.state, ended.finished_at is not None) == ("cancelled", True)
    assert (ended.done, ended.under_way) == (0, MAX_REQUESTED)
    assert house.states("one").count("completed") == MAX_REQUESTED
    house.run()
    assert not store.has_files(house.bench.db, job.id)
    ended = house.bulk.job(job.id)
    assert (ended.state, ended.done, ended.under_way) == ("cancelled", MAX_REQUESTED, 0)
    for change in (house.bulk.pause, house.bulk.resume, house.bulk.cancel):
        assert change(job.id) == ended  # a finished job does not change


def test_files_that_fail_or_vanish_are_counted_as_such(jobs: Callable[..., Jobs]) -> None:
    digester = ScriptedDigester("one")
    house = jobs(digester)
    house.fill(4)
    make = digester.make

    def sometimes(source: object) -> list[Output]:
        if source.file.name == "001.txt":  # type: ignore[attr-defined]
            raise UnreadableFile("001.txt: is broken; mend it")
        return make(source)  # type: ignore[arg-type]

    digester.make = sometimes
    job = house.bulk.start(ALL, ["one"])
    (house.bench.root / "002.txt").unlink()
    house.bench.scanner.scan()
    house.bench.database.write(lambda db: files.delete(db, house.bench.file("003.txt").id))
    house.run()
    ended = house.bulk.job(job.id)
    assert (ended.state, ended.done, ended.failed, ended.left_out) == ("done", 1, 1, 2)


def test_retry_makes_only_what_failed(jobs: Callable[..., Jobs]) -> None:
    good, bad = ScriptedDigester("good"), ScriptedDigester("bad", fails(UnreadableFile("x: is broken; mend it")))
    house = jobs(good, bad)
    house.fill(3)
    good.calls = bad.calls = 0
    assert house.bulk.plan(ALL, None, Mode.RETRY).by_digester == {"bad": 3}
    bad.make = lambda source: [Output("bad", "well")]
    job = house.bulk.start(ALL, None, Mode.RETRY)
    house.run()
    assert (house.bulk.job(job.id).done, good.calls, bad.calls) == (3, 0, 3)


def test_a_failure_that_is_tried_again_is_not_over(jobs: Callable[..., Jobs]) -> None:
    digester = ScriptedDigester("one")
    house = jobs(digester)
    house.fill(1)
    digester.make = fails(ChildCrashed("it died"))
    job = house.bulk.start(ALL, ["one"])
    for _ in range(2):
        house.run(2)
        assert house.bulk.job(job.id).state == "running"
        house.bench.clock.forward(3600)
    house.run(3)
    assert (house.bulk.job(job.id).state, house.bulk.job(job.id).failed) == ("done", 1)


def test_outdated_remakes_only_digests_of_an_older_recipe_and_keeps_them_meanwhile(jobs: Callable[..., Jobs]) -> None:
    digester_one, digester_two = ScriptedDigester("one"), ScriptedDigester("two")
    house = jobs(digester_one, digester_two)
    house.fill(2)
    vars(digester_one)["recipe"] = "another"
    assert house.bulk.plan(ALL, None, Mode.OUTDATED).by_digester == {"one": 2}
    job = house.bulk.start(ALL, None, Mode.OUTDATED)
    house.bulk.advance()
    first = house.bench.file("000.txt").id
    assert house.bench.digest(first, "one")[0] == "todo"
    assert house.bench.content(first, "one") is not None
    house.run()
    assert house.bulk.job(job.id).done == 2
    assert house.bulk.plan(ALL, None, Mode.OUTDATED).files == 0


def test_a_digest_that_is_made_again_is_not_copied(jobs: Callable[..., Jobs]) -> None:
    digester = ScriptedDigester("one")
    house = jobs(digester)
    for number in range(3):
        (house.bench.root / f"{number}.txt").write_text("the same")
    house.bench.scanner.scan()
    house.work()
    assert digester.calls == 1  # copies cost nothing
    house.bulk.start(ALL, ["one"])
    house.run()
    assert digester.calls == 4


def test_a_new_file_comes_before_the_files_of_a_job(jobs: Callable[..., Jobs]) -> None:
    house = jobs(ScriptedDigester("one"))
    house.fill(5)
    house.bulk.start(ALL, ["one"])
    house.bulk.advance()
    new = house.bench.drop("zzz large.txt", "x" * 100_000)
    first = digest_queue.list_due(house.bench.db, iso(house.bench.clock.now), 1)[0]
    assert first.file_id == new


def test_recordings_that_take_hours_delay_no_other_file(jobs: Callable[..., Jobs]) -> None:
    speech = ScriptedDigester("speech", lane=Lane.LONG, applies=lambda file: file.name < "100")
    house = jobs(ScriptedDigester("one"), speech)
    for number in range(2 * MAX_SLOW):
        (house.bench.root / f"{number:03}.txt").write_text(f"recording {number}")
    for number in range(200, 200 + MAX_REQUESTED + 10):
        (house.bench.root / f"{number}.txt").write_text(f"note {number}")
    house.bench.scanner.scan()
    house.work()
    job = house.bulk.start(ALL)
    for _ in range(20):
        house.bulk.advance()
        house.work_in(Lane.ORDINARY)
    house.bulk.advance()
    status = house.bulk.job(job.id)
    assert status.done == MAX_REQUESTED + 10
    assert MAX_SLOW <= status.under_way < MAX_SLOW + MAX_REQUESTED
    house.run()
    assert (house.bulk.job(job.id).state, house.bulk.job(job.id).done) == ("done", 2 * MAX_SLOW + MAX_REQUESTED + 10)


def test_digests_that_jobs_have_not_requested_yet_count_as_upcoming(jobs: Callable[..., Jobs]) -> None:
    house = jobs(
        ScriptedDigester("one"),
        ScriptedDigester("two"),
        ScriptedDigester("few", applies=lambda file: file.name.endswith("0.txt")),
    )
    house.fill(300)
    job = house.bulk.start(ALL, ["one", "few"])
    assert house.bulk.count_upcoming_digests()["one"] == 300
    assert house.bulk.count_upcoming_digests().keys() == {"one", "few"}
    house.bulk.advance()
    assert (house.bulk.count_upcoming_digests()["one"], house.bulk.count_waiting_files()) == (
        300 - MAX_REQUESTED,
        300 - MAX_REQUESTED,
    )
    assert not house.bulk.has_due_files()  # there is no room
    house.bulk.pause(job.id)
    assert (house.bulk.count_upcoming_digests(), house.bulk.count_waiting_files()) == ({}, 0)


def test_a_final_failure_ends_the_request_and_a_retry_is_made_not_copied(
    jobs: Callable[..., Jobs],
) -> None:
    digester = ScriptedDigester("one")
    house = jobs(digester)
    for number in range(2):
        (house.bench.root / f"{number}.txt").write_text("the same")
    house.bench.scanner.scan()
    house.work()
    original_make, first = digester.make, house.bench.file("0.txt").id
    digester.make = lambda source: (
        fails(ChildCrashed("it died"))(source) if source.file.id == first else original_make(source)
    )
    house.bulk.start(ALL, ["one"])
    house.run(2)
    digester.calls, digester.make = 0, original_make
    house.bench.clock.forward(3600)
    house.run()
    assert digester.calls == 1
    digester.make = fails(UnreadableFile("it is broken; mend it"))
    house.bulk.start(ALL, ["one"])
    house.run()
    assert house.states("one") == ["failed", "failed"]
    assert house.bench.db.execute("SELECT count(*) FROM digests WHERE asked = 1").fetchone() == (0,)


def test_selections_narrow_each_other(jobs: Callable[..., Jobs]) -> None:
    house = jobs(ScriptedDigester("one"))
    for name in ("a/1.txt", "a/b/2.txt", "c/3.txt"):
        house.bench.drop(name, name)
    house.work()

    def count(selection: Selection) -> int:
        return house.bulk.plan(selection, ["one"]).files

    assert count(Selection(folder="a")) == 2
    assert count(Selection(folder="")) == 3
    assert count(Selection(paths=("a/b", "c/3.txt"))) == 2
    assert count(Selection(paths=("a/b", "c/3.txt"), folder="c")) == 1
    assert count(Selection(query="kind:text folder:a")) == 2
    assert count(Selection(query="kind:image")) == 0


@pytest.mark.parametrize(
    "selection",
    [Selection(), Selection(query="  "), Selection(paths=("nowhere",)), Selection(query="x", everything=True)],
)
def test_a_request_that_makes_no_sense_is_refused(jobs: Callable[..., Jobs], selection: Selection) -> None:
    house = jobs(ScriptedDigester("one"))
    with pytest.raises(UsageError):
        house.bulk.start(selection, ["one"])
    for digesters in (["nobody"], []):
        with pytest.raises(UsageError):
            house.bulk.start(ALL, digesters)
    with pytest.raises(NotFound):
        house.bulk.pause(7)


def test_a_job_goes_on_where_another_process_left_it(tmp_path: Path, clock: Clock) -> None:
    root = tmp_path / "again"
    root.mkdir()

    def open_jobs(*registry: Digester) -> Jobs:
        return Jobs(Bench(root, clock, *registry))

    first = open_jobs(ScriptedDigester("one"))
    first.fill(MAX_REQUESTED + 5)
    job = first.bulk.start(ALL, ["one"])
    first.bulk.advance()
    first.bench.close()
    second = open_jobs(ScriptedDigester("one"))
    second.run()
    ended = second.bulk.job(job.id)
    assert (ended.state, ended.done) == ("done", MAX_REQUESTED + 5)
    second.bench.close()


def test_two_processes_ask_for_each_file_once(jobs: Callable[..., Jobs]) -> None:
    digester = ScriptedDigester("one")
    house = jobs(digester)
    house.fill(MAX_REQUESTED * 2)
    digester.calls = 0
    other = Jobs(house.bench)
    job = house.bulk.start(ALL, ["one"])
    for _ in range(10):
        house.bulk.advance()
        other.bulk.advance()
        house.work()
    assert (house.bulk.job(job.id).state, digester.calls) == ("done", MAX_REQUESTED * 2)


def test_jobs_that_finished_long_ago_are_forgotten(jobs: Callable[..., Jobs]) -> None:
    house = jobs(ScriptedDigester("one"))
    house.fill(1)
    house.bulk.start(ALL, ["one"])
    house.run()
    house.bench.clock.now += KEEP_FINISHED_FOR + timedelta(seconds=1)
    newer = house.bulk.start(Selection(folder=""), ["one"])
    assert [job.id for job in house.bulk.list_jobs()] == [newer.id]

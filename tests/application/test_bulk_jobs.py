"""Many files digested again as a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from coordinating import Bench, Clock, Told, fails

from chyme.application.bulk_jobs import KEEP_FINISHED_FOR, MAX_REQUESTED, MAX_SLOW, BulkJobs, Selection
from chyme.core.pipeline.transitions import Claim
from chyme.core.store import digest_queue, files
from chyme.core.store import jobs as store
from chyme.digester import Digester
from chyme.errors import ChildCrashed, NotFound, UnreadableFile, UsageError
from chyme.model import Lane, Mode, Output, iso
from chyme.search.search import Search
from chyme.search.sqlite_index import SqliteIndex

pytestmark = pytest.mark.slow  # a little each, and they are many

ALL = Selection(everything=True)


class Jobs:
    """A vault with jobs, worked on when told."""

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
        """Carry every file that is due, in all lanes."""
        for lane in Lane:
            while due := digest_queue.list_due(self.bench.db, iso(self.bench.clock.now), 1000, lane=lane):
                for one in due:
                    self.bench.process(one.file_id)

    def work_in(self, lane: Lane) -> None:
        """Carry what is due in one lane, and leave all others to themselves."""
        while due := digest_queue.list_due(self.bench.db, iso(self.bench.clock.now), 1000, lane=lane):
            claims = self.bench.coordinator.claim([one.file_id for one in due], frozenset({lane}))
            self.bench.coordinator.run_claims([one for one in claims if isinstance(one, Claim)])

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
    one, two = Told("one"), Told("two")
    house = jobs(one, two)
    house.fill(MAX_REQUESTED + 10)
    one.calls = two.calls = 0

    job = house.bulk.start(ALL, ["one"])
    assert (job.state, job.total, job.left) == ("running", MAX_REQUESTED + 10, MAX_REQUESTED + 10)
    house.bulk.advance()
    assert house.states("one").count("todo") == MAX_REQUESTED
    house.bulk.advance()
    assert house.states("one").count("todo") == MAX_REQUESTED
    house.run()

    ended = house.bulk.job(job.id)
    assert (ended.state, ended.done, ended.failed, ended.left) == ("done", MAX_REQUESTED + 10, 0, 0)
    assert (one.calls, two.calls) == (MAX_REQUESTED + 10, 0)
    assert store.count_asked(house.bench.db) == (0, 0)


def test_the_plan_changes_nothing_and_tells_what_models_may_be_asked(jobs: Callable[..., Jobs]) -> None:
    house = jobs(Told("text"), Told("tags", reads=("text",), provider="llm"), Told("other"))
    house.fill(4)
    (house.bench.root / "private.txt").write_text("mine")
    house.bench.scanner.scan()
    house.work()

    plan = house.bulk.plan(ALL, ["text"])
    assert (plan.files, plan.digests, plan.by_digester) == (5, 5, {"text": 5})
    assert (plan.asks_models, plan.providers) == (4, {"llm": 4})  # tags read the text, and private files stay here
    assert house.bulk.plan(ALL, ["other"]).providers == {}
    assert set(house.states("text")) == {"completed"}
    assert house.bulk.list_jobs() == []


def test_a_hundred_clicks_make_one_job_and_a_finished_one_never_blocks_another(jobs: Callable[..., Jobs]) -> None:
    house = jobs(Told("one"), Told("two"))
    house.fill(3)
    ids = {house.bulk.start(ALL, ["one"]).id for _ in range(100)}
    assert len(ids) == 1
    assert house.bulk.start(ALL, ["two"]).id not in ids
    assert house.bulk.start(ALL, ["one"], Mode.RETRY).state == "done"  # nothing had failed
    house.run()
    assert house.bulk.start(ALL, ["one"]).id not in ids


def test_a_paused_job_begins_with_no_more_files(jobs: Callable[..., Jobs]) -> None:
    one = Told("one")
    house = jobs(one)
    house.fill(MAX_REQUESTED * 2)
    one.calls = 0
    job = house.bulk.start(ALL, ["one"])
    house.bulk.advance()
    paused = house.bulk.pause(job.id)
    assert (paused.state, paused.under_way) == ("paused", MAX_REQUESTED)
    assert house.bulk.start(ALL, ["one"]).id == job.id
    house.run(3)
    assert (house.bulk.job(job.id).done, one.calls) == (MAX_REQUESTED, MAX_REQUESTED)
    assert (house.bulk.count_waiting_files(), house.bulk.job(job.id).under_way, house.bulk.advance()) == (0, 0, False)
    assert house.bulk.resume(job.id).state == "running"
    house.run()
    assert (house.bulk.job(job.id).state, one.calls) == ("done", MAX_REQUESTED * 2)


def test_a_cancelled_job_leaves_the_other_files_as_they_are_and_counts_those_it_had_begun_with(
    jobs: Callable[..., Jobs],
) -> None:
    one = Told("one")
    house = jobs(one)
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
        assert change(job.id) == ended  # what is over stays so


def test_files_that_fail_or_vanish_are_counted_as_such(jobs: Callable[..., Jobs]) -> None:
    one = Told("one")
    house = jobs(one)
    house.fill(4)
    make = one.make

    def sometimes(source: object) -> list[Output]:
        if source.file.name == "001.txt":  # type: ignore[attr-defined]
            raise UnreadableFile("001.txt: is broken; mend it")
        return make(source)  # type: ignore[arg-type]

    one.make = sometimes
    job = house.bulk.start(ALL, ["one"])
    (house.bench.root / "002.txt").unlink()
    house.bench.scanner.scan()
    house.bench.database.write(lambda db: files.delete(db, house.bench.file("003.txt").id))
    house.run()
    ended = house.bulk.job(job.id)
    assert (ended.state, ended.done, ended.failed, ended.left_out) == ("done", 1, 1, 2)


def test_retry_makes_only_what_failed(jobs: Callable[..., Jobs]) -> None:
    good, bad = Told("good"), Told("bad", fails(UnreadableFile("x: is broken; mend it")))
    house = jobs(good, bad)
    house.fill(3)
    good.calls = bad.calls = 0
    assert house.bulk.plan(ALL, None, Mode.RETRY).by_digester == {"bad": 3}
    bad.make = lambda source: [Output("bad", "well")]
    job = house.bulk.start(ALL, None, Mode.RETRY)
    house.run()
    assert (house.bulk.job(job.id).done, good.calls, bad.calls) == (3, 0, 3)


def test_a_failure_that_is_tried_again_is_not_over(jobs: Callable[..., Jobs]) -> None:
    one = Told("one")
    house = jobs(one)
    house.fill(1)
    one.make = fails(ChildCrashed("it died"))
    job = house.bulk.start(ALL, ["one"])
    for _ in range(2):
        house.run(2)
        assert house.bulk.job(job.id).state == "running"
        house.bench.clock.forward(3600)
    house.run(3)
    assert (house.bulk.job(job.id).state, house.bulk.job(job.id).failed) == ("done", 1)


def test_outdated_makes_only_what_an_older_recipe_made_and_keeps_it_meanwhile(jobs: Callable[..., Jobs]) -> None:
    one, two = Told("one"), Told("two")
    house = jobs(one, two)
    house.fill(2)
    vars(one)["recipe"] = "another"
    assert house.bulk.plan(ALL, None, Mode.OUTDATED).by_digester == {"one": 2}
    job = house.bulk.start(ALL, None, Mode.OUTDATED)
    house.bulk.advance()
    first = house.bench.file("000.txt").id
    assert house.bench.digest(first, "one")[0] == "todo"
    assert house.bench.content(first, "one") is not None
    house.run()
    assert house.bulk.job(job.id).done == 2
    assert house.bulk.plan(ALL, None, Mode.OUTDATED).files == 0


def test_what_is_made_again_is_made_not_copied(jobs: Callable[..., Jobs]) -> None:
    one = Told("one")
    house = jobs(one)
    for number in range(3):
        (house.bench.root / f"{number}.txt").write_text("the same")
    house.bench.scanner.scan()
    house.work()
    assert one.calls == 1  # copies cost nothing
    house.bulk.start(ALL, ["one"])
    house.run()
    assert one.calls == 4


def test_what_a_person_waits_for_comes_before_a_job(jobs: Callable[..., Jobs]) -> None:
    house = jobs(Told("one"))
    house.fill(5)
    house.bulk.start(ALL, ["one"])
    house.bulk.advance()
    new = house.bench.drop("zzz large.txt", "x" * 100_000)
    first = digest_queue.list_due(house.bench.db, iso(house.bench.clock.now), 1)[0]
    assert first.file_id == new


def test_recordings_that_take_hours_hold_up_nobody_else(jobs: Callable[..., Jobs]) -> None:
    speech = Told("speech", lane=Lane.LONG, applies=lambda file: file.name < "100")
    house = jobs(Told("one"), speech)
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
    told = house.bulk.job(job.id)
    assert told.done == MAX_REQUESTED + 10
    assert MAX_SLOW <= told.under_way < MAX_SLOW + MAX_REQUESTED
    house.run()
    assert (house.bulk.job(job.id).state, house.bulk.job(job.id).done) == ("done", 2 * MAX_SLOW + MAX_REQUESTED + 10)


def test_what_jobs_have_not_asked_for_yet_is_to_come(jobs: Callable[..., Jobs]) -> None:
    house = jobs(Told("one"), Told("two"), Told("few", applies=lambda file: file.name.endswith("0.txt")))
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


def test_what_failed_in_the_end_was_asked_for_no_longer_and_what_is_tried_again_is_made_not_copied(
    jobs: Callable[..., Jobs],
) -> None:
    one = Told("one")
    house = jobs(one)
    for number in range(2):
        (house.bench.root / f"{number}.txt").write_text("the same")
    house.bench.scanner.scan()
    house.work()
    made, first = one.make, house.bench.file("0.txt").id
    one.make = lambda source: fails(ChildCrashed("it died"))(source) if source.file.id == first else made(source)
    house.bulk.start(ALL, ["one"])
    house.run(2)
    one.calls, one.make = 0, made
    house.bench.clock.forward(3600)
    house.run()
    assert one.calls == 1
    one.make = fails(UnreadableFile("it is broken; mend it"))
    house.bulk.start(ALL, ["one"])
    house.run()
    assert house.states("one") == ["failed", "failed"]
    assert house.bench.db.execute("SELECT count(*) FROM digests WHERE asked = 1").fetchone() == (0,)


def test_selections_narrow_each_other(jobs: Callable[..., Jobs]) -> None:
    house = jobs(Told("one"))
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
def test_what_makes_no_sense_is_refused(jobs: Callable[..., Jobs], selection: Selection) -> None:
    house = jobs(Told("one"))
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

    def opened(*registry: Digester) -> Jobs:
        return Jobs(Bench(root, clock, *registry))

    first = opened(Told("one"))
    first.fill(MAX_REQUESTED + 5)
    job = first.bulk.start(ALL, ["one"])
    first.bulk.advance()
    first.bench.close()
    second = opened(Told("one"))
    second.run()
    ended = second.bulk.job(job.id)
    assert (ended.state, ended.done) == ("done", MAX_REQUESTED + 5)
    second.bench.close()


def test_two_processes_ask_for_each_file_once(jobs: Callable[..., Jobs]) -> None:
    one = Told("one")
    house = jobs(one)
    house.fill(MAX_REQUESTED * 2)
    one.calls = 0
    other = Jobs(house.bench)
    job = house.bulk.start(ALL, ["one"])
    for _ in range(10):
        house.bulk.advance()
        other.bulk.advance()
        house.work()
    assert (house.bulk.job(job.id).state, one.calls) == ("done", MAX_REQUESTED * 2)


def test_jobs_that_were_over_long_ago_are_forgotten(jobs: Callable[..., Jobs]) -> None:
    house = jobs(Told("one"))
    house.fill(1)
    house.bulk.start(ALL, ["one"])
    house.run()
    house.bench.clock.now += KEEP_FINISHED_FOR + timedelta(seconds=1)
    newer = house.bulk.start(Selection(folder=""), ["one"])
    assert [job.id for job in house.bulk.list_jobs()] == [newer.id]

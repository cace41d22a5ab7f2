"""Failures are grouped by cause, and one group can be tried again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from coordinating import Bench, ScriptedDigester, fails

from chyme.core.pipeline.failure_groups import FEW, FailureGroup, Failures, retry_failures
from chyme.core.store import digest_queue, digests
from chyme.core.store.failed_digests import iterate_failures
from chyme.digester import Source
from chyme.errors import ChildCrashed, EngineUnavailable, NotFound, UnreadableFile
from chyme.model import Output, iso


def failures_of(bench: Bench) -> Failures:
    return Failures(bench.database, bench.rules, bench.clock, lambda: None)


def raise_unreadable(source: Source) -> list[Output]:
    name = source.file.name
    raise UnreadableFile(f"{name}: page {len(name)} of “{name}” is broken; save it anew")


def fill(bench: Bench, count: int) -> list[int]:
    for number in range(count):
        (bench.root / f"{'n' * (number + 1)}.txt").write_text(str(number))
    bench.scanner.scan()
    ids = [bench.file(f"{'n' * (number + 1)}.txt").id for number in range(count)]
    for file_id in ids:
        bench.process(file_id)
    return ids


def test_failures_of_the_same_cause_form_one_group(bench: Callable[..., Bench]) -> None:
    house = bench(
        ScriptedDigester("text", raise_unreadable, outputs=("text", "pictures")),
        ScriptedDigester("other", raise_unreadable),
        ScriptedDigester("fine"),
    )
    fill(house, 7)
    failures = failures_of(house)
    text, other = sorted(failures.groups(), key=lambda group: group.digester != "text")
    assert text == FailureGroup(
        text.id,
        "text",
        "told",
        "validation",
        "page … of … is broken",
        "save it anew",
        7,
        14,
        tuple(f"{'n' * (number + 1)}.txt" for number in range(5)),
        iso(house.clock.now),
        0,
        None,
    )
    assert (other.digester, other.files, other.digests) == ("other", 7, 7)
    assert text.id != other.id
    assert [group.id for group in failures.groups()] == [group.id for group in failures.groups()]


def test_a_cause_with_identical_messages_is_shown_verbatim(bench: Callable[..., Bench]) -> None:
    house = bench(ScriptedDigester("text", fails(EngineUnavailable("version 5 is missing; install it"))))
    fill(house, 2)
    assert [group.cause for group in failures_of(house).groups()] == ["version 5 is missing"]


def test_retrying_a_group_touches_nothing_else(bench: Callable[..., Bench]) -> None:
    text, other = ScriptedDigester("text", raise_unreadable), ScriptedDigester("other", raise_unreadable)
    house = bench(text, other)
    ids = fill(house, 3)
    text.calls = other.calls = 0
    group = next(group for group in failures_of(house).groups() if group.digester == "text")
    text.make = lambda _source: [Output("text", "well")]

    assert failures_of(house).retry(group.id) == 3
    assert [house.digest(file_id, "text") for file_id in ids] == [("todo", None, 0)] * 3
    assert [house.digest(file_id, "other")[0] for file_id in ids] == ["failed"] * 3
    assert [house.state(file_id) for file_id in ids] == ["processing"] * 3
    for file_id in ids:
        house.process(file_id)
    assert (text.calls, other.calls) == (3, 0)
    assert [remaining.digester for remaining in failures_of(house).groups()] == ["other"]
    with pytest.raises(NotFound):
        failures_of(house).retry(group.id)


def test_a_second_request_does_not_retry_again(bench: Callable[..., Bench]) -> None:
    text = ScriptedDigester("text", raise_unreadable)
    house = bench(text)
    fill(house, 2)
    group = failures_of(house).groups()[0]
    assert failures_of(house).retry(group.id) == 2
    with pytest.raises(NotFound):
        failures_of(house).retry(group.id)


def test_a_digest_that_has_failed_again_meanwhile_is_left_alone(bench: Callable[..., Bench]) -> None:
    house = bench(ScriptedDigester("text", fails(ChildCrashed("it died"))))
    (file_id,) = fill(house, 1)
    seen = list(iterate_failures(house.db))
    house.clock.forward(3600)
    house.process(file_id)
    assert retry_failures(house.database, house.rules, seen, iso(house.clock.now)) == 0
    assert house.digest(file_id, "text") == ("failed", "crash", 2)


def test_a_group_counts_the_failures_that_are_retried_automatically(bench: Callable[..., Bench]) -> None:
    house = bench(ScriptedDigester("text", fails(ChildCrashed("it died"))))
    ids = fill(house, 2)
    (group,) = failures_of(house).groups()
    assert (group.again, group.again_at) == (2, digest_queue.next_retry(house.db))
    house.clock.forward(3600)
    house.process(ids[0])
    house.clock.forward(3600)
    house.process(ids[0])
    (group,) = failures_of(house).groups()
    assert (group.files, group.again) == (2, 1)


def test_a_failure_that_only_waits_for_or_follows_from_another_is_not_a_cause(bench: Callable[..., Bench]) -> None:
    house = bench(
        ScriptedDigester("text", fails(ChildCrashed("it died"))),
        ScriptedDigester("tags", raise_unreadable, reads=("text",)),
        ScriptedDigester("summary", reads=("tags",)),
    )
    (file_id,) = fill(house, 1)
    assert house.digest(file_id, "tags")[1] == "dependency"
    assert [group.digester for group in failures_of(house).groups()] == ["text"]
    for _ in range(2):
        house.clock.forward(3600)
        house.process(file_id)
    assert house.digest(file_id, "tags")[:2] == ("failed", "validation")
    assert [group.digester for group in failures_of(house).groups()] == ["text"]


def test_vanished_files_have_no_failures(bench: Callable[..., Bench]) -> None:
    house = bench(ScriptedDigester("text", raise_unreadable))
    fill(house, 1)
    (house.root / "n.txt").unlink()
    house.scanner.scan()
    assert failures_of(house).groups() == []


def test_many_retries_get_the_lower_priority(bench: Callable[..., Bench]) -> None:
    house = bench(ScriptedDigester("text", raise_unreadable))
    fill(house, FEW + 1)
    group = failures_of(house).groups()[0]
    failures_of(house).retry(group.id)
    assert set(house.db.execute("SELECT priority FROM digests")) == {(digests.AGAIN,)}

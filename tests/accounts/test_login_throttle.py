"""After wrong guesses a visitor has to wait, longer each time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from chyme.accounts.login_throttle import BRIEF_WAIT, LONGEST_WAIT, MAX_KEYS, LoginThrottle, network_key, wait_after


class Clock:
    moment = datetime(2026, 4, 3, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment


def test_the_first_guesses_are_free_and_then_each_waits_twice_as_long() -> None:
    waits = [wait_after(wrong, 5).total_seconds() for wrong in range(1, 9)]
    assert waits == [0, 0, 0, 0, 5, 10, 20, 40]
    assert wait_after(10**9, 5) == LONGEST_WAIT


def test_guesses_during_the_wait_are_neither_made_nor_counted() -> None:
    clock = Clock()
    throttle = LoginThrottle(5, clock)
    assert [throttle.start_attempt(["ada"]) for _ in range(6)] == [0, 0, 0, 0, 0, 5]
    assert throttle.start_attempt(["ada"]) == 5
    clock.moment += timedelta(seconds=5)
    assert throttle.start_attempt(["ada"]) == 0
    assert throttle.start_attempt(["ada"]) == 10


def test_a_guesser_who_must_wait_for_one_key_must_wait_for_all() -> None:
    throttle = LoginThrottle(2, Clock())
    for _ in range(2):
        throttle.start_attempt(["from here", "ada"])
    assert throttle.start_attempt(["from elsewhere", "ada"]) > 0
    assert throttle.start_attempt(["from here", "bob"]) > 0
    assert throttle.start_attempt(["from elsewhere", "bob"]) == 0


def test_a_brief_key_causes_no_long_wait() -> None:
    clock = Clock()
    throttle = LoginThrottle(5, clock)
    for number in range(40):
        wait = throttle.start_attempt([f"from {number}", f"ada from {number}"], brief=["ada"])
        assert wait <= BRIEF_WAIT.total_seconds() == 30
        clock.moment += timedelta(seconds=wait)
    clock.moment += BRIEF_WAIT
    assert throttle.start_attempt(["from home", "ada from home"], brief=["ada"]) == 0


def test_the_same_guesser_of_a_brief_key_waits_long() -> None:
    clock = Clock()
    throttle = LoginThrottle(5, clock)
    seconds = []
    for _ in range(40):
        seconds.append(throttle.start_attempt(["from here"], brief=["ada"]))
        clock.moment += timedelta(seconds=seconds[-1])
    assert max(seconds) == LONGEST_WAIT.total_seconds()


def test_a_correct_guess_and_the_passing_of_time_reset_the_count() -> None:
    clock = Clock()
    throttle = LoginThrottle(2, clock)
    throttle.start_attempt(["ada"])
    throttle.record_success(["ada"])
    assert [throttle.start_attempt(["ada"]), throttle.start_attempt(["ada"])] == [0, 0]
    clock.moment += timedelta(hours=2)
    assert [throttle.start_attempt(["ada"]), throttle.start_attempt(["ada"])] == [0, 0]


def test_guessers_do_not_fill_the_memory() -> None:
    throttle = LoginThrottle(1, Clock())
    for number in range(MAX_KEYS + 50):
        throttle.start_attempt([f"from {number}"])
    assert len(throttle._guesses) == MAX_KEYS


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("192.0.2.7", "from 192.0.2.7"),
        ("::ffff:192.0.2.7", "from 192.0.2.7"),
        ("2001:db8::1", "from 2001:db8::/64"),
        ("2001:db8::ffff:2", "from 2001:db8::/64"),
        ("fe80::1%eth0", "from fe80::/64"),
        ("made up", "from elsewhere"),
    ],
)
def test_a_network_counts_as_one_guesser(address: str, key: str) -> None:
    assert network_key(address) == key

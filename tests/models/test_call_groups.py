"""Calls of one vault are cancelled alone: those of another go on."""

from __future__ import annotations

import asyncio
import threading

import pytest

from chyme.models.providers.cancellation import CallStopped, cancel_calls, run_in_own_loop


def test_only_the_calls_of_the_group_are_cancelled() -> None:
    ours, others = object(), object()
    begun, go_on = threading.Event(), threading.Event()
    answers: list[str] = []

    async def wait() -> str:
        begun.set()
        while not go_on.is_set():
            await asyncio.sleep(0.01)
        return "answered"

    thread = threading.Thread(target=lambda: answers.append(run_in_own_loop(wait(), others)))
    thread.start()
    begun.wait()
    with cancel_calls(ours), pytest.raises(CallStopped):
        run_in_own_loop(wait(), ours)
    go_on.set()
    thread.join()
    assert answers == ["answered"]


def test_without_a_group_all_are_cancelled() -> None:
    async def answer() -> str:
        await asyncio.sleep(0)
        return "answered"

    with cancel_calls(), pytest.raises(CallStopped):
        run_in_own_loop(answer(), object())
    assert run_in_own_loop(answer(), object()) == "answered"

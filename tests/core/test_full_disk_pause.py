"""A full disk while a digester works costs the file no attempt."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

import pytest
from coordinating import Bench, ScriptedDigester

from chyme.core.pipeline.transitions import PassResult
from chyme.digester import Source
from chyme.errors import DiskFull
from chyme.model import Output


@pytest.mark.parametrize(
    "met",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)),
        DiskFull("note.txt: no room left for words"),
    ],
)
def test_no_room_costs_no_attempt_and_the_file_is_taken_again(bench: Callable[..., Bench], met: Exception) -> None:
    def make(_source: Source) -> list[Output]:
        raise met

    words = ScriptedDigester("words", make)
    vault = bench(words)
    note = vault.drop("note.txt")

    assert vault.process(note) is PassResult.STOPPED
    assert vault.digest(note, "words") == ("todo", None, 0)
    words.make = lambda _source: [Output("words", "hello")]
    assert vault.process(note) is PassResult.DONE
    assert vault.digest(note, "words") == ("completed", None, 1)

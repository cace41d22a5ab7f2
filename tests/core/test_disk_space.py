"""Digestion pauses while the disk is full."""

from __future__ import annotations

from pathlib import Path

from chyme.core.pipeline.pause import DiskSpace


def test_a_failure_from_before_the_pause_ended_does_not_pause_again(tmp_path: Path) -> None:
    room = DiskSpace(tmp_path, room_bytes=1, look_seconds=0.0)
    began = room.resumed
    room.pause("the disk is full", began)
    assert room.paused == "the disk is full"
    assert room.may_resume()

    room.pause("a write that began before", began)
    assert room.paused is None

    room.pause("the disk is full again", room.resumed)
    assert room.paused == "the disk is full again"

"""Failures in words: one line for each file, since what fails first often takes its readers along."""

from __future__ import annotations

from collections.abc import Iterable

from chyme.doors.cli.vault_options import printable
from chyme.model import Digest


def format_failures(failed: Iterable[Digest]) -> list[str]:
    """The first failure of each file, and how many digests of it failed besides."""
    by_file: dict[int, list[Digest]] = {}
    for digest in failed:
        by_file.setdefault(digest.file_id, []).append(digest)
    return [_line(digests) for digests in by_file.values()]


def _line(digests: list[Digest]) -> str:
    first = min(digests, key=lambda digest: digest.updated_at)
    others = len(digests) - 1
    besides = f" ({others} more of its digests failed)" if others else ""
    return f"{first.error_category}: {printable(first.error or '')}{besides}"

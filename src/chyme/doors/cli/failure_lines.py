"""Failures as text: one line for each file, because digests that depend on the first failed one often fail too."""

from __future__ import annotations

from collections.abc import Iterable

from chyme.doors.cli.vault_options import printable
from chyme.model import Digest


def format_failures(failed: Iterable[Digest]) -> list[str]:
    """Describe the first failure of each file and how many other digests of it failed."""
    by_file: dict[int, list[Digest]] = {}
    for digest in failed:
        by_file.setdefault(digest.file_id, []).append(digest)
    return [_format_file(digests) for digests in by_file.values()]


def _format_file(digests: list[Digest]) -> str:
    first = min(digests, key=lambda digest: digest.updated_at)
    others = len(digests) - 1
    suffix = f" ({others} more of its digests failed)" if others else ""
    return f"{first.error_category}: {printable(first.error or '')}{suffix}"

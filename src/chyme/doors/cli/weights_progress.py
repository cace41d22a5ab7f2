"""A bar in the terminal while weights are fetched."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TransferSpeedColumn

from chyme.models.weights.catalog import Weights
from chyme.models.weights.download import Report


class WeightsBar:
    """Shows one bar for each download, on a terminal only."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("weights for {task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            console=Console(stderr=True),
            transient=True,
            refresh_per_second=4,
            disable=not sys.stderr.isatty(),
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> WeightsBar:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, weights: Weights) -> Report:
        self._progress.start()
        task = self._progress.add_task(weights.capability, total=weights.bytes)
        self._tasks[weights.capability] = task
        return lambda arrived: self._progress.update(task, completed=arrived)

    def end(self, weights: Weights) -> None:
        self._progress.remove_task(self._tasks.pop(weights.capability))
        if not self._tasks:
            self._progress.stop()  # the terminal belongs to others again

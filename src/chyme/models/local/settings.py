"""Settings of the local model. Plain values that can be sent anywhere; nothing here starts a process."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

from chyme.models.weights.catalog import CATALOG, LLM, Weights
from chyme.models.weights.folder import path_of

PACKAGE = "xllamacpp"
REMEDY = "run 'make llm'"
NOBODY = (65534, 65534)


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """The local model; it is loaded and asked in a child process."""

    weights_dir: str = ""  # the folder of the weights; empty means beside Python
    capability: str = LLM.capability  # which weights
    seconds: float = 300.0  # limit for one question, once it is its turn
    threads: int = 0  # cores it computes on; 0 means all
    context: int = 8192  # tokens of a question and its answer together
    answer: int = 1536  # tokens of an answer; a small model may never stop by itself
    memory_bytes: int = 2 << 30  # in addition to the weights file, which is memory-mapped
    idle_seconds: float = 300.0  # unused for so long, it ends, and starts again when it is needed
    start_seconds: float = 180.0  # limit for checking the weights and loading them
    run_as: tuple[int, int] = NOBODY  # user and group, where chyme itself is root

    @property
    def weights(self) -> Weights:
        return CATALOG[self.capability]

    @property
    def fingerprint(self) -> str:
        """What changes every answer."""
        return f"{self.weights.engine} here, {self.context} tokens, {self.answer} of them to answer"

    @property
    def missing(self) -> str:
        """What must be done before it can run; empty if it can."""
        if importlib.util.find_spec(PACKAGE) is None:
            return f"its program, {PACKAGE}, is not installed; {REMEDY}"
        if path_of(self.weights, self.weights_dir) is None:
            return f"its weights are not there; {REMEDY}"
        return ""

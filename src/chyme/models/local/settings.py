"""How the local model is run. Plain values: they go wherever settings go, and nothing here starts anything."""

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
    """The model of our own; it is loaded and asked in a child."""

    weights_dir: str = ""  # where weights are; empty means beside Python
    capability: str = LLM.capability  # whose weights
    seconds: float = 300.0  # one question takes no longer, once it is its turn
    threads: int = 0  # how many cores it computes on; 0 means all
    context: int = 8192  # tokens of a question and its answer together
    answer: int = 1536  # tokens of an answer; a small model may never come to an end by itself
    memory_bytes: int = 2 << 30  # how much it may use beside the file of its weights, which is memory-mapped
    idle_seconds: float = 300.0  # nobody has asked for so long: it ends, and starts again when somebody does
    start_seconds: float = 180.0  # checking the weights and loading them may take so long
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
        """What there is to do before it can run; nothing when it can."""
        if importlib.util.find_spec(PACKAGE) is None:
            return f"its program, {PACKAGE}, is not installed; {REMEDY}"
        if path_of(self.weights, self.weights_dir) is None:
            return f"its weights are not there; {REMEDY}"
        return ""

"""Settings of the embedded MiniLM model. Plain values; nothing here loads a model."""

from __future__ import annotations

import os
from dataclasses import dataclass

from chyme.core.package_versions import describe_versions
from chyme.models.embedding.minilm_network import VERSION
from chyme.models.weights.catalog import EMBEDDING
from chyme.models.weights.folder import path_of

DIMENSION = 384
MODEL = f"{EMBEDDING.engine} {DIMENSION} int8"  # vectors of different models cannot be compared
EXACT = f"{EMBEDDING.engine} {DIMENSION} float32"


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """Where the model is, and how much of the machine it may use."""

    weights_dir: str = ""  # the folder of fetched weights; empty: beside Python
    threads: int = 1  # texts embedded at once in one child; 0: one per core

    @property
    def model(self) -> str:
        """The name under which vectors are stored."""
        return MODEL

    @property
    def workers(self) -> int:
        return self.threads or len(os.sched_getaffinity(0))

    @property
    def fingerprint(self) -> str:
        """What changes the vectors, and whether weights are present, so that digests are redone when they appear."""
        presence = "with" if path_of(EMBEDDING, self.weights_dir) else "without"
        identity = EMBEDDING.members[0].sha256[:16]
        return (
            f"{MODEL} {identity} {presence} weights, "
            f"network {VERSION}, {describe_versions('onnxruntime', 'tokenizers')}"
        )

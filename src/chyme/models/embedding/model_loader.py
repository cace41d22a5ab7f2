"""Load an embedding model. The weights are checked while the libraries load, because a person may be waiting."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from chyme.errors import EngineUnavailable
from chyme.models.weights.catalog import Weights
from chyme.models.weights.folder import verified_folder

Model = TypeVar("Model")


def load_model(weights: Weights, weights_dir: str, make: Callable[[Path], Model]) -> Model:
    """The model that `make` builds from the folder with these weights, or EngineUnavailable with the way out."""
    missing: ImportError | None = None
    with ThreadPoolExecutor(1) as pool:
        checking = pool.submit(verified_folder, weights, weights_dir)
        try:
            import onnxruntime  # type: ignore[import-untyped]  # noqa: F401
            import tokenizers  # noqa: F401
        except ImportError as error:
            missing = error
        folder = checking.result()
    if missing:
        raise EngineUnavailable(
            f"embedding texts needs onnxruntime and tokenizers ({missing}); pip install onnxruntime tokenizers"
        )
    try:
        return make(folder)
    except ValueError as error:
        raise EngineUnavailable(
            f"the weights for {weights.capability} are not those of {weights.engine} ({error}); "
            f"run 'chyme weights {weights.capability}'"
        ) from error

"""Getting ready to embed: the weights are checked while the libraries load, for somebody may be waiting."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from chyme.errors import EngineUnavailable
from chyme.models.weights.catalog import Weights
from chyme.models.weights.folder import verified_folder

Made = TypeVar("Made")


def load_model(weights: Weights, weights_dir: str, make: Callable[[Path], Made]) -> Made:
    """What is made of the folder with these weights, or EngineUnavailable with the way out."""
    with ThreadPoolExecutor(1) as pool:
        checking = pool.submit(verified_folder, weights, weights_dir)
        missing = _libraries()
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


def _libraries() -> ImportError | None:
    """Why the libraries cannot be loaded, if they cannot."""
    try:
        import onnxruntime  # type: ignore[import-untyped]  # noqa: F401
        import tokenizers  # noqa: F401
    except ImportError as error:
        return error
    return None

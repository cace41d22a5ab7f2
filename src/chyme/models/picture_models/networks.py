"""Open networks and tokenizers of a model in a folder, and run them with what they ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chyme.errors import EngineUnavailable
from chyme.models.picture_models.folder import TOKENIZER, ModelFolder
from chyme.models.weights.onnx_session import open_session

SETTING = "picture_model_dir"


class Network:
    """A network whose inputs and outputs are known by name."""

    def __init__(self, path: Path) -> None:
        try:
            self._session = open_session(str(path))
        except ValueError as error:
            raise EngineUnavailable(f"{path} cannot be loaded ({_first_line(error)}); check {SETTING}") from error
        self.path = path
        self.inputs = {item.name: item for item in self._session.get_inputs()}
        self.outputs = {item.name: item for item in self._session.get_outputs()}

    def run(self, outputs: Sequence[str], inputs: Mapping[str, Any]) -> list[Any]:
        """Those of the inputs that the network has are given to it."""
        missing = [name for name in self.inputs if name not in inputs]
        if missing:
            raise EngineUnavailable(
                f"{self.path} wants {missing[0]}, which chyme cannot give it; export it without cache"
            )
        given = {name: self._cast(name, value) for name, value in inputs.items() if name in self.inputs}
        try:
            results: list[Any] = self._session.run(list(outputs), given)
        except Exception as error:  # onnxruntime's errors have no common parent
            raise EngineUnavailable(f"{self.path} cannot be run ({_first_line(error)}); check {SETTING}") from error
        return results

    def fixed_length(self, name: str) -> int | None:
        """How many tokens the input must have, if the network says so."""
        item = self.inputs.get(name)
        last = item.shape[-1] if item is not None and item.shape else None
        return last if isinstance(last, int) else None

    def output_named(self, *names: str) -> str:
        """The first of these outputs that exists, else the network's first one."""
        return next((name for name in names if name in self.outputs), next(iter(self.outputs)))

    def _cast(self, name: str, value: Any) -> Any:
        """Some exports want other sizes of numbers than most."""
        import numpy

        kinds: dict[str, Any] = {
            "tensor(float16)": numpy.float16,
            "tensor(float)": numpy.float32,
            "tensor(int32)": numpy.int32,
        }
        kinds |= {"tensor(int64)": numpy.int64, "tensor(bool)": numpy.bool_}
        kind = kinds.get(self.inputs[name].type)
        return value if kind is None or value.dtype == kind else value.astype(kind)


def load_tokenizer(model: ModelFolder) -> Any:
    """The model's tokenizer, or EngineUnavailable."""
    from tokenizers import Tokenizer

    path = model.folder / TOKENIZER
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise EngineUnavailable(f"{path} cannot be read ({_first_line(error)}); check {SETTING}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0][:300]

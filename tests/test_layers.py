"""The code follows the picture of the rooms in docs/architecture.md."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[1]

IMPORT_THE_SERVING_SIDE = """
import importlib, pkgutil, sys, chyme

LOADED_IN_CHILDREN = ("chyme.models.providers.error_translation", "chyme.models.providers.model_clients")
NATIVE = {
    "PIL", "anthropic", "anydoc", "av", "ctranslate2", "cv2", "faster_whisper", "google", "html_to_markdown",
    "liteparse", "lxml", "nh3", "numpy", "onnxruntime", "openai", "pillow_heif", "py3langid", "pydantic_ai",
    "pypdfium2", "pypdfium2_raw", "rapidocr", "resvg_py", "tokenizers", "trafilatura", "xberg", "xllamacpp",
}
for module in pkgutil.walk_packages(chyme.__path__, "chyme."):
    if module.name not in LOADED_IN_CHILDREN and not module.name.endswith(".__main__"):
        importlib.import_module(module.name)
        loaded = NATIVE & set(sys.modules)
        if loaded:
            sys.exit(f"importing {module.name} loads {', '.join(sorted(loaded))}")
"""


def test_imports_point_down_and_never_sideways() -> None:
    check = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert check.returncode == 0, check.stdout + check.stderr


def test_the_serving_side_loads_no_native_parser() -> None:
    check = subprocess.run([sys.executable, "-c", IMPORT_THE_SERVING_SIDE], capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stderr

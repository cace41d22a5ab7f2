"""Running a network by onnxruntime: on the caller's thread, without a word, and without keeping memory."""

from __future__ import annotations

from typing import Any


def open_session(network: bytes | str) -> Any:
    """What runs the network, given as a file's bytes or its path; ValueError when it is none."""
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.inter_op_num_threads = options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.enable_cpu_mem_arena = False  # it would keep the most that was ever needed
    try:
        return onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no common parent
        raise ValueError(str(error)) from error

"""Run networks with onnxruntime: on the caller's thread, without output, and without holding on to memory."""

from __future__ import annotations

from typing import Any


def open_session(network: bytes | str, threads: int = 1) -> Any:
    """A session for the network, given as a file's bytes or path; ValueError if it is not a network.

    With more than one thread, the others are onnxruntime's own.
    """
    import onnxruntime  # type: ignore[import-untyped]

    options = onnxruntime.SessionOptions()
    options.inter_op_num_threads, options.intra_op_num_threads = 1, threads
    options.log_severity_level = 4
    options.enable_cpu_mem_arena = False  # the arena would hold the peak memory forever
    try:
        return onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no common parent
        raise ValueError(str(error)) from error

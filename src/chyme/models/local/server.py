"""The child that serves the local model: llama.cpp's own HTTP server, on this machine's loopback alone."""

from __future__ import annotations

import importlib
import os
import resource
import socket
import sys
from pathlib import Path
from typing import Any, cast

from chyme.core.children.main import ParentConnection
from chyme.errors import EngineUnavailable
from chyme.models.local.isolation import confine
from chyme.models.weights.catalog import CATALOG
from chyme.models.weights.folder import verified_folder

BATCH = 128  # tokens computed at once; between two batches it notices that somebody left. More are no quicker
MOST_THREADS = 16
ERRORS_ONLY = 1


def main() -> None:
    sock = socket.socket(fileno=int(sys.argv[1]))
    sock.set_inheritable(False)
    line = ParentConnection(sock)
    received = line.receive()
    if received is None:
        return
    try:
        # Kept, because it serves for as long as it is there.
        server = _serving(cast("dict[str, Any]", received[0].header))
    except EngineUnavailable as error:
        line.send({"kind": "broken", "cause": str(error)})
        return
    except Exception as error:
        line.send({"kind": "broken", "cause": f"{type(error).__name__}: {error}"})
        return
    for noisy in (1, 2):
        os.set_blocking(noisy, False)  # nobody may be listening; it must not wait for them
    line.send({"kind": "ready", "address": server.listening_address})
    line.receive()
    os._exit(0)  # the parent hung up; there is nothing worth winding up


def _serving(told: dict[str, Any]) -> Any:
    """A server that answers whoever has the key."""
    confine(tuple(told["run_as"]), told["parent"])
    os.chdir("/")
    # Threads that wait for each other by spinning make everything four times slower where the cores are shared.
    os.environ.update(OMP_WAIT_POLICY="PASSIVE", GOMP_SPINCOUNT="0")
    weights = CATALOG[told["capability"]]
    model = verified_folder(weights, told["weights_dir"]) / weights.members[0].filename
    llama = importlib.import_module("xllamacpp")
    _bound(told["memory_bytes"] + model.stat().st_size)
    return llama.Server(_parameters(llama.CommonParams(), model, weights.engine, told))


def _parameters(params: Any, model: Path, name: str, told: dict[str, Any]) -> Any:
    params.model.path = str(model)
    params.model_alias = {name}
    params.offline = True
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [told["key"]]
    params.ui = params.endpoint_slots = params.endpoint_props = params.endpoint_metrics = False
    params.cors_origins = ""
    params.verbosity = ERRORS_ONLY
    params.n_parallel = 1
    params.n_ctx = told["context"]
    params.n_predict = told["answer"]
    params.n_batch = params.n_ubatch = BATCH
    params.n_gpu_layers = 0
    params.fit_params = False
    params.no_extra_bufts = True  # a second copy of the weights, in another order, is no quicker here
    params.cache_ram_mib = 0  # the beginning that questions share stays in the context; more is not kept
    threads = min(told["threads"] or len(os.sched_getaffinity(0)), MOST_THREADS)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.sampling.temp = 0.0
    params.sampling.seed = 1
    return params


def _bound(address_space: int) -> None:
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = used + address_space
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    main()

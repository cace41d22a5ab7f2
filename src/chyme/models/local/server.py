"""The child process that serves the local model: llama.cpp's HTTP server, on the loopback interface only."""

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

BATCH = 128  # tokens computed at once; between batches it notices a lost client. More is not faster
MAX_THREADS = 16
ERRORS_ONLY = 1


def main() -> None:
    sock = socket.socket(fileno=int(sys.argv[1]))
    sock.set_inheritable(False)
    connection = ParentConnection(sock)
    request = connection.receive()
    if request is None:
        return
    try:
        # Keep a reference, because the server runs only as long as it exists.
        server = _start_server(cast("dict[str, Any]", request[0].header))
    except EngineUnavailable as error:
        connection.send({"kind": "broken", "cause": str(error)})
        return
    except Exception as error:
        connection.send({"kind": "broken", "cause": f"{type(error).__name__}: {error}"})
        return
    for descriptor in (1, 2):
        os.set_blocking(descriptor, False)  # if its output is not read, the server must not block
    connection.send({"kind": "ready", "address": server.listening_address})
    connection.receive()
    os._exit(0)  # the parent hung up; there is nothing to clean up


def _start_server(options: dict[str, Any]) -> Any:
    """A server that answers clients with the key."""
    confine(tuple(options["run_as"]), options["parent"])
    os.chdir("/")
    # Threads that wait for each other by spinning make everything four times slower on shared cores.
    os.environ.update(OMP_WAIT_POLICY="PASSIVE", GOMP_SPINCOUNT="0")
    weights = CATALOG[options["capability"]]
    model = verified_folder(weights, options["weights_dir"]) / weights.members[0].filename
    llama = importlib.import_module("xllamacpp")
    _limit_address_space(options["memory_bytes"] + model.stat().st_size)
    return llama.Server(_parameters(llama.CommonParams(), model, weights.engine, options))


def _parameters(params: Any, model: Path, name: str, options: dict[str, Any]) -> Any:
    params.model.path = str(model)
    params.model_alias = {name}
    params.offline = True
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [options["key"]]
    params.ui = params.endpoint_slots = params.endpoint_props = params.endpoint_metrics = False
    params.cors_origins = ""
    params.verbosity = ERRORS_ONLY
    params.n_parallel = 1
    params.n_ctx = options["context"]
    params.n_predict = options["answer"]
    params.n_batch = params.n_ubatch = BATCH
    params.n_gpu_layers = 0
    params.fit_params = False
    params.no_extra_bufts = True  # a second copy of the weights, in another order, is not faster here
    params.cache_ram_mib = 0  # the prefix that questions share stays in the context; nothing else is cached
    threads = min(options["threads"] or len(os.sched_getaffinity(0)), MAX_THREADS)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.sampling.temp = 0.0
    params.sampling.seed = 1
    return params


def _limit_address_space(address_space: int) -> None:
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = used + address_space
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    main()

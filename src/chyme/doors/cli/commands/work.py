"""chyme work: run attempts for the coordinators of vaults on other machines."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import click

from chyme.application.settings import Settings, read_settings
from chyme.doors.cli import log_formats
from chyme.doors.cli.main import Terminated
from chyme.errors import EngineUnavailable

log = logging.getLogger(__name__)

LOCAL_NAME = "worker"


def default_scratch() -> Path:
    state = os.environ.get("XDG_STATE_HOME", "")
    return (Path(state) if os.path.isabs(state) else Path.home() / ".local/state") / "chyme-worker"


def _split(value: str) -> tuple[str, ...]:
    return tuple(word for word in value.replace(",", " ").split() if word)


@click.command()
@click.option("--url", required=True, envvar="CHYME_WORKERS_URL", help="Where NATS is, such as tls://nats.lan:4222.")
@click.option(
    "--credentials",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="CHYME_WORKERS_CREDENTIALS",
    help="The file that 'chyme cluster' made for this worker.",
)
@click.option("--name", default=LOCAL_NAME, help="Its name, where no credentials name it (loopback only).")
@click.option("--only", default="", help="The digesters it makes, such as image-ocr,speech-recognition; else all.")
@click.option("--places", type=click.IntRange(0, 1000), default=0, help="Attempts at once; 0 means one per core.")
@click.option("--vaults", default="", help="The vaults it works for; else all that its credentials allow.")
@click.option("--scratch", type=click.Path(path_type=Path, file_okay=False), help="The folder for files it works on.")
@click.option("--quota-mb", type=click.IntRange(1), default=20_000, help="How much that folder may hold.")
@click.option("--grace", type=click.FloatRange(0), default=30.0, help="Seconds to finish what runs when told to end.")
@click.option("--health-port", type=click.IntRange(0, 65535), help="Tell at http://127.0.0.1:PORT/health how it is.")
@click.option("--fetch-weights", is_flag=True, help="Fetch the weights of models that are missing first.")
@click.option(
    "--without-isolation",
    is_flag=True,
    help="Start although children cannot be cut off from the network: a hostile file could then reach it.",
)
@click.pass_context
def work(
    context: click.Context,
    url: str,
    credentials: Path | None,
    name: str,
    only: str,
    places: int,
    vaults: str,
    scratch: Path | None,
    quota_mb: int,
    grace: float,
    health_port: int | None,
    fetch_weights: bool,
    without_isolation: bool,
) -> None:
    """Work for vaults on other machines: take attempts from their coordinators through NATS.

    It has no vault and no database. Its settings are those of the environment, and of settings.toml in its scratch
    folder; programs, paths and memory are its own.
    """
    from chyme.workers.nats_client import require_nats_client

    require_nats_client()
    from chyme.application.worker_process import WorkerOptions, make_worker  # imported here: it takes a second
    from chyme.workers.health import HealthServer

    folder = scratch or default_scratch()
    settings = read_settings(folder, os.environ)
    log_formats.set_up(settings.log_format, bool(context.obj))
    # They name files, which are none of this machine's business.
    logging.getLogger("chyme.core.children").setLevel(logging.WARNING)
    if fetch_weights:
        _fetch_weights(settings)
    options = WorkerOptions(
        *(url, credentials, name, folder, quota_mb, places, _split(only), _split(vaults), grace, without_isolation)
    )
    worker = make_worker(options, settings)
    health = HealthServer(health_port, worker.describe) if health_port is not None else None
    worker.start()
    log.info("waiting for work")
    try:
        worker.wait()
    except (KeyboardInterrupt, Terminated):
        log.info("ending")
        worker.drain()
    finally:
        worker.close()
        if health is not None:
            health.close()


def _fetch_weights(settings: Settings) -> None:
    from chyme.application.weights_fetching import fetch_permitted
    from chyme.models.weights.catalog import CATALOG, DEFAULT_CAPABILITIES

    for capability in DEFAULT_CAPABILITIES:
        try:
            fetch_permitted(CATALOG[capability], settings)
        except EngineUnavailable as error:
            log.warning("%s", error)

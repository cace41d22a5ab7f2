"""chyme cluster: the credentials of workers and coordinators, and the configuration of the NATS server between them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import click

from chyme.core import clock
from chyme.doors.cli.vault_options import print_json, printable
from chyme.workers.certificates import AUTHORITY_DAYS
from chyme.workers.cluster import Person, Role, cluster_json, person_json
from chyme.workers.cluster_folder import FIRST_COORDINATOR, FIRST_WORKER, ClusterFolder
from chyme.workers.names import ALL_VAULTS, SERVER
from chyme.workers.server_config import CONFIG, PID_FILE
from chyme.workers.server_process import Reload

_SOON = timedelta(days=30)
_NAME = click.argument("name")
_DIR = click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
_DAYS = click.option(
    "--days",
    type=click.IntRange(1, AUTHORITY_DAYS),
    default=365,
    show_default=True,
    help="The certificate expires after so many days.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")


def _vaults_option(explanation: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option("--vaults", metavar="A,B", callback=_split_vaults, help=explanation)


def _split_vaults(_context: click.Context, _option: click.Parameter, value: str | None) -> list[str] | None:
    return None if value is None else [name.strip() for name in value.split(",")]


@click.group()
def cluster() -> None:
    """Manage who may work for vaults from other machines, through a NATS server."""


@cluster.command()
@_DIR
@click.option("--host", "hosts", multiple=True, required=True, help="How others reach the server; may be repeated.")
@click.option("--port", type=click.IntRange(1, 65535), default=4222, show_default=True, help="The server's port.")
@_vaults_option("Only these vaults; without it every vault.")
@_DAYS
@_JSON
def init(folder: Path, hosts: tuple[str, ...], port: int, vaults: list[str] | None, days: int, as_json: bool) -> None:
    """Make a cluster in a new folder DIR: an authority, the server's configuration, a coordinator and a worker."""
    made = ClusterFolder.create(folder, hosts, port, vaults or [ALL_VAULTS], days, clock.now())
    found = made.read()
    coordinator, worker = made.credentials_of(FIRST_COORDINATOR), made.credentials_of(FIRST_WORKER)
    start = shlex.join(["nats-server", "-c", str(made.folder / CONFIG)])
    settings = {"workers_url": found.url, "workers_credentials": str(coordinator)}
    work = shlex.join(["chyme", "work", "--url", found.url, "--credentials", worker.name])
    if as_json:
        commands = {"server": start, "worker": work}
        print_json(
            {"folder": str(made.folder), "cluster": cluster_json(found), "commands": commands, "settings": settings}
        )
        return
    click.echo(f"made a cluster in {printable(str(made.folder))}; keep ca.key secret: it lets anyone in")
    click.echo("\nStart the server:")
    click.echo(f"  {start}")
    click.echo("\nIn the settings of the vault whose files workers digest:")
    for name, value in settings.items():
        click.echo(f"  {name} = {json.dumps(value, ensure_ascii=False)}")
    click.echo(f"\nOn another machine, with a copy of {printable(str(worker))} that only its user may read:")
    click.echo(f"  {work}")


@cluster.command("add-worker")
@_NAME
@_DIR
@_vaults_option("Only these vaults; without it those of the cluster.")
@_DAYS
@_JSON
def add_worker(name: str, folder: Path, vaults: list[str] | None, days: int, as_json: bool) -> None:
    """Make credentials for a worker called NAME."""
    _add(name, Role.WORKER, folder, vaults, days, as_json)


@cluster.command("add-coordinator")
@_NAME
@_DIR
@_vaults_option("Only these vaults; without it those of the cluster.")
@_DAYS
@_JSON
def add_coordinator(name: str, folder: Path, vaults: list[str] | None, days: int, as_json: bool) -> None:
    """Make credentials for a coordinator called NAME: a chyme that has vaults, and hands out their work."""
    _add(name, Role.COORDINATOR, folder, vaults, days, as_json)


@cluster.command("remove-worker")
@_NAME
@_DIR
@_JSON
def remove_worker(name: str, folder: Path, as_json: bool) -> None:
    """Remove a worker or coordinator. They are disconnected, and their certificate never works again."""
    opened = ClusterFolder(folder)
    person, reloaded = opened.remove(name)
    if as_json:
        print_json({"removed": person_json(person), "server": reloaded})
        return
    click.echo(f"{person.role} {person.name} is removed")
    _print_reload(opened, reloaded, "until then, they stay connected")


@cluster.command()
@_NAME
@_DIR
@_DAYS
@_JSON
def renew(name: str, folder: Path, days: int, as_json: bool) -> None:
    """Make a new certificate for a worker or coordinator, or for the server (NAME is 'server')."""
    opened = ClusterFolder(folder)
    expires, reloaded = opened.renew(name, days, clock.now())
    file = opened.credentials_of(name)
    if as_json:
        print_json({"name": name, "file": str(file), "expires": expires.isoformat(), "server": reloaded})
        return
    click.echo(f"{printable(str(file))} is valid until {expires:%Y-%m-%d}")
    if name == SERVER:
        _print_reload(opened, reloaded, "until then, it uses the old certificate")
    else:
        click.echo("put it in the place of the old file; running processes use it when they connect again")


@cluster.command()
@_DIR
@_JSON
def show(folder: Path, as_json: bool) -> None:
    """Show who may connect, for which vaults, and when each certificate expires."""
    found = ClusterFolder(folder).read()
    if as_json:
        print_json(cluster_json(found))
        return
    now = clock.now()
    click.echo(f"server       {found.url}, {_until(found.server_expires, now)}")
    click.echo(f"authority    {_until(found.authority_expires, now)}")
    for person in found.people:
        click.echo(f"{person.role:<12} {person.name}: {_describe_vaults(person)}, {_until(person.expires, now)}")


def _add(name: str, role: Role, folder: Path, vaults: list[str] | None, days: int, as_json: bool) -> None:
    opened = ClusterFolder(folder)
    person, reloaded = opened.add(name, role, vaults, days, clock.now())
    file = opened.credentials_of(name)
    if as_json:
        print_json({role: person_json(person), "file": str(file), "server": reloaded})
        return
    click.echo(f"{person.role} {person.name}: {_describe_vaults(person)}, until {person.expires:%Y-%m-%d}")
    click.echo(f"credentials: {printable(str(file))}")
    _print_reload(opened, reloaded, "until then, it does not know them")


def _print_reload(opened: ClusterFolder, reloaded: Reload, until_then: str) -> None:
    if reloaded is Reload.REQUESTED:
        click.echo("the server reads its configuration again")
        return
    command = shlex.join(["nats-server", "--signal", f"reload={opened.folder / PID_FILE}"])
    reason = (
        f"the server does not run here; if it runs elsewhere, copy {CONFIG} and the files it names there"
        if reloaded is Reload.NOT_RUNNING
        else "the server runs as another user"
    )
    click.echo(f"{reason}. Have it read its configuration again ({until_then}):\n  {command}", err=True)


def _describe_vaults(person: Person) -> str:
    return "every vault" if person.vaults == (ALL_VAULTS,) else f"vaults {', '.join(person.vaults)}"


def _until(expires: datetime, now: datetime) -> str:
    if expires <= now:
        return f"expired on {expires:%Y-%m-%d}: renew it"
    return f"until {expires:%Y-%m-%d}" + (": renew it soon" if expires - now <= _SOON else "")

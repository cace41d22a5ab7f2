"""chyme service: have systemd run `chyme serve`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from chyme.application.service_manager import DEFAULT_NAME, ServiceManager, ServiceState
from chyme.application.service_unit import Service, unit_text
from chyme.doors.cli.vault_options import find_vault, print_json, printable

_FOLDERS = click.argument("folders", nargs=-1, type=click.Path(path_type=Path, file_okay=False), metavar="[VAULT…]")
_NAME = click.option("--name", default=DEFAULT_NAME, show_default=True, help="The name of the unit.")
_SYSTEM = click.option("--system", is_flag=True, help="For the whole machine, hardened further; only root may.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")


def _what_to_run(command: Callable[..., None]) -> Callable[..., None]:
    """Add what `serve` gets, and as whom it runs."""
    options = (
        _FOLDERS,
        click.option("--host", help="The address to listen on; beyond loopback, accounts or tokens are needed."),
        click.option("--port", type=click.IntRange(0, 65535), help="The port to listen on."),
        click.option("--run-as", default="", help="With --system: the user; else the one the vault belongs to."),
        _SYSTEM,
        _NAME,
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group()
def service() -> None:
    """Have systemd run 'chyme serve', from sign-in or from the start of the machine."""


@service.command()
@_what_to_run
@click.option("--no-start", is_flag=True, help="Only write the unit; do not enable or start it.")
@_JSON
def install(no_start: bool, as_json: bool, system: bool, name: str, **arguments: Any) -> None:
    """Write the unit, and run it now and from now on. A second time, it replaces the unit and starts it anew."""
    manager = ServiceManager(name, system, os.environ)
    state = manager.install(_plan(manager, **arguments), start=not no_start)
    _print_state(state, as_json)
    if not (as_json or system or state.note or no_start):
        click.echo(
            "it runs while you are signed in; 'loginctl enable-linger' lets it run from the start of the machine"
        )
    _exit(state)


@service.command("print")
@_what_to_run
def print_(system: bool, name: str, **arguments: Any) -> None:
    """Print the unit that install would write."""
    click.echo(unit_text(_plan(ServiceManager(name, system, os.environ), **arguments)), nl=False)


@service.command()
@_SYSTEM
@_NAME
@_JSON
def uninstall(system: bool, name: str, as_json: bool) -> None:
    """End the service and remove its unit. Vaults, accounts and weights stay."""
    state = ServiceManager(name, system, os.environ).uninstall()
    _print_state(state, as_json)
    _exit(state)


@service.command()
@_SYSTEM
@_NAME
@_JSON
def status(system: bool, name: str, as_json: bool) -> None:
    """Show whether the service is installed, enabled and running."""
    state = ServiceManager(name, system, os.environ).state()
    _print_state(state, as_json)
    click.get_current_context().exit(0 if state.active == "active" else 1)


def _plan(
    manager: ServiceManager, folders: tuple[Path, ...], host: str | None, port: int | None, run_as: str
) -> Service:
    return manager.plan(folders or (find_vault(None),), host, port, run_as)


def _print_state(state: ServiceState, as_json: bool) -> None:
    if as_json:
        print_json(asdict(state))
        return
    click.echo(f"{printable(state.unit)}: {'installed' if state.installed else 'not installed'}")
    if state.enabled or state.active:
        click.echo(f"systemd: {state.enabled or 'unknown'}, {state.active or 'unknown'}")
    if state.note:
        click.echo(f"chyme: {printable(state.note)}", err=True)


def _exit(state: ServiceState) -> None:
    if state.note:
        click.get_current_context().exit(1)

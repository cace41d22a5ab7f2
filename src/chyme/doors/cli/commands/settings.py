"""chyme settings: show settings, and set or remove one in settings.toml."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict

import click

from chyme.application.settings_view import SettingsView, SettingView, is_secret, view_settings
from chyme.core.files.vault_folder import STATE
from chyme.doors.cli.vault_options import (
    GroupOptions,
    find_state_folder,
    find_vault,
    group_options,
    open_vault,
    print_json,
    printable,
    vault_group,
)
from chyme.doors.local_socket.client import ask_server


@vault_group
def settings(options: GroupOptions) -> None:
    """Show settings, and set those that may be set while chyme runs."""
    _list(options, everything=False)


@settings.command("list")
@click.option("--all", "everything", is_flag=True, help="Also those that have their default.")
@group_options
def list_settings(options: GroupOptions, everything: bool) -> None:
    """Show the settings that differ from their defaults, and where their values come from."""
    _list(options, everything)


@settings.command("set")
@click.argument("name")
@click.argument("value", required=False)
@group_options
def set_setting(options: GroupOptions, name: str, value: str | None) -> None:
    """Check a setting and store it in settings.toml. Without VALUE, it is read from standard input, as for a key."""
    if value is None:
        prompt = sys.stdin.isatty()
        value = click.prompt(name, hide_input=is_secret(name)) if prompt else sys.stdin.readline().rstrip("\r\n")
    _change(options, name, value)


@settings.command("unset")
@click.argument("name")
@group_options
def unset_setting(options: GroupOptions, name: str) -> None:
    """Remove a setting from settings.toml: its default applies again."""
    _change(options, name, None)


def _change(options: GroupOptions, name: str, value: str | None) -> None:
    with open_vault(options.vault) as app:
        stored = app.settings_editor.store({name: value})
    answer = ask_server(find_state_folder(options.vault), {"about": "settings"})
    served = answer is not None
    if options.as_json:
        print_json({**asdict(stored), "served": served})
    elif stored.after_restart:
        click.echo(f"{name} is stored; it takes effect when chyme is started again")
    elif served:
        click.echo(f"{name} is stored, and the running server uses it from now on")
    else:
        click.echo(f"{name} is stored; it applies from the next start on")


def _list(options: GroupOptions, everything: bool) -> None:
    folder = find_vault(options.vault).resolve() / STATE
    view = _view(options)
    shown = [setting for setting in view.settings if everything or setting.given or setting.after_restart is not None]
    if options.as_json:
        print_json({"file": view.file, "problem": view.problem, "settings": [asdict(setting) for setting in shown]})
        return
    if view.problem:
        click.echo(printable(view.problem), err=True)
    for setting in shown:
        click.echo(printable(_line(setting)))
    if not shown:
        click.echo(f"every setting has its default; {folder / 'settings.toml'} changes them")


def _view(options: GroupOptions) -> SettingsView:
    from chyme.application.settings import read_settings

    folder = find_vault(options.vault).resolve() / STATE
    return view_settings(read_settings(folder, os.environ), folder, os.environ)


def _line(setting: SettingView) -> str:
    value = "is set" if setting.secret and setting.given else setting.line
    shown = f"{setting.name}: {value}" if setting.secret else value
    effect = f"may be set here, {setting.effect}" if setting.locked is None else "stays in the file"
    return f"{shown}    # {setting.source}; {effect}"

"""The command group, and how every command ends."""

from __future__ import annotations

import contextlib
import importlib
import keyword
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import click

from chyme import __version__
from chyme.doors.cli import log_formats
from chyme.errors import ChymeError

FAILED, REFUSED, INTERRUPTED, TERMINATED = 1, 2, 130, 143

# The command → the module it is in. A module is imported only when its command is called, so that commands start fast.
COMMANDS = {
    "serve": "serve",
    "users": "users",
    "tokens": "tokens",
    "digest": "digest",
    "add": "links",
    "links": "links",
    "mail": "mail",
    "search": "search",
    "similar": "search",
    "searches": "searches",
    "share": "shares",
    "shares": "shares",
    "ask": "ask",
    "status": "status",
    "show": "status",
    "people": "people",
    "tags": "tags",
    "edit": "edit",
    "rename": "rename",
    "ai": "ai",
    "settings": "settings",
    "timeline": "overviews",
    "throughput": "overviews",
    "reset": "maintenance",
    "retry": "maintenance",
    "redo": "maintenance",
    "bulk": "bulk",
    "doctor": "maintenance",
    "index": "maintenance",
    "verify": "maintenance",
    "purge": "maintenance",
    "trash": "trash",
    "weights": "weights",
    "service": "service",
    "work": "work",
    "workers": "workers",
    "backup": "backup",
    "restore": "backup",
    "rescue": "backup",
    "export": "backup",
    "mcp": "mcp",
    "cluster": "cluster",
    "import": "imports",
}


class Terminated(BaseException):
    """This process was asked to end, as service managers do. Everything is closed on the way out."""


class Chyme(click.Group):
    """Finds the commands, and turns our errors into one sentence and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*COMMANDS, *self.commands})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            module = importlib.import_module(f"chyme.doors.cli.commands.{COMMANDS[cmd_name]}")
            self.add_command(getattr(module, f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name))
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _handle_sigterm():
                return super().invoke(ctx)
        except ChymeError as error:
            click.echo(f"chyme: {error}", err=True)
            sys.exit(REFUSED)
        except (KeyboardInterrupt, Terminated) as ended:
            click.echo("stopped; nothing is lost", err=True)
            if ctx.invoked_subcommand == "serve":
                sys.exit(0)  # this is the normal way to end it
            sys.exit(INTERRUPTED if isinstance(ended, KeyboardInterrupt) else TERMINATED)
        except BrokenPipeError:
            sys.stderr.close()
            sys.exit(FAILED)


@contextlib.contextmanager
def _handle_sigterm() -> Iterator[None]:
    """Let SIGTERM end the command as Ctrl-C does: running attempts are returned, the database is closed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second signal must not interrupt the closing
    raise Terminated


@click.group(cls=Chyme, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="chyme")
@click.option("-v", "--verbose", is_flag=True, help="Log more about what happens.")
@click.pass_context
def main(context: click.Context, verbose: bool) -> None:
    """Digest a folder of files and search everything in it."""
    context.obj = verbose
    log_formats.set_up(os.environ.get("CHYME_LOG_FORMAT", "text"), verbose, quiet=context.invoked_subcommand != "serve")

"""The command group, and how every command ends."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import click

from chyme import __version__
from chyme.cli import (
    adding,
    ai,
    assistants,
    backup,
    bulk,
    care,
    digesting,
    editing,
    links,
    logs,
    people,
    reading,
    renaming,
    rescuing,
    searching,
    serving,
    tags,
    tokens,
    trash,
    users,
    weights,
)
from chyme.errors import ChymeError

FAILED, REFUSED, INTERRUPTED, TERMINATED = 1, 2, 130, 143


class Terminated(BaseException):
    """Somebody asked this process to end, as service managers do. Everything is closed on the way out."""


class Chyme(click.Group):
    """Turns our errors into one sentence and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _terminable():
                return super().invoke(ctx)
        except ChymeError as error:
            click.echo(f"chyme: {error}", err=True)
            sys.exit(REFUSED)
        except (KeyboardInterrupt, Terminated) as ended:
            click.echo("stopped; nothing is lost", err=True)
            if ctx.invoked_subcommand == "serve":
                sys.exit(0)  # it is the way to end it
            sys.exit(INTERRUPTED if isinstance(ended, KeyboardInterrupt) else TERMINATED)
        except BrokenPipeError:
            sys.stderr.close()
            sys.exit(FAILED)


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM ends the command like Ctrl-C does: running attempts are given back, the database is closed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough; closing must not be cut short
    raise Terminated


@click.group(cls=Chyme, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="chyme")
@click.option("-v", "--verbose", is_flag=True, help="Say more about what happens.")
@click.pass_context
def main(context: click.Context, verbose: bool) -> None:
    """Digest a folder of files and search everything in it."""
    context.obj = verbose
    logs.set_up(os.environ.get("CHYME_LOG_FORMAT", "text"), verbose, quiet=context.invoked_subcommand != "serve")


for command in (
    serving.serve,
    users.users,
    tokens.tokens,
    digesting.digest,
    adding.add,
    links.links,
    searching.search,
    searching.similar,
    reading.status,
    reading.show,
    people.people,
    tags.tags,
    editing.edit,
    renaming.rename,
    ai.ai,
    care.reset,
    care.retry,
    care.redo,
    bulk.bulk,
    care.doctor,
    care.index,
    care.verify,
    care.purge,
    trash.trash,
    weights.weights,
    backup.backup,
    backup.restore,
    rescuing.rescue,
    backup.export,
    assistants.mcp,
):
    main.add_command(command)

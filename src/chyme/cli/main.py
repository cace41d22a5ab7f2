"""The command group, and how every command ends."""

from __future__ import annotations

import logging
import sys
from typing import Any

import click

from chyme import __version__
from chyme.cli import care, digesting, reading, serving
from chyme.errors import ChymeError

FAILED, REFUSED, INTERRUPTED = 1, 2, 130


class Chyme(click.Group):
    """Turns our errors into one sentence and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ChymeError as error:
            click.echo(f"chyme: {error}", err=True)
            sys.exit(REFUSED)
        except KeyboardInterrupt:
            click.echo("stopped; nothing is lost", err=True)
            sys.exit(INTERRUPTED)
        except BrokenPipeError:
            sys.stderr.close()
            sys.exit(FAILED)


@click.group(cls=Chyme, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="chyme")
@click.option("-v", "--verbose", is_flag=True, help="Say more about what happens.")
def main(verbose: bool) -> None:
    """Digest a folder of files and search everything in it."""
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(levelname)s %(message)s", stream=sys.stderr)


for command in (
    serving.serve,
    digesting.digest,
    reading.search,
    reading.status,
    reading.show,
    care.reset,
    care.retry,
    care.doctor,
    care.index,
    care.verify,
    care.purge,
):
    main.add_command(command)

"""The command group and the guard around it: whatever goes wrong, a person reads a line, never a traceback."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from collections.abc import Sequence

import click

from ptc import __version__
from ptc.cli import _exit
from ptc.cli._terminal import harden_streams, line
from ptc.cli.codes import codes
from ptc.cli.doctor import doctor
from ptc.cli.run import run
from ptc.cli.tools import tools
from ptc.errors import ConfigError, PtcError

__all__ = ["main"]


@click.group(
    name="ptc",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="PTC_DEBUG=1 shows the traceback of an unexpected error; NO_COLOR=1 turns colours off.",
)
@click.version_option(__version__, prog_name="ptc", message="%(prog)s %(version)s")
@click.pass_context
def group(context: click.Context) -> None:
    """One sandboxed JavaScript program instead of many tool turns, every call governed."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _command in (run, tools, codes, doctor):
    group.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. `arguments` None means those of the process."""
    harden_streams()
    try:
        code = group.main(args=arguments, prog_name="ptc", standalone_mode=False)
        if sys.stdout is not None:  # None if the shell closed it: `>&-`
            sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "ptc"
        _complain("usage", f"{' '.join(error.format_message().split())} See: {command} --help")
        return _exit.USAGE
    except (KeyboardInterrupt, click.Abort, asyncio.CancelledError):
        _complain("cancelled", "interrupted")
        return _exit.CANCELLED
    except BrokenPipeError:
        _abandon_stdout()  # whoever read it has left, and needs no message
        return _exit.FAILED
    except PtcError as error:
        _complain(error.code, error.message)
        return _exit.USAGE if isinstance(error, ConfigError) else _exit.FAILED
    except Exception as error:
        if isinstance(error, OSError):
            _abandon_stdout()
        if os.environ.get("PTC_DEBUG"):
            traceback.print_exc()
        _complain("internal", f"{type(error).__name__}: {error} (run with PTC_DEBUG=1 for the traceback)")
        return _exit.FAILED


def _complain(kind: str, message: str) -> None:
    click.echo(f"error[{kind}] {line(message)}", err=True)


def _abandon_stdout() -> None:
    """Send what stdout still holds to nowhere; the interpreter would otherwise fail on it once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

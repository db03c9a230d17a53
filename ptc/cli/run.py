"""`ptc run`: one program from a file, from standard input or from the command line itself.

The person at the shell is the host, so every tool named by `--allow` runs without further questions. What is not
named does not run, and without `--allow` only tools that change nothing do: a script from somebody else can be tried.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import click

from ptc.cli import _exit
from ptc.cli._host import host_options, session_options
from ptc.cli._inputs import read_inputs, read_script, split_names
from ptc.cli._interrupt import on_interrupt
from ptc.cli._progress import Follower, choose_sink
from ptc.cli._show import show_answer, show_trouble
from ptc.limits import Limits
from ptc.session import Session

__all__ = ["run"]


@click.command()
@click.argument("file", required=False)
@click.option("--source", metavar="TEXT", help="The script itself, instead of a FILE.")
@click.option(
    "--input",
    "pairs",
    metavar="KEY=VALUE",
    multiple=True,
    help="One member of `inputs`; VALUE is JSON if it parses as JSON, else text. Repeatable.",
)
@click.option("--inputs", "whole", metavar="JSON|@FILE", help="The whole `inputs` object; --input is laid over it.")
@host_options
@click.option(
    "--allow",
    metavar="A,B",
    multiple=True,
    help="The tools that the script may call, writing ones too. Default: all that change nothing.",
)
@click.option("--timeout-ms", type=int, metavar="N", help="Wall-clock limit in milliseconds. Default: 30000.")
@click.option("--max-tool-calls", type=int, metavar="N", help="Calls that the script may make. Default: 256.")
@click.option(
    "--max-output-bytes", type=int, metavar="N", help="Bytes of the result as a model reads it. Default: 65536."
)
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as one JSON object.")
@click.option("--quiet", is_flag=True, help="No progress and no console lines on standard error.")
def run(
    file: str | None,
    source: str | None,
    pairs: tuple[str, ...],
    whole: str | None,
    workspace: tuple[str, ...],
    bash_policy: str | None,
    memory: str | None,
    allow_hosts: tuple[str, ...],
    search: str | None,
    allow: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    **limits: int | None,
) -> int:
    """Run a script and print what it returns.

    The script is read from FILE (`-`: standard input) or is the TEXT of --source. A returned text is printed as it
    is, anything else as JSON; progress, warnings and errors go to standard error.

    Exit code: 0 completed, 1 failed, 2 wrong use, 3 suspended, 124 timed out, 130 cancelled (Ctrl-C; a second one
    ends at once).

    \b
    ptc run search.js --input query=Policy --allow grep,glob,read
    ptc run - --inputs @inputs.json --json < search.js
    """
    return asyncio.run(
        _run(
            read_script(file, source),
            read_inputs(pairs, whole),
            session_options(workspace, bash_policy, memory, allow_hosts, search),
            split_names(allow),
            Limits(**{name: value for name, value in limits.items() if value is not None}),
            as_json=as_json,
            quiet=quiet,
        )
    )


async def _run(
    script: str,
    inputs: dict[str, Any],
    options: dict[str, Any],
    allow: list[str] | None,
    limits: Limits,
    *,
    as_json: bool,
    quiet: bool,
) -> int:
    async with Session(**options) as session:
        allowed = [tool.name for tool in session.registry if tool.read_only] if allow is None else allow
        program = asyncio.ensure_future(session.program(script, inputs=inputs, allowed_tools=allowed, limits=limits))

        def cancel() -> None:
            if session.cancel() == 0:  # interrupted before the script began
                program.cancel()

        with on_interrupt(cancel):
            async with nullcontext() if quiet else _following(session):
                result = await program
    show_trouble(result)
    if allow is None and any(call.error_code == "tool_not_allowed" for call in result.calls):
        click.echo(
            "hint: without --allow only tools that change nothing run; name the others: --allow write,read", err=True
        )
    show_answer(result, as_json=as_json)
    return _exit.OF_STATUS[result.status]


@asynccontextmanager
async def _following(session: Session) -> AsyncIterator[None]:
    """Print the session's events as they come; at the end, the rest of them."""
    events = session.events()

    async def pump(follower: Follower) -> None:
        async for event in events:
            follower(event)

    main = {tool.name: tool.positional[0] for tool in session.registry if tool.positional}
    with choose_sink() as sink:
        pumping = asyncio.ensure_future(pump(Follower(sink, main)))
        try:
            yield
        finally:
            events.close()
            await pumping

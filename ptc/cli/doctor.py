"""`ptc doctor`: which engine runs, how fast a VM starts, and which layers of isolation are on here."""

from __future__ import annotations

import click

from ptc.cli import _exit
from ptc.cli._terminal import ascii_json, line, word
from ptc.doctor import rows

__all__ = ["doctor"]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of {name, state, note}.")
def doctor(as_json: bool) -> int:
    """Show the engine and the isolation layers that are on.

    Exit code 1 if programs cannot run here. A layer that is off is no failure.
    """
    facts = rows()
    if as_json:
        click.echo(ascii_json([{"name": row.name, "state": row.state, "note": row.note} for row in facts]))
    else:
        names = max(len(row.name) for row in facts)
        states = max(len(row.state) for row in facts)
        for row in facts:
            click.echo(f"{word(row.name):{names}}  {word(row.state):{states}}  {line(row.note)}".rstrip())
    return _exit.FAILED if any(row.state in {"failed", "missing"} for row in facts) else 0

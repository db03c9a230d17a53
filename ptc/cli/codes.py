"""`ptc codes`: every error code with its facts, from the one table."""

from __future__ import annotations

import click

from ptc.cli._terminal import ascii_json, line, word
from ptc.codes import CODES

__all__ = ["codes"]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object: code -> its facts.")
def codes(as_json: bool) -> int:
    """List the error codes: what a call can be refused or fail with.

    The marker opens the message of the error. `again` means that the identical call may work later.
    """
    if as_json:
        click.echo(ascii_json({code: facts._asdict() for code, facts in CODES.items()}))
        return 0
    width = max(map(len, CODES))
    for code, facts in CODES.items():
        again = ", again" if facts.retryable else ""
        click.echo(f"{word(code):{width}}  {line(f'{facts.marker} {facts.category}{again}: {facts.meaning}')}")
    return 0

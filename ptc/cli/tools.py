"""`ptc tools`: what a script run from this folder could call."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from ptc.cli._terminal import ascii_json, line, word
from ptc.session import Session

__all__ = ["tools"]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of tool definitions, with their schemas.")
def tools(as_json: bool) -> int:
    """List the tools of a session; a script may call all of them but `program`."""
    definitions = asyncio.run(_definitions())
    if as_json:
        click.echo(ascii_json(definitions))
        return 0
    width = max(len(definition["name"]) for definition in definitions)
    for definition in definitions:
        first, _, _ = definition["description"].partition("\n")
        click.echo(f"{word(definition['name']):{width}}  {line(first)}")
    return 0


async def _definitions() -> list[dict[str, Any]]:
    session = Session(".")
    try:
        return session.tool_definitions()
    finally:
        await session.close()

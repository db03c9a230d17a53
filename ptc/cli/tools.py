"""`ptc tools`: what a script run from this folder could call."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final

import click

from ptc.cli._host import host_options, session_options
from ptc.cli._terminal import ascii_json, line, word
from ptc.session import Session

__all__ = ["tools"]

SUMMARY: Final = 96


@click.command()
@host_options
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array of tool definitions, with their schemas.")
def tools(
    workspace: tuple[str, ...],
    bash_policy: str | None,
    memory: str | None,
    allow_hosts: tuple[str, ...],
    search: str | None,
    as_json: bool,
) -> int:
    """List the tools of a session; a script may call all of them but `program`.

    The memory tools are listed too; a script has them only with --memory.
    """
    options = session_options(workspace, bash_policy, memory or ":memory:", allow_hosts, search)
    definitions = asyncio.run(_definitions(options))
    if as_json:
        click.echo(ascii_json(definitions))
        return 0
    width = max(len(definition["name"]) for definition in definitions)
    for definition in definitions:
        click.echo(f"{word(definition['name']):{width}}  {line(_summary(definition['description']))}")
    return 0


def _summary(description: str) -> str:
    """The first sentence, as far as it fits beside a name."""
    sentence = re.split(r"(?<=[.:;])\s", " ".join(description.split()), maxsplit=1)[0].rstrip(":;")
    return sentence if len(sentence) <= SUMMARY else f"{sentence[: SUMMARY - 1].rstrip()}\u2026"


async def _definitions(options: dict[str, Any]) -> list[dict[str, Any]]:
    session = Session(**options)
    try:
        return session.tool_definitions()
    finally:
        await session.close()

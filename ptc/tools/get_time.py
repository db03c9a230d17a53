"""get_time: the time of the host, in UTC and to the second.

A script's own `Date` is virtual and stands still within a turn; this is the clock on the wall.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from ptc.tooling import Tool, ToolContext

__all__ = ["get_time_tool"]

_DESCRIPTION: Final = """\
The time now, in UTC, as YYYY-MM-DDTHH:MM:SSZ. It takes no arguments. Example: {}"""

_INPUT: Final[dict[str, Any]] = {"type": "object", "properties": {}, "additionalProperties": False}


def get_time_tool(clock: Callable[[], float] = time.time) -> Tool:
    """The tool `get_time`. `clock` gives seconds since 1970, UTC; parts of a second are dropped."""

    async def run(context: ToolContext, args: dict[str, Any]) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(clock()))

    return Tool(
        name="get_time",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        run=run,
        read_only=True,
        idempotent=True,
        timeout_ms=2_000,
        source="built-in",
    )

"""generate_uuid: a random identifier (version 4) from the operating system's generator.

`crypto.randomUUID` of a script is seeded, so that a program can be replayed; this one is unique in the world, and its
value comes back from the journal when the program is.
"""

from __future__ import annotations

import os
from typing import Any, Final

from ptc.tooling import Tool, ToolContext

__all__ = ["generate_uuid_tool"]

_DESCRIPTION: Final = """\
A new random UUID, version 4, in lower case. It takes no arguments; each call gives another. Example: {}"""

_INPUT: Final[dict[str, Any]] = {"type": "object", "properties": {}, "additionalProperties": False}


def generate_uuid_tool() -> Tool:
    """The tool `generate_uuid`."""
    return Tool(
        name="generate_uuid",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        run=_run,
        read_only=True,
        timeout_ms=1_000,
        source="built-in",
    )


async def _run(context: ToolContext, args: dict[str, Any]) -> str:
    raw = bytearray(os.urandom(16))
    raw[6] = raw[6] & 0x0F | 0x40  # version 4
    raw[8] = raw[8] & 0x3F | 0x80  # variant of RFC 9562
    digits = raw.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

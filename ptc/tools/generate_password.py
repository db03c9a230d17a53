"""generate_password: random characters from the operating system's generator, every one independent of the others.

No character class is forced to appear: such a rule takes strength away. What a length is worth is told in bits.
"""

from __future__ import annotations

import math
import os
import string
from typing import Any, Final

from ptc.results import ToolResult
from ptc.tooling import Tool, ToolContext

__all__ = ["generate_password_tool"]

DEFAULT_LENGTH: Final = 16
MIN_LENGTH: Final = 4
MAX_LENGTH: Final = 128
LETTERS_AND_DIGITS: Final = string.ascii_letters + string.digits
SYMBOLS: Final = "!@#$%^&*"

_DESCRIPTION: Final = """\
A new random password of letters and digits and, unless include_symbols is false, of !@#$%^&*. length is 16 unless
given; below 4 it is taken for 4, above 128 for 128, and the metadata says so. Example: {"length": 24}"""

_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "length": {"type": "integer", "default": DEFAULT_LENGTH, "description": "Characters, 4 to 128."},
        "include_symbols": {"type": "boolean", "default": True},
    },
    "additionalProperties": False,
}


def generate_password_tool() -> Tool:
    """The tool `generate_password`. Length, strength in bits and a clamped length are in the metadata."""
    return Tool(
        name="generate_password",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        run=_run,
        positional=("length",),
        read_only=True,
        timeout_ms=1_000,
        source="built-in",
    )


async def _run(context: ToolContext, args: dict[str, Any]) -> ToolResult:
    asked = int(args.get("length", DEFAULT_LENGTH))
    length = min(max(asked, MIN_LENGTH), MAX_LENGTH)
    alphabet = LETTERS_AND_DIGITS + (SYMBOLS if args.get("include_symbols", True) else "")
    metadata: dict[str, Any] = {"length": length, "bits": round(length * math.log2(len(alphabet)), 1)}
    if length != asked:
        metadata["clamped"] = {"argument": "length", "least": MIN_LENGTH, "most": MAX_LENGTH}
    return ToolResult("generate_password", output=_drawn(alphabet, length), metadata=metadata)


def _drawn(alphabet: str, length: int) -> str:
    """`length` characters, each as likely as any other: bytes that would favour the first of them are thrown away."""
    size = len(alphabet)
    usable = 256 - 256 % size
    drawn = ""
    while len(drawn) < length:
        drawn += "".join([alphabet[byte % size] for byte in os.urandom(2 * length) if byte < usable])
    return drawn[:length]

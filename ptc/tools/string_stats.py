"""string_stats: how many characters, words and lines a text has.

Characters are Unicode code points; what a script's `length` counts are halves of them for some. A line ends at `\\n`,
as in every other tool.
"""

from __future__ import annotations

from typing import Any, Final

from ptc.tooling import Tool, ToolContext
from ptc.tools._text import computed

__all__ = ["string_stats_tool"]

_DESCRIPTION: Final = """\
Count a text's characters (Unicode code points), words (separated by any white space) and lines (ends of line, plus one
if the text does not end in one; 0 if it is empty). Example: {"text": "two words\\n"}"""

_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}

_OUTPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {name: {"type": "integer"} for name in ("characters", "words", "lines")},
    "required": ["characters", "words", "lines"],
}


def string_stats_tool() -> Tool:
    """The tool `string_stats`. Its data is `{characters, words, lines}`."""
    return Tool(
        name="string_stats",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        output_schema=_OUTPUT,
        run=_run,
        positional=("text",),
        read_only=True,
        idempotent=True,
        timeout_ms=1_000,
        source="built-in",
    )


async def _run(context: ToolContext, args: dict[str, Any]) -> dict[str, int]:
    return await computed(_count, args["text"])


def _count(text: str) -> dict[str, int]:
    lines = text.count("\n") + (not text.endswith("\n") if text else 0)
    return {"characters": len(text), "words": len(text.split()), "lines": lines}

"""json_format: JSON text with line breaks and indentation, every value as it was written."""

from __future__ import annotations

from typing import Any, Final

from ptc.tooling import Tool, ToolContext
from ptc.tools._json_layout import layout
from ptc.tools._text import computed

__all__ = ["json_format_tool"]

_DESCRIPTION: Final = """\
Lay out JSON text: two spaces for each level, one member on each line. Keys keep their order, numbers their digits,
texts their spelling. At most 100 levels deep. Example: {"json": "{\\"b\\":1,\\"a\\":[1.10]}"}
Errors begin with [input] if the text is not strict JSON, and give line and column."""

_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"json": {"type": "string", "description": "The JSON text."}},
    "required": ["json"],
    "additionalProperties": False,
}


def json_format_tool() -> Tool:
    """The tool `json_format`."""
    return Tool(
        name="json_format",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        run=_run,
        positional=("json",),
        read_only=True,
        idempotent=True,
        timeout_ms=2_000,
        source="built-in",
    )


async def _run(context: ToolContext, args: dict[str, Any]) -> str:
    return await computed(layout, args["json"])

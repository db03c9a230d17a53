"""echo: the text that was given, unchanged. The cheapest call there is: it shows what a call itself costs."""

from __future__ import annotations

from typing import Any, Final

from ptc.tooling import Tool, ToolContext

__all__ = ["echo_tool"]

_DESCRIPTION: Final = """\
Give back the text as it is, byte for byte. Example: {"text": "hello"}"""

_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


def echo_tool() -> Tool:
    """The tool `echo`."""
    return Tool(
        name="echo",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        run=_run,
        positional=("text",),
        read_only=True,
        idempotent=True,
        timeout_ms=2_000,
        source="built-in",
    )


async def _run(context: ToolContext, args: dict[str, Any]) -> str:
    text: str = args["text"]
    return text

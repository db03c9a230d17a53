"""remember_memory: keep a note for later sessions.

Whose note it is, the host decided when it opened the store; nothing in the arguments can name another owner. The same
content stored again is the same memory, so the call may be repeated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ptc.results import ToolResult
from ptc.tooling import Tool, ToolContext
from ptc.tools._memory_text import quoted

if TYPE_CHECKING:
    from ptc.memory import MemoryStore

__all__ = ["MEMORY_SCHEMA", "remember_memory_tool"]

_DESCRIPTION: Final = """\
Store a memory: a fact that will be useful in later sessions. It is found again by recall_memory.
Example: {"content": "The project uses OCaml 5.4; concurrency is done with Eio.", "summary": "OCaml concurrency", \
"categories": ["architecture"]}
content has at most 8 KiB; write whole sentences that are understood alone. summary is one line; summary and categories
are searched too. Storing the same content again updates its summary and categories. Secrets are removed. Errors begin
with [memory] if the text is empty or too large, the quota is reached or the store cannot be used, with [file] if the
disk is full or fails; then nothing was stored."""

_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "content": {"type": "string", "description": "The whole text to remember, at most 8 KiB."},
        "summary": {"type": ["string", "null"], "description": "One line, at most 1 KiB."},
        "categories": {
            "type": ["array", "null"],
            "items": {"type": "string"},
            "maxItems": 16,
            "description": "Labels, at most 128 bytes each.",
        },
    },
    "required": ["content"],
    "additionalProperties": False,
}

MEMORY_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "content": {"type": "string"},
        "summary": {"type": ["string", "null"]},
        "scope": {"type": "string", "description": "Whose memory it is."},
        "categories": {"type": "array", "items": {"type": "string"}},
        "metadata": {"type": "object"},
        "source": {"type": "string", "description": "Who stored it: tool or host."},
        "created_at": {"type": "number", "description": "Seconds since 1970, UTC; so are the others."},
        "updated_at": {"type": "number"},
        "last_used_at": {"type": ["number", "null"]},
        "usage_count": {"type": "integer", "description": "How often it was recalled before."},
    },
    "required": ["id", "content", "summary", "scope", "categories", "created_at"],
}


def remember_memory_tool(store: MemoryStore) -> Tool:
    """The tool `remember_memory`. Its data is the memory as it was stored."""

    async def run(context: ToolContext, args: dict[str, Any]) -> ToolResult:
        summary = args.get("summary")
        memory = await store.remember(
            args["content"],
            # Models fill optional text with "", which is taken for "absent".
            summary=summary if summary and summary.strip() else None,
            categories=args.get("categories"),
            source="tool",
        )
        data = memory.to_dict()
        new = memory.created_at == memory.updated_at
        text = f"{'Remembered' if new else 'Updated'} as {memory.id}:\n{quoted(memory.content)}"
        return ToolResult("remember_memory", output=text, data=data, metadata={"created": new})

    return Tool(
        name="remember_memory",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        output_schema=MEMORY_SCHEMA,
        run=run,
        positional=("content", "summary", "categories"),
        absent_codes={"content": "memory_text_required"},
        idempotent=True,
        permission="allow",
        timeout_ms=10_000,
        source="built-in",
    )

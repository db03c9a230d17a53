"""Batches for the tests: arguments, a kernel that has a batch, and what came of it."""

from __future__ import annotations

from typing import Any

import jsonschema

from ptc import Session, Tool
from ptc.kernel.invoke import Kernel
from ptc.results import ToolResult
from ptc.tools.batch import batch_tool
from tests.kernel.rig import a_kernel

OUTPUT: Any = batch_tool(lambda name: None).output_schema


def each(*calls: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Arguments of a batch of these calls, one step, no ids."""
    return {"invocations": [{"tool": tool, "args": args} for tool, args in calls], **more}


async def batched(session: Session, args: dict[str, Any]) -> ToolResult:
    """A batch made by the host; its data fits the schema."""
    result = await session.tool("batch", args)
    if result.data is not None:
        jsonschema.validate(result.data, OUTPUT)
    return result


def with_batch(*tools: Tool) -> Kernel:
    """A kernel with a batch that knows these tools."""
    known: dict[str, Tool] = {tool.name: tool for tool in tools}
    return a_kernel(batch_tool(known.get), *tools)


def statuses(result: ToolResult) -> list[str]:
    return [entry["status"] for entry in result.data["results"]]


def codes(result: ToolResult) -> list[str | None]:
    return [entry["error"] and entry["error"]["code"] for entry in result.data["results"]]

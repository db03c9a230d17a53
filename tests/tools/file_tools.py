"""Run a file tool as the kernel would, without the kernel: aliases renamed, arguments checked, a context given."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any

import anyio
import jsonschema

from ptc.codes import code_facts
from ptc.errors import ToolError
from ptc.results import ToolResult
from ptc.tooling import Tool, ToolContext
from ptc.values import check_json, dumps
from ptc.workspace.base import Workspace


def context(workspace: Workspace, *, caps: int = 4 * 1024 * 1024, origin: str = "host") -> ToolContext:
    def invoke(name: str, args: Mapping[str, Any]) -> Awaitable[ToolResult]:
        raise AssertionError("a file tool makes no calls")

    return ToolContext(
        workspace=workspace,
        call_id="c1",
        origin=origin,
        deadline=None,
        invoke=invoke,
        progress=lambda message, fraction: None,
        delta=lambda text: None,
        caps=caps,
    )


async def call(
    tool: Tool, workspace: Workspace, /, caps: int = 4 * 1024 * 1024, origin: str = "host", **args: Any
) -> Any:
    """The ToolResult, checked against the tool's own schemas. Raises ToolError."""
    given = tool.canonical(args)
    jsonschema.validate(given, tool.input_schema)
    with anyio.fail_after(30):
        result = await tool.run(context(workspace, caps=caps, origin=origin), given)
    assert isinstance(result, ToolResult)
    if tool.output_schema is not None:
        jsonschema.validate(result.data, tool.output_schema)
    check_json([result.data, result.metadata], what="the result", max_nodes=1_000_000, max_depth=20)
    dumps(result.metadata)
    result.output.encode("utf-8")
    return result


async def refusal(tool: Tool, workspace: Workspace, /, **args: Any) -> ToolError:
    """The ToolError of a call that must fail; its marker must be one that the description tells of."""
    try:
        result = await call(tool, workspace, **args)
    except ToolError as error:
        marker = code_facts(error.code).marker
        assert marker == "[tool]" or marker in tool.description
        return error
    raise AssertionError(f"{tool.name} gave {result.output!r:.200}")

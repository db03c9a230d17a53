"""An orchestrating tool may not call itself, at any depth: `program` in `program` and `batch` in `batch` would multiply
every limit that was set for one of them.
"""

from __future__ import annotations

from ptc.errors import ToolError
from ptc.kernel.call import Call, Next
from ptc.results import ToolResult

__all__ = ["Recursion"]


class Recursion:
    """Refuses a call of an orchestrating tool that is already among the call's ancestors."""

    async def __call__(self, call: Call, next: Next) -> ToolResult:
        tool = call.tool
        if tool is not None and tool.orchestrates:
            ancestor = call.parent
            while ancestor is not None:
                if ancestor.name == call.name:
                    raise ToolError(
                        "recursive_call",
                        f"{call.name} was called from inside {call.name} (call {ancestor.id}); an orchestrating tool "
                        "may not call itself. Call the plain tools directly.",
                        details={"tool": call.name, "ancestor": ancestor.id},
                    )
                ancestor = ancestor.parent
        return await next(call)

"""The fence of a program: which names it may call, and how often.

A call inside one that was called off is refused, so that a tool which ignores its cancellation does nothing more. Every
scope around a call must admit it, so a program inside a fence can never reach over it. A refused name costs
nothing, because a misspelling must not use up what the program may still do; a call over the limit is not counted
either, so `used` never passes `max_calls`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ptc.errors import ToolError
from ptc.kernel.call import Call, Next, Scope
from ptc.names import nearest
from ptc.registry import Registry
from ptc.results import ToolResult
from ptc.values import show

__all__ = ["Fence"]

NAMES_SHOWN: Final = 20


class Fence:
    """Refuses unknown names, names outside the allow-lists, and calls beyond a scope's number."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def __call__(self, call: Call, next: Next) -> ToolResult:
        if call.parent is not None:
            _require_running(call.parent)
        if call.tool is None:
            raise self._unknown(call)
        scope = call.scope
        while scope is not None:
            if scope.allowed is not None and call.name not in scope.allowed:
                raise self._not_allowed(call, scope)
            scope = scope.outer
        scope = call.scope
        while scope is not None:
            if scope.max_calls is not None and scope.used >= scope.max_calls:
                raise ToolError(
                    "call_limit",
                    f"{call.name} was not called: {scope.label} has made {scope.used:,} calls of {scope.max_calls:,} "
                    "allowed (max_tool_calls). Return what there is, or ask for less.",
                    details={"limit": "max_tool_calls", "value": scope.max_calls, "used": scope.used},
                )
            scope = scope.outer
        scope = call.scope
        while scope is not None:
            scope.used += 1
            scope = scope.outer
        return await next(call)

    def _open_to(self, call: Call) -> list[str]:
        names: Iterable[str] = self._registry.names()
        scope = call.scope
        while scope is not None:
            if scope.allowed is not None:
                allowed = scope.allowed
                names = [name for name in names if name in allowed]
            scope = scope.outer
        return list(names)

    def _unknown(self, call: Call) -> ToolError:
        names = self._open_to(call)
        why = self._registry.why_absent(call.name)
        if why is not None:
            return ToolError(
                "tool_unavailable",
                f"{call.name} does not exist here: {why} {_listed(names)}",
                details={"tool": call.name},
            )
        near = nearest(call.name, names)
        guess = f" Did you mean {near}?" if near else ""
        return ToolError(
            "unknown_tool",
            f"there is no tool named {show(call.name)}.{guess} {_listed(names)}",
            details={"tool": call.name[:128], "nearest": near},
        )

    def _not_allowed(self, call: Call, scope: Scope) -> ToolError:
        names = self._open_to(call)
        near = nearest(call.name, names)
        return ToolError(
            "tool_not_allowed",
            f"{scope.label} may not call {call.name}. {_listed(names)}",
            details={"tool": call.name, "nearest": near, "allowed": names[:NAMES_SHOWN]},
        )


def _require_running(parent: Call) -> None:
    ancestor: Call | None = parent
    while ancestor is not None:
        if ancestor.stopping is not None or ancestor.record.state != "running":
            raise ToolError(
                "cancelled",
                f"{ancestor.name} (call {ancestor.id}) has ended or was called off, so nothing inside it may call on.",
                details={"ancestor": ancestor.id},
            )
        ancestor = ancestor.parent


def _listed(names: list[str]) -> str:
    if not names:
        return "No tool may be called here."
    more = len(names) - NAMES_SHOWN
    tail = f" and {more} more" if more > 0 else ""
    return f"The tools that may be called are {', '.join(names[:NAMES_SHOWN])}{tail}."

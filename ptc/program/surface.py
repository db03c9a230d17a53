"""Tools -> methods of ctx: their names, the order of their arguments, and what a call gives.

The guest sends a method's name and the arguments as they were written; this file turns them into a tool and one object
of arguments. It grants nothing: an unknown name goes to the kernel as it is and is refused there, on the record.

The call form is one for every tool: a single object is the arguments; otherwise the declared positional arguments in
order, then an optional object with the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from ptc.errors import ToolError
from ptc.results import ErrorInfo, ToolResult, Warning_
from ptc.tooling import Method, Tool
from ptc.values import dumps, show

__all__ = ["Bound", "Surface", "camel"]

# Methods of ctx that are no tools; a tool of such a name is reached through ctx.tools.
RESERVED: Final = frozenset({"tool", "tools", "mcp", "parallel", "sleep", "limits", "log", "progress"})
ENVELOPE: Final = Method("tool", gives="result")


@dataclass(frozen=True, slots=True)
class Bound:
    """A guest's call, bound to a tool. `envelope`: the script asked by `ctx.tool`, which does not throw when the tool
    fails. `trouble`: the arguments could not be bound; the call is made on the record and refused with it."""

    tool: str
    args: dict[str, Any]
    method: Method
    envelope: bool
    trouble: ToolError | None = None


class Surface:
    """The methods that a program may use. `warnings` names tools that lost a short name."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self.tools: dict[str, Tool] = {tool.name: tool for tool in tools}
        self.warnings: list[Warning_] = []
        self._methods: dict[str, tuple[Tool, Method]] = {}
        wanted: dict[str, list[tuple[Tool, Method]]] = {}
        for tool in self.tools.values():
            declared = {method.name for method in tool.methods}
            for method in tool.methods:
                wanted.setdefault(method.name, []).append((tool, method))
            for name in (tool.name, camel(tool.name)):
                if name not in declared:
                    declared.add(name)
                    wanted.setdefault(name, []).append((tool, Method(name, tool.positional)))
        for name, claims in wanted.items():
            self._assign(name, claims)

    def _assign(self, name: str, claims: list[tuple[Tool, Method]]) -> None:
        owner = [claim for claim in claims if claim[0].name == name]
        others = " and ".join(sorted({claim[0].name for claim in claims} - {name}))
        if name in RESERVED:
            if owner:
                self._warn(f"ctx.{name} is a method of ctx itself; the tool {name} is ctx.tools.{name}")
            if others:
                self._warn(f"ctx.{name} is a method of ctx itself and none of {others}")
        elif owner:
            self._methods[name] = owner[0]
            if others:
                self._warn(f"ctx.{name} is the tool of exactly that name and no method of {others}")
        elif len(claims) > 1:
            self._warn(f"the tools {others} would both be ctx.{name}; use their exact names")
        else:
            self._methods[name] = claims[0]

    def _warn(self, text: str) -> None:
        self.warnings.append(Warning_("name_clash", text))

    def method_names(self) -> list[str]:
        """The own members of ctx: every name that can be written after a dot. The others are in ctx.tools."""
        return [name for name in self._methods if name.isidentifier()]

    def bind(self, method: str, args: list[Any]) -> Bound:
        """The tool, arguments and return form of a guest's call. Never raises: trouble goes along."""
        if method == "tool":
            return self._bind_envelope(args)
        found = self._methods.get(method)
        if found is None:
            tool = self.tools.get(method)
            if tool is None:
                return Bound(method, args[0] if len(args) == 1 and type(args[0]) is dict else {}, ENVELOPE, False)
            found = (tool, Method(method, tool.positional))
        tool, how = found
        try:
            return Bound(tool.name, _arguments(tool, how, args), how, False)
        except ToolError as trouble:
            return Bound(tool.name, {}, how, False, trouble)

    def _bind_envelope(self, args: list[Any]) -> Bound:
        name = args[0] if args else None
        given = args[1] if len(args) > 1 else None
        if type(name) is not str:
            trouble = ToolError("invalid_arguments", "ctx.tool(name, args): the name must be text.")
            return Bound("tool", {}, ENVELOPE, True, trouble)
        if given is None:
            given = {}
        if type(given) is not dict or any(extra is not None for extra in args[2:]):
            trouble = ToolError(
                "invalid_arguments",
                f"ctx.tool({show(name, 60)}, args): args must be one object, for example {{path: 'a.txt'}}.",
            )
            return Bound(name, {}, ENVELOPE, True, trouble)
        return Bound(name, given, ENVELOPE, True)


def _arguments(tool: Tool, method: Method, args: list[Any]) -> dict[str, Any]:
    while args and args[-1] is None:
        args = args[:-1]
    if len(args) == 1 and type(args[0]) is dict:
        merged: dict[str, Any] = args[0]
        positional: dict[str, Any] = {}
    else:
        names = method.positional
        rest = args[-1] if args and type(args[-1]) is dict else None
        plain = args[:-1] if rest is not None else args
        if len(plain) > len(names):
            form = ", ".join((*names, "{...}"))
            raise ToolError(
                "invalid_arguments",
                f"ctx.{method.name}({form}) takes {len(names)} positional arguments and then one object with the rest; "
                f"{len(plain)} were given.",
            )
        positional = dict(zip(names, plain, strict=False))
        merged = rest or {}
    renamed = tool.canonical(merged)
    for group in (positional, method.fixed):
        for name, value in group.items():
            if name in renamed and (group is positional or renamed[name] != value):
                why = "is given by position" if group is positional else f"is always {show(value, 40)} here"
                raise ToolError(
                    "invalid_arguments",
                    f"ctx.{method.name}: argument {name} {why}; leave it out of the object, or use ctx.tool.",
                )
            renamed[name] = value
    return renamed


def answer(call_id: int, bound: Bound, result: ToolResult, *, admitted: bool) -> bytes:
    """The JSON text `[id, ok, value]` that settles the guest's promise. Raises ValueError if the value is not JSON."""
    error: ErrorInfo | ToolError | None = result.error
    if error is None and bound.method.exit_throws and not bound.envelope:
        error = result.exit_error()
    if error is not None and (not bound.envelope or not admitted):
        facts = {
            "code": error.code,
            "message": error.message,
            "tool": result.name,
            "retryable": error.retryable,
            "details": error.details,
        }
        return b"[%d,0,%b]" % (call_id, dumps(facts))
    return b"[%d,1,%b]" % (call_id, dumps(_value(bound, result)))


def _value(bound: Bound, result: ToolResult) -> Any:
    method = bound.method
    if bound.envelope or method.gives == "result":
        return {
            "name": result.name,
            "output": result.output,
            "exitCode": result.exit_code,
            "data": result.data,
            "metadata": result.metadata,
            "error": None if result.error is None else result.error.to_dict(),
            "truncated": result.truncated,
        }
    if method.gives == "output":
        return result.output
    data = result.data
    if method.pick is not None and type(data) is dict:
        return data.get(method.pick)
    return result.output if data is None and method.gives == "value" else data


def camel(name: str) -> str:
    """`web_fetch` -> `webFetch`; a name that is no identifier stays as it is."""
    head, *tail = name.split("_")
    if not head or not all(tail):
        return name
    return head + "".join(part[0].upper() + part[1:] for part in tail)

"""The Tool record, the `@tool` decorator and the context that a running tool is given.

A tool is data: a name, two schemas, an async function, and the facts that the kernel's governors act on. Built-in
tools, tools of the host, MCP tools and `program` itself are all this one record and enter a session through the same
registry (promise P1: one door).

The file is not called tool.py, because `from ptc import tool` would then give this module or the decorator, depending
on what was imported before.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, overload

from ptc.conditions import Condition, Roles
from ptc.errors import ConfigError, ToolError
from ptc.results import ToolResult

if TYPE_CHECKING:
    from ptc.workspace.base import Workspace

__all__ = ["Method", "Run", "Tool", "ToolContext", "tool"]

Gives = Literal["value", "output", "data", "result"]
SubjectKind = Literal["path", "text", "command"]
Demand = Literal["allow", "ask", "deny"] | Roles | Condition


class Invoke(Protocol):
    """Make a nested call through the kernel; the result carries the error, nothing is raised."""

    def __call__(self, name: str, args: Mapping[str, Any]) -> Awaitable[ToolResult]: ...


def _keep_nothing(text: str) -> None:
    """Where there is no store of artifacts."""
    return None


@dataclass(slots=True)
class ToolContext:
    """What a running tool may use.

    workspace   files of the session; tools never open paths of their own
    call_id     id of this call
    origin      agent, nested or host
    deadline    `time.monotonic()` value at which the call will be cancelled, or None
    invoke      make a nested call (batch and other orchestrators); governed exactly like a direct one
    progress    tell how far the work is: message, fraction 0 to 1 or None
    delta       stream a piece of output as it is made
    audit       put a fact on record that others than the caller may want to know: kind, facts as JSON
    caps        the largest output in bytes that the asker will see whole
    keep        put away a text that the result has no room for: gives the handle under which it can be read, or None if
                it is too large to be kept
    raw         the call itself, for `program` and other orchestrators; a plain tool has no use for it

    `progress`, `delta` and `audit` may also be called from the thread in which a plain function runs.
    """

    workspace: Workspace
    call_id: str
    origin: str
    deadline: float | None
    invoke: Invoke
    progress: Callable[[str, float | None], None]
    delta: Callable[[str], None]
    caps: int
    raw: Any = None
    audit: Callable[[str, Mapping[str, Any]], None] = lambda kind, facts: None
    keep: Callable[[str], str | None] = _keep_nothing

    def time_left(self) -> float | None:
        """Seconds until the call is cancelled, never negative; None without a deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())


Run = Callable[[ToolContext, dict[str, Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Method:
    """One way a script reaches a tool: `ctx.<name>(...)`.

    positional  argument names that positional arguments fill, in order
    gives       what the promise resolves to: `value` (data if there is any, else output), `output`, `data`, or
                `result` (the whole result object)
    fixed       arguments that this method sets; the script cannot change them
    pick        member of `data` to hand out instead of the whole, or None
    exit_throws   a result with an exit code other than 0 rejects with `nonzero_exit`, although the tool did not fail
    """

    name: str
    positional: tuple[str, ...] = ()
    gives: Gives = "value"
    fixed: Mapping[str, Any] = field(default_factory=dict)
    pick: str | None = None
    exit_throws: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A tool and everything the kernel needs to know about it.

    name           `^[A-Za-z_][A-Za-z0-9_.-]{0,127}$`; unique in a session
    description    for a model; holds an example of the arguments
    detail         a further sentence of the description that is found out when somebody asks for it; None: none
    input_schema   JSON Schema (2020-12) of the arguments, an object schema; unknown keys are refused unless it says
                   otherwise
    run            `async (ToolContext, args) -> str | JSON | ToolResult`; raises ToolError to fail
    output_schema  JSON Schema of `data`, or None
    positional     argument names for positional use in scripts and for host helpers
    aliases        other argument names -> canonical names; renamed before anything judges the call
    methods        script methods; empty means one with the tool's own name and camelCase form
    subject        the argument that permission rules match: `Tool(pattern)`; None means rules name the tool only
    subjects       what one call concerns, if that is more than one argument: args -> texts, each of which the rules
                   judge; replaces `subject`. Any may deny the call, all must be allowed for it to be. Raises ToolError
                   to refuse; may be given arguments that were not validated yet
    subject_kind   `path` (matched resolved, relative to the workspace), `command` (the words of a simple command as
                   `shlex.join` writes them) or `text`
    read_only      no effects: allowed by the default policy, may run beside other calls
    reads          decides for one call whether it has no effects: args -> bool; None means `read_only` does
    idempotent     the identical call twice is the same as once; lets a resumed program repeat it
    writes         the call changes its subject: calls on one subject run in order
    timeout_ms     limit of one call, milliseconds; None means only the time left of its caller
    concurrency    how many calls may run at once; None means no limit of its own
    permission     the tool's own demand: `allow`, `ask`, `deny`, Roles or a Condition (to be met, or the call is
                   denied); None leaves it to the policy
    unruled        `ask` or `deny` where no rule of the policy names the call, whatever the policy's default allows;
                   None leaves that to the default
    orchestrates   makes nested calls; takes no queue slot while it waits for them, and may not call itself
    source         who brought it, for messages about clashes
    validator      replaces the schema check: args -> args, raising ToolError; `@tool` sets it
    absent_codes   argument -> code of the refusal when nothing is wrong but that it is missing
    on_update      `(line) -> None`, plain (called in a thread) or async: told in lines of text that a call began, how
                   far it is and how it ended; no call waits for it, and what it raises is logged
    cache_control  `5m` or `1h`: where a provider's prompt cache may begin anew; changes nothing else. None: no hint
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    run: Run
    detail: Callable[[], str] | None = None
    output_schema: Mapping[str, Any] | None = None
    positional: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    methods: tuple[Method, ...] = ()
    subject: str | None = None
    subjects: Callable[[Mapping[str, Any]], Sequence[str]] | None = None
    subject_kind: SubjectKind = "text"
    read_only: bool = False
    reads: Callable[[Mapping[str, Any]], bool] | None = None
    idempotent: bool = False
    writes: bool = False
    timeout_ms: int | None = None
    concurrency: int | None = None
    permission: Demand | None = None
    unruled: Literal["ask", "deny"] | None = None
    orchestrates: bool = False
    source: str = "the host"
    validator: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    absent_codes: Mapping[str, str] = field(default_factory=dict)
    on_update: Callable[[str], object] | None = None
    cache_control: Literal["5m", "1h"] | None = None

    def __post_init__(self) -> None:
        if not _is_name(self.name):
            raise ConfigError(
                "invalid_tool",
                f"tool name {self.name!r:.80} is not usable: a letter or `_`, then at most 127 letters, digits, `_.-`.",
            )
        if not callable(self.run):
            raise ConfigError("invalid_tool", f"tool {self.name}: run must be an async function (context, args).")
        if not isinstance(self.input_schema, Mapping) or self.input_schema.get("type") != "object":
            raise ConfigError("invalid_tool", f"tool {self.name}: input_schema must be a JSON Schema of type object.")
        if self.permission not in (None, "allow", "ask", "deny") and not isinstance(
            self.permission, (Roles, Condition)
        ):
            raise ConfigError(
                "invalid_tool",
                f"tool {self.name}: permission must be 'allow', 'ask', 'deny', Roles(...), Condition(...) or None.",
            )
        for word, accepted, label in (
            (self.subject_kind, ("path", "text", "command"), "subject_kind"),
            (self.unruled, (None, "ask", "deny"), "unruled"),
            (self.cache_control, (None, "5m", "1h"), "cache_control"),
        ):
            if word not in accepted:
                raise ConfigError(
                    "invalid_tool",
                    f"tool {self.name}: {label} must be {' or '.join(map(repr, accepted))}; {word!r:.40} was given.",
                )
        for function, label in (
            (self.subjects, "subjects"),
            (self.reads, "reads"),
            (self.detail, "detail"),
            (self.on_update, "on_update"),
            (self.validator, "validator"),
        ):
            if function is not None and not callable(function):
                raise ConfigError("invalid_tool", f"tool {self.name}: {label} must be a function or None.")
        if self.output_schema is not None and not isinstance(self.output_schema, Mapping):
            raise ConfigError("invalid_tool", f"tool {self.name}: output_schema must be a JSON Schema or None.")
        for value, label in ((self.timeout_ms, "timeout_ms"), (self.concurrency, "concurrency")):
            if value is not None and (type(value) is not int or value < 1):
                raise ConfigError(
                    "invalid_tool", f"tool {self.name}: {label} must be an integer of 1 or more, or None."
                )

    def text(self) -> str:
        """The whole description, as a model is shown it."""
        return self.description if self.detail is None else f"{self.description}\n{self.detail()}"

    def only_reads(self, args: Mapping[str, Any]) -> bool:
        """Whether a call with these arguments has no effects. Arguments that cannot be judged count as having some."""
        if self.reads is None:
            return self.read_only
        try:
            return self.reads(args) is True
        except Exception:
            return False

    def canonical(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """A shallow copy of `args` with aliases renamed.

        Raises ToolError `invalid_arguments` if an argument is given under two names.
        """
        if not self.aliases:
            return dict(args)
        renamed: dict[str, Any] = {}
        for key, value in args.items():
            name = self.aliases.get(key, key)
            if name in renamed:
                raise ToolError(
                    "invalid_arguments",
                    f"{self.name}: argument {name} was given twice, also under the name {key}; give it once.",
                )
            renamed[name] = value
        return renamed


def _is_name(name: object) -> bool:
    if not isinstance(name, str) or not 1 <= len(name) <= 128 or not name.isascii():
        return False
    return (name[0].isalpha() or name[0] == "_") and all(c.isalnum() or c in "_.-" for c in name)


F = TypeVar("F", bound=Callable[..., Any])


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    idempotent: bool = False,
    timeout_ms: int | None = None,
    concurrency: int | None = None,
    permission: Demand | None = None,
    subject: str | None = None,
    subjects: Callable[[Mapping[str, Any]], Sequence[str]] | None = None,
    subject_kind: SubjectKind | None = None,
    reads: Callable[[Mapping[str, Any]], bool] | None = None,
    writes: bool = False,
    aliases: Mapping[str, str] | None = None,
    on_update: Callable[[str], object] | None = None,
    cache_control: Literal["5m", "1h"] | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Turn a typed Python function into a Tool: `@tool` or `@tool(read_only=True, ...)`.

    The signature becomes the input schema (pydantic, strict: "5" is not 5), the docstring the description, the
    parameter order the positional order, the return annotation (unless it is text or anything) the schema that results
    are held to. The options are the fields of Tool. A parameter annotated `ToolContext` receives the context and is not
    part of the schema. An `async def` runs on the event loop; a plain `def` runs in a worker thread. Raise ToolError to
    fail with a code of your own; any other exception becomes `tool_failed` without its traceback.

    Raises ConfigError `invalid_tool` for a signature that has no schema (`*args`, positional-only, unknown types).
    """

    def build(function: Callable[..., Any]) -> Tool:
        from ptc._signature import tool_from_function  # pydantic costs 40 ms that only decorated tools need

        return tool_from_function(function, **options)

    if function is not None:
        if not (inspect.isfunction(function) or inspect.ismethod(function) or callable(function)):
            raise ConfigError("invalid_tool", f"@tool needs a function; {type(function).__name__} was given.")
        return build(function)
    return build

"""The host's hooks: functions that see every call before it is judged and after it ended.

A pre hook gates. It may replace the arguments (which are then validated like any others), block the call, or ask to
retry later; one that raises, is late or answers something else refuses the call, because a broken gate must not stand
open. A post hook observes: its faults are reported and never change the call. Both run for every origin, the trusted
host included. A plain function runs in a worker thread, a coroutine function on the event loop.
"""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ptc.errors import ConfigError, ToolError
from ptc.events import HookFailed
from ptc.kernel._host import CallbackFailed, Host
from ptc.kernel._json import copy_json
from ptc.kernel._pattern import pattern_fault, text_pattern
from ptc.kernel.call import Call, Next
from ptc.results import CallState, Origin, ToolResult
from ptc.values import show

if TYPE_CHECKING:
    from ptc.workspace.base import Workspace

__all__ = ["Block", "Hook", "PostCall", "PostHooks", "PreCall", "PreHooks", "Replace", "RetryLater", "hook_list"]

_LOG: Final = logging.getLogger("ptc")


class PreCall(NamedTuple):
    """What a pre hook sees. `args` are a copy with canonical names; `subject` is the resolved path or text that
    permission rules match, None if the tool has none; `parent` and `program` are ids or None."""

    call_id: str
    tool: str
    args: dict[str, Any]
    origin: Origin
    subject: str | None
    parent: str | None
    program: str | None


class PostCall(NamedTuple):
    """What a post hook sees: the call as it ran and its result as the caller receives it (sanitised and capped).

    `state` is done or failed; refused calls never reach post hooks. `duration_ms` counts from the opening of the call.
    `result` is a copy whose parts are shared: look, do not change.
    """

    call_id: str
    tool: str
    args: dict[str, Any]
    origin: Origin
    subject: str | None
    parent: str | None
    program: str | None
    result: ToolResult
    state: CallState
    duration_ms: float


class Replace(NamedTuple):
    """Answer of a pre hook: run the call with these arguments instead."""

    args: Mapping[str, Any]


class Block(NamedTuple):
    """Answer of a pre hook: refuse the call. The reason is shown to the caller."""

    reason: str


class RetryLater(NamedTuple):
    """Answer of a pre hook: refuse the call now; the identical call may work after `after_ms` milliseconds."""

    reason: str
    after_ms: int = 1_000


Answer: TypeAlias = Replace | Block | RetryLater | None
Pre: TypeAlias = Callable[[PreCall], Answer | Awaitable[Answer]]
Post: TypeAlias = Callable[[PostCall], object]


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook of the host.

    name        for messages and events
    pre         asked before the call is judged, or None
    post        told after the call ended, or None
    tools       glob or globs on tool names (`*` matches anything): the calls that the hook sees. All by default
    timeout_ms  time for one answer, milliseconds. 30,000

    Raises ConfigError `invalid_option` for a hook without function, a wrong glob or time.
    """

    name: str
    pre: Pre | None = None
    post: Post | None = None
    tools: str | tuple[str, ...] | list[str] = "*"
    timeout_ms: int = 30_000

    def __post_init__(self) -> None:
        tools = (self.tools,) if isinstance(self.tools, str) else self.tools
        if isinstance(tools, list):
            tools = tuple(tools)
        if not isinstance(self.name, str) or not self.name:
            raise _wrong(self.name, "its name must be text")
        if self.pre is None and self.post is None:
            raise _wrong(self.name, "give pre=, post= or both")
        if not all(function is None or callable(function) for function in (self.pre, self.post)):
            raise _wrong(self.name, "pre and post must be functions of one argument")
        if not isinstance(tools, tuple) or not tools or not all(isinstance(glob, str) and glob for glob in tools):
            raise _wrong(self.name, "tools must be a glob such as 'mcp__*' or a tuple of globs")
        for glob in tools:
            fault = pattern_fault(glob)
            if fault:
                raise _wrong(self.name, f"in tools, {fault}")
        if type(self.timeout_ms) is not int or self.timeout_ms < 1:
            raise _wrong(self.name, "timeout_ms must be an integer of 1 or more")
        object.__setattr__(self, "tools", tools)

    def sees(self, tool: str) -> bool:
        """Whether the hook is concerned with calls of `tool`."""
        return any(text_pattern(glob).fullmatch(tool) is not None for glob in self.tools)


def _wrong(name: object, rule: str) -> ConfigError:
    return ConfigError("invalid_option", f"hook {show(name)} cannot be used: {rule}.")


def hook_list(hooks: Iterable[Hook | Pre]) -> tuple[Hook, ...]:
    """The hooks of a session; a plain function counts as a pre hook. Raises ConfigError `invalid_option`."""
    found: list[Hook] = []
    for hook in hooks:
        if isinstance(hook, Hook):
            found.append(hook)
        elif callable(hook):
            found.append(Hook(getattr(hook, "__name__", type(hook).__name__), pre=hook))
        else:
            raise ConfigError("invalid_option", f"a hook is a Hook or a function; a {type(hook).__name__} was given.")
    return tuple(found)


class _Runner:
    """What the two governors share: choosing the hooks of a tool and reporting their faults."""

    def __init__(self, hooks: Iterable[Hook], stage: str, workspace: Workspace, host: Host) -> None:
        self._hooks = tuple(hooks)
        self._stage = stage
        self._workspace = workspace
        self._host = host
        self._by_tool: dict[str, tuple[Hook, ...]] = {}

    def concerned(self, tool: str) -> tuple[Hook, ...]:
        hooks = self._by_tool.get(tool)
        if hooks is None:
            hooks = self._by_tool[tool] = tuple(hook for hook in self._hooks if hook.sees(tool))
        return hooks

    def fault(self, call: Call, hook: Hook, failure: CallbackFailed) -> None:
        host = self._host
        reason = host.particulars(failure)
        _LOG.warning("%s hook %s %s (call %s of %s)", self._stage, show(hook.name), reason, call.id, call.name)
        if host.events.active:
            host.events.emit(HookFailed(host.now_ms(), call.id, hook.name, self._stage, reason))


class PreHooks(_Runner):
    """Asks every pre hook that is concerned, in order; each sees the arguments that the one before left."""

    def __init__(self, hooks: Iterable[Hook], workspace: Workspace, host: Host) -> None:
        super().__init__((hook for hook in hooks if hook.pre), "pre", workspace, host)

    async def __call__(self, call: Call, next: Next) -> ToolResult:
        if call.trouble is None:  # arguments that cannot be read are refused by `validate`, whatever a hook says
            for hook in self.concerned(call.name):
                await self._ask(call, hook)
        return await next(call)

    async def _ask(self, call: Call, hook: Hook) -> None:
        assert hook.pre is not None
        event = PreCall(
            call.id,
            call.name,
            copy_json(call.args),
            call.origin,
            call.subject(self._workspace),
            None if call.parent is None else call.parent.id,
            call.program,
        )
        try:
            answer = await self._host.ask(hook.pre, event, hook.timeout_ms / 1000, call.deadline)
            self._check(answer)
            if isinstance(answer, Replace):
                self._replace(call, answer.args)
        except CallbackFailed as failure:
            self.fault(call, hook, failure)
            raise ToolError(
                "hook_failed",
                f"{call.name} is refused: the host's hook {show(hook.name)} {failure.reason}. The call itself may be "
                "fine; the host has to repair the hook.",
                details={"hook": hook.name},
            ) from None
        if answer is None or isinstance(answer, Replace):
            return
        reason = self._host.reason(answer.reason)
        if isinstance(answer, Block):
            raise ToolError(
                "hook_blocked",
                f"{call.name} is refused by the host's hook {show(hook.name)}: {reason}. Do not repeat the call "
                "unchanged.",
                details={"hook": hook.name, "reason": reason},
            )
        raise ToolError(
            "hook_retry_later",
            f"{call.name} is put off by the host's hook {show(hook.name)}: {reason}. The identical call may work in "
            f"{answer.after_ms:,} ms.",
            details={"hook": hook.name, "reason": reason, "retry_after_ms": answer.after_ms},
        )

    def _check(self, answer: object) -> None:
        if answer is not None and not isinstance(answer, (Replace, Block, RetryLater)):
            raise CallbackFailed(
                f"answered with a {type(answer).__name__} instead of None, Replace, Block or RetryLater"
            )
        if isinstance(answer, RetryLater) and type(answer.after_ms) is not int:
            raise CallbackFailed("answered RetryLater without a number of milliseconds")

    def _replace(self, call: Call, args: object) -> None:
        if not isinstance(args, Mapping) or not all(isinstance(key, str) for key in args):
            raise CallbackFailed("replaced the arguments by something that is no object")
        try:
            call.replace_args(copy_json(dict(args)))
        except ToolError as error:
            raise CallbackFailed(f"gave arguments that cannot be used ({error.message})") from None


class PostHooks(_Runner):
    """Tells every post hook that is concerned how a call ended that had started."""

    def __init__(self, hooks: Iterable[Hook], workspace: Workspace, host: Host) -> None:
        super().__init__((hook for hook in hooks if hook.post), "post", workspace, host)

    async def __call__(self, call: Call, next: Next) -> ToolResult:
        result = await next(call)
        for hook in self.concerned(call.name):
            await self._tell(call, hook, result)
        return result

    def _subject(self, call: Call) -> str | None:
        try:
            return call.subject(self._workspace)
        except ToolError:  # a path that the tool refused, or that is gone by now
            return None

    async def _tell(self, call: Call, hook: Hook, result: ToolResult) -> None:
        assert hook.post is not None
        event = PostCall(
            call.id,
            call.name,
            copy_json(call.args),
            call.origin,
            self._subject(call),
            None if call.parent is None else call.parent.id,
            call.program,
            copy.copy(result),
            "done" if result.error is None else "failed",
            (time.monotonic() - call.started) * 1000,
        )
        try:
            await self._host.ask(hook.post, event, hook.timeout_ms / 1000)
        except CallbackFailed as failure:
            self.fault(call, hook, failure)

"""The kernel: the one door to every tool (promise P1), and the one place where the order of its governors is written.

A call is opened (`Kernel.open` issues its id and its provenance) and run. Every origin takes the same way; what differs
by origin is decided by the governors from what `open` recorded.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ptc.errors import ConfigError, ToolError
from ptc.events import EventBus
from ptc.kernel._excerpt import excerpt
from ptc.kernel._host import Host
from ptc.kernel.approval import Approve, Approver
from ptc.kernel.artifacts import Artifacts, ArtifactStore
from ptc.kernel.budget import Budget, Spend
from ptc.kernel.call import Call, Governor, Next, Scope
from ptc.kernel.hooks import Hook, PostHooks, PreHooks, hook_list
from ptc.kernel.perform import Perform
from ptc.kernel.permission import Permission, Policy
from ptc.kernel.queue import Queue
from ptc.kernel.recursion import Recursion
from ptc.kernel.sanitize import Sanitize, Sanitizer
from ptc.kernel.scope import Fence
from ptc.kernel.timeout import Timeout
from ptc.kernel.trace import Trace
from ptc.kernel.validate import Validate
from ptc.registry import Registry
from ptc.results import CallRecord, Origin, ToolResult
from ptc.tooling import Tool
from ptc.values import show

if TYPE_CHECKING:
    from ptc.workspace.base import Workspace

__all__ = ["ORDER", "Kernel"]

AGENT_CAP_BYTES: Final = 64 * 1024
# What a tool is given of the calls that it makes itself: it is a program that reads data, whoever asked for it. Its own
# result is cut for that one.
NESTED_CAP_BYTES: Final = 4 * 1024 * 1024
_TEXT: Final = frozenset({str})

# Outermost first. The three before the queue act on the way out, so they run in reverse: what the tool gave is
# sanitised, then capped, then shown to post hooks. They stand outside the queue and the tool's time limit, so that a
# slow hook holds no slot and a timed-out call is cleaned and observed like any other.
ORDER: Final = (
    "trace",
    "recursion",
    "scope",
    "pre_hooks",
    "validate",
    "permission",
    "approval",
    "budget",
    "post_hooks",
    "artifacts",
    "sanitize",
    "queue",
    "timeout",
)


class Kernel:
    """Opens and runs calls. One per session; not to be shared between event loops.

    registry, workspace  the tools, and the files they work on
    policy          permission rules; None means `Policy()`: reading is allowed, everything else asks
    approver        function asked for each call that needs approval, plain or async; None refuses such calls
    hooks           Hook records; a plain function counts as a pre hook
    budget          what all calls together may use; None means no limit
    events          where events go; None makes a bus of its own
    sanitizer       removes secrets; None makes one from `secrets`
    secrets         values that must not leave the session in any result, event or record
    artifacts       store of outputs that were cut; None makes one with the default bounds
    tracer          an OpenTelemetry tracer, or None
    roles           of the caller, for tools that demand one
    max_concurrent  calls of the session that run at once. 64
    settle_ms       time for a tool to end after it was called off, milliseconds. 500
    approval_timeout_ms   time for the approver, milliseconds. 300,000
    """

    def __init__(
        self,
        registry: Registry,
        workspace: Workspace,
        *,
        policy: Policy | None = None,
        approver: Approver | None = None,
        hooks: Iterable[Hook | Callable[..., Any]] = (),
        budget: Budget | None = None,
        events: EventBus | None = None,
        secrets: Iterable[str] = (),
        sanitizer: Sanitizer | None = None,
        artifacts: ArtifactStore | None = None,
        tracer: Any = None,
        roles: Iterable[str] = (),
        max_concurrent: int = 64,
        settle_ms: int = 500,
        approval_timeout_ms: int = 300_000,
    ) -> None:
        self.registry = registry
        self.workspace = workspace
        self.policy = policy if policy is not None else Policy()
        self.events = events if events is not None else EventBus()
        self.sanitizer = sanitizer if sanitizer is not None else Sanitizer(secrets)
        self.artifacts = artifacts if artifacts is not None else ArtifactStore()
        self.epoch = time.monotonic()
        self._opened = 0
        listed = hook_list(hooks)
        self._host = host = Host(self.events, self.sanitizer, self.epoch)
        validate = Validate()
        self._permission = permission = Permission(self.policy, workspace, _roles(roles))
        self._trace = Trace(host, tracer)
        self._timeout = Timeout(settle_ms / 1000)
        # A governor that has nothing to do in this session is not folded in.
        governors: dict[str, Governor | None] = {
            "trace": self._trace,
            "recursion": Recursion(),
            "scope": Fence(registry),
            "pre_hooks": PreHooks(listed, workspace, host) if any(hook.pre for hook in listed) else None,
            "validate": validate,
            "permission": permission,
            "approval": Approve(
                approver,
                workspace,
                fold((validate, permission), _accept),
                host,
                timeout_s=approval_timeout_ms / 1000,
            ),
            "budget": Spend(budget, host) if budget is not None else None,
            "post_hooks": PostHooks(listed, workspace, host) if any(hook.post for hook in listed) else None,
            "artifacts": Artifacts(self.artifacts),
            "sanitize": Sanitize(self.sanitizer),
            "queue": Queue(workspace, max_concurrent),
            "timeout": self._timeout,
        }
        chain = [governor for name in ORDER if (governor := governors[name]) is not None]
        self._perform = Perform(workspace, host, self._nested, self._keep)
        self._chain = fold(chain, self._perform)

    def open(
        self,
        name: str,
        args: object,
        *,
        origin: Origin,
        trusted: bool | None = None,
        parent: Call | None = None,
        scope: Scope | None = None,
        program: str | None = None,
        line: int | None = None,
        cap_bytes: int = AGENT_CAP_BYTES,
        deadline: float | None = None,
        attempt: int = 1,
    ) -> Call:
        """A new call with its record; nothing is judged yet and nothing runs.

        trusted   None means: a host call is, an agent call is not, a nested call is what its parent is. True cannot
                  raise a nested call above its parent
        scope     the fence of the program that makes it; the parent's scope becomes its outer one. None inherits
        program, deadline   None inherits the parent's; a deadline never lies behind the parent's

        Other parameters as in `Call`.
        """
        tool = self.registry.get(name) if type(name) is str else None
        self._opened += 1
        call_id = f"c{self._opened}"
        trouble: ToolError | None = None
        renamed: dict[str, Any] = {}
        if (type(args) is dict or isinstance(args, Mapping)) and _TEXT.issuperset(map(type, args)):
            try:
                renamed = dict(args) if tool is None else tool.canonical(args)
            except ToolError as error:
                trouble = error
        else:
            trouble = _not_an_object(name, args)
        if parent is None:
            trusted = origin == "host" if trusted is None else trusted and origin == "host"
        else:
            trusted = parent.trusted and trusted is not False
            if scope is None:
                scope = parent.scope
            elif scope.outer is None and scope is not parent.scope:
                scope.outer = parent.scope
            if program is None:
                program = parent.program
            if parent.deadline is not None and (deadline is None or parent.deadline < deadline):
                deadline = parent.deadline
        started = time.monotonic()
        epoch = self.epoch if scope is None or scope.epoch is None else scope.epoch
        record = CallRecord(
            call_id,
            excerpt(str(name), 128, self.sanitizer) if tool is None else tool.name,
            None,
            "running",
            origin,
            (started - epoch) * 1000,
            attempt=attempt,
            line=line,
            parent=None if parent is None else parent.id,
        )
        inner = None if parent is None else parent.inner
        if inner is not None:
            inner.append(record)
        return Call(
            call_id,
            str(name),
            tool,
            renamed,
            origin,
            trusted,
            record,
            cap_bytes,
            started=started,
            deadline=deadline,
            parent=parent,
            scope=scope,
            program=program,
            trouble=trouble,
            inner=inner,
        )

    def run(self, call: Call) -> Coroutine[Any, Any, ToolResult]:
        """Run an opened call, once. A refusal or failure is in the result; nothing is raised for it.

        Only cancelling the waiting task goes through, after the tool was called off and the record closed: as
        `never_started` if the tool had not begun, `unknown` if it had and may have had effects, `failed` if it only
        reads, and as what it was if it had ended already.
        """
        return self._chain(call)

    def call_off(self, call: Call, task: asyncio.Task[None], why: str = "cancelled") -> None:
        """Cancel the task of a supervised call. `why` is `cancelled` or `timeout`."""
        if call.stopping is None:
            call.stopping = why
        task.cancel()

    def leave_behind(self, call: Call, task: asyncio.Task[None]) -> None:
        """Give up waiting for a supervised call that was called off and does not end: it is logged and counted."""
        self._timeout.leave_behind(call.name, task)

    def _nested(self, parent: Call, name: str, args: Mapping[str, Any]) -> Coroutine[Any, Any, ToolResult]:
        cap = max(parent.cap_bytes, NESTED_CAP_BYTES)
        return self.run(self.open(name, args, origin="nested", parent=parent, cap_bytes=cap))

    def _keep(self, tool: str, text: str) -> str | None:
        return self.artifacts.put_text(self.sanitizer.text(text), tool)

    def never(self, tool: Tool) -> bool:
        """Whether every call of `tool` by a model or a script of one is denied, whatever its arguments."""
        return self._permission.never(tool)

    async def flush(self, seconds: float) -> None:
        """Wait until the tools' callbacks were told what they still have to be told, `seconds` at most."""
        await self._perform.updates.flush(seconds)

    def close(self) -> None:
        """Let go of threads that were made for functions of the host, and tell no more callbacks. Calls that run are
        not cancelled; their tasks are the caller's."""
        self._perform.updates.close()
        self._host.close()

    def now_ms(self) -> float:
        """Milliseconds since the session began, as in events."""
        return (time.monotonic() - self.epoch) * 1000

    def active(self) -> list[CallRecord]:
        """The records of the calls that are running or waiting now, oldest first."""
        return list(self._trace.running.values())


def fold(governors: Sequence[Governor], innermost: Next) -> Callable[[Call], Coroutine[Any, Any, ToolResult]]:
    """One function out of governors, the first one outermost."""
    chain: Any = innermost
    for governor in reversed(governors):
        chain = _bound(governor, chain)
    return chain  # type: ignore[no-any-return]


def _bound(governor: Governor, next: Next) -> Next:
    return lambda call: governor(call, next)


async def _accept(call: Call) -> ToolResult:
    return ToolResult(call.name)


def _roles(roles: Iterable[str]) -> frozenset[str]:
    names = frozenset() if isinstance(roles, str) else frozenset(roles)
    if isinstance(roles, str) or not all(isinstance(name, str) and name for name in names):
        raise ConfigError(
            "invalid_option", f"roles must be a list of names such as ['admin']; {show(roles)} was given."
        )
    return names


def _not_an_object(name: object, args: object) -> ToolError:
    kind = "an object with keys that are not text" if isinstance(args, Mapping) else f"a {type(args).__name__}"
    return ToolError(
        "invalid_arguments",
        f"{show(name, 80)}: the arguments must be one object of names and values; {kind} was given.",
    )

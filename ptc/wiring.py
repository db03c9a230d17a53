"""The composition root: what a session is made of, and the order in which it is taken apart."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio

from ptc.errors import ConfigError
from ptc.events import EventBus
from ptc.kernel.approval import Approver
from ptc.kernel.artifacts import ArtifactStore
from ptc.kernel.budget import Budget
from ptc.kernel.hooks import Hook
from ptc.kernel.invoke import Kernel
from ptc.kernel.permission import Policy
from ptc.kernel.sanitize import Sanitizer
from ptc.limits import HIGHEST, Limits, clamp, parse_limits
from ptc.program.tool import Programs
from ptc.registry import Registry
from ptc.shell.policy import BashPolicy, choose_policy
from ptc.tooling import Tool
from ptc.tools import builtin_tools
from ptc.vm.pool import Pool, VmPool
from ptc.vm.process import Zygote
from ptc.web.access import WebAccess
from ptc.workspace.base import Workspace
from ptc.workspace.local import LocalWorkspace

if TYPE_CHECKING:
    from ptc.memory import MemoryStore

__all__ = ["Parts", "wire"]

MAX_WARM = 64
CALLBACKS_S = 1.0


class Parts(NamedTuple):
    """What a session is made of. `owned` is the workspace if the session opened it, else None."""

    workspace: Workspace
    owned: LocalWorkspace | None
    bus: EventBus
    pool: Pool
    programs: Programs
    registry: Registry
    kernel: Kernel
    memory: MemoryStore | None

    async def close(self) -> None:
        """Cancel what runs, end the VM processes, close what was opened. Finishes even in a cancelled task."""
        with anyio.CancelScope(shield=True):
            await self.programs.close()
            await self.pool.close()
            await self.kernel.flush(CALLBACKS_S)
            self.kernel.close()
            self.bus.close()
            if self.memory is not None:
                await self.memory.aclose()
            if self.owned is not None:
                self.owned.close()


def wire(
    workspace: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Workspace,
    *,
    policy: Policy | None,
    approver: Approver | None,
    hooks: Iterable[Hook | Callable[..., Any]],
    budget: Budget | None,
    limits: Limits | Mapping[str, Any] | None,
    ceilings: Limits | Mapping[str, Any] | None,
    secrets: Iterable[str],
    bash_policy: str | BashPolicy | None,
    web: WebAccess | None,
    memory: str | os.PathLike[str] | MemoryStore | None,
    roles: Iterable[str],
    tools: Iterable[Tool],
    warm: int,
    pool: Pool | None,
    zygote: Zygote | None,
) -> Parts:
    """The parts of a session; the arguments are those of `Session`. Exactly one of `pool` and `zygote` is given.

    Raises ConfigError for anything that cannot be used; what was opened is closed then, `zygote` is the caller's.
    """
    _check("policy", policy, Policy)
    _check("budget", budget, Budget)
    _check("web", web, WebAccess)
    _check_list("hooks", hooks, "[Hook('audit', post=log)]")
    _check_list("secrets", secrets, "[os.environ['API_KEY']]")
    _check_list("roles", roles, "['admin']")
    _check_list("tools", tools, "[my_tool]")
    if approver is not None and not callable(approver):
        raise ConfigError("invalid_option", "approver must be a function of one ApprovalRequest, or None.")
    if type(warm) is not int or not 0 <= warm <= MAX_WARM:
        raise ConfigError("invalid_option", f"warm must be an integer from 0 to {MAX_WARM}; {warm!r:.40} was given.")
    if pool is not None and not callable(getattr(pool, "acquire", None)):
        raise ConfigError("invalid_option", f"pool must be a Pool or None; a {type(pool).__name__} was given.")
    if not isinstance(workspace, (str, os.PathLike, Sequence, Workspace)):
        raise ConfigError(
            "invalid_workspace",
            "workspace must be a folder, a list of folders or a Workspace, for example '.'; "
            f"a {type(workspace).__name__} was given.",
        )
    commands = choose_policy(bash_policy)
    base = parse_limits(limits, Limits())
    most = None if ceilings is None else parse_limits(ceilings, HIGHEST)
    owned = None if isinstance(workspace, Workspace) else LocalWorkspace(workspace)
    opened: Workspace = owned if owned is not None else workspace  # type: ignore[assignment]
    hushed = (*secrets, *(web.secrets() if web is not None else ()))
    remembered: MemoryStore | None = None
    try:
        remembered = _memory(memory, hushed)
        bus = EventBus()
        guests: Pool = VmPool(warm, zygote=zygote) if pool is None else pool
        programs = Programs(guests, bus, limits=clamp(base, most)[0], ceilings=most)
        artifacts = ArtifactStore()
        rules = policy or Policy()
        registry = Registry()
        built_in = builtin_tools(
            workspace=opened,
            bash_policy=commands,
            lookup=registry.get,
            artifact_reader=artifacts.get,
            hidden=rules.denied_paths("read"),
            web=web,
            memory=remembered,
        )
        for tool in built_in.tools:
            registry.add(tool)
        registry.explain_absent(built_in.absent)
        registry.add(programs.tool())
        for tool in tools:
            registry.add(tool)
        kernel = Kernel(
            registry,
            opened,
            policy=rules,
            approver=approver,
            hooks=hooks,
            budget=budget,
            events=bus,
            secrets=hushed,
            artifacts=artifacts,
            roles=roles,
        )
        programs.kernel = kernel
    except BaseException:
        if remembered is not None:
            remembered.close()
        if owned is not None:
            owned.close()
        raise
    return Parts(opened, owned, bus, guests, programs, registry, kernel, remembered)


def _memory(given: object, secrets: Iterable[str]) -> MemoryStore | None:
    """What the session remembers with: a store of its own, or a view of the host's, which closing leaves open. Both
    remove the session's secrets from what they keep."""
    if given is None:
        return None
    from ptc.memory import MemoryStore  # SQLite is loaded only where something is remembered

    clean = Sanitizer(secrets).text
    if isinstance(given, MemoryStore):
        return given.view(clean=clean)
    if not isinstance(given, (str, os.PathLike)):
        raise ConfigError(
            "invalid_option",
            f"memory must be a file such as 'memory.db', a MemoryStore or None; a {type(given).__name__} was given.",
        )
    return MemoryStore(given, clean=clean)


def _check(name: str, value: object, kind: type) -> None:
    if value is not None and not isinstance(value, kind):
        raise ConfigError(
            "invalid_option", f"{name} must be a {kind.__name__} or None; a {type(value).__name__} was given."
        )


def _check_list(name: str, value: object, example: str) -> None:
    if not isinstance(value, Iterable):
        raise ConfigError(
            "invalid_option", f"{name} must be a list such as {example}; a {type(value).__name__} was given."
        )

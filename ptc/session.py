"""Session: one workspace, one set of tools, one kernel; the face of ptc for Python users. It decides nothing.

Everything a session does goes through its kernel. The helpers (`read_file`, `grep`, ...) are calls by the host and are
trusted: permission and approval, which guard against a model, are skipped, and nothing else is. `governed_tool` and
`program(..., governed=True)` apply the full gate.

What a session is made of is imported in its constructor and not here, after the VM process was started: both take some
50 ms, and so they take them at the same time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from ptc.errors import ConfigError, SessionClosed
from ptc.limits import Limits, parse_limits
from ptc.results import CallRecord, ErrorInfo, ProgramError, ProgramResult, ToolResult
from ptc.values import show
from ptc.vm.process import acquire_zygote, release_zygote

if TYPE_CHECKING:
    from ptc.events import Subscription
    from ptc.kernel.approval import Approver
    from ptc.kernel.budget import Budget
    from ptc.kernel.hooks import Hook
    from ptc.kernel.permission import Policy
    from ptc.memory import MemoryStore
    from ptc.shell.policy import BashPolicy
    from ptc.tooling import Tool
    from ptc.vm.pool import Pool
    from ptc.web.access import WebAccess
    from ptc.workspace.base import Workspace

__all__ = ["Session", "definition"]

HOST_CAP_BYTES: Final = 4 * 1024 * 1024
Format = Literal["anthropic", "openai", "mcp"]


class Session:
    """A workspace with its tools, and programs over them. Use it as an async context manager, on asyncio.

    workspace   a folder, several folders (the first is the primary one), or a Workspace object
    policy      permission rules for calls that a model makes; None means `Policy()`: reading is allowed, all else asks
    approver    `(ApprovalRequest) -> True | False | {edited arguments}`, plain or async, asked when a rule says *ask*;
                None refuses such calls with `approval_unanswered`
    hooks       Hook records or plain functions that see calls before they run; they may block or rewrite them
    budget      a Budget that all calls of the session share; None means no limit
    limits      Limits, or a mapping of some of them, for programs that ask for nothing; None means the defaults
    ceilings    Limits that no program can exceed, or a mapping of some of them (the others are unbounded); None: none
    secrets     values that must not leave the session in any result, event or record
    bash_policy what commands may do: `coder` (write and network), `read-only`, `read-only-no-net` or a BashPolicy; None
                means `coder`. The operating system enforces it
    web         WebAccess: where the web tools may go, as whom, and how much they take; None means `WebAccess()`: every
                public server on its usual ports, without credentials
    memory      what is remembered beyond the session: a database file (made if there is none; scope `default`), or a
                MemoryStore, which stays open and says whose memory it is; None: nothing, and no memory tools
    roles       of who is behind the calls, for tools that demand one (`Tool.permission=Roles(...)`)
    tools       further tools (made by `@tool` or `Tool(...)`)
    warm        VM processes kept ready; 2
    pool        where guests come from; None means hardened child processes, `ptc.testing.InProcessPool` is for tests

    Raises ConfigError for anything that cannot be used; nothing is left running then.
    """

    def __init__(
        self,
        workspace: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Workspace = ".",
        *,
        policy: Policy | None = None,
        approver: Approver | None = None,
        hooks: Iterable[Hook | Callable[..., Any]] = (),
        budget: Budget | None = None,
        limits: Limits | Mapping[str, Any] | None = None,
        ceilings: Limits | Mapping[str, Any] | None = None,
        secrets: Iterable[str] = (),
        bash_policy: str | BashPolicy | None = None,
        web: WebAccess | None = None,
        memory: str | os.PathLike[str] | MemoryStore | None = None,
        roles: Iterable[str] = (),
        tools: Iterable[Tool] = (),
        warm: int = 2,
        pool: Pool | None = None,
    ) -> None:
        self._closed = True
        zygote = acquire_zygote() if pool is None else None
        try:
            from ptc.wiring import wire  # imported while the VM process starts, see above

            self._parts = wire(
                workspace,
                policy=policy,
                approver=approver,
                hooks=hooks,
                budget=budget,
                limits=limits,
                ceilings=ceilings,
                secrets=secrets,
                bash_policy=bash_policy,
                web=web,
                memory=memory,
                roles=roles,
                tools=tools,
                warm=warm,
                pool=pool,
                zygote=zygote,
            )
        except BaseException:
            if zygote is not None:
                release_zygote(zygote)
            raise
        self.workspace, self.registry, self.kernel = self._parts.workspace, self._parts.registry, self._parts.kernel
        self._programs = self._parts.programs
        self.memory = self._parts.memory
        self._closed = False

    async def __aenter__(self) -> Self:
        self._open()
        self._parts.pool.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _open(self) -> None:
        if self._closed:
            raise SessionClosed()

    async def close(self) -> None:
        """Cancel what runs, end the VM processes and close the workspace. May be called again."""
        if self._closed:
            return
        self._closed = True
        await self._parts.close()

    # --- calls ---------------------------------------------------------------------------------------------------

    async def program(
        self,
        source: str | None = None,
        path: str | None = None,
        inputs: Mapping[str, Any] | None = None,
        allowed_tools: Iterable[str] | None = None,
        limits: Limits | Mapping[str, Any] | None = None,
        language: str | None = None,
        governed: bool = False,
    ) -> ProgramResult:
        """Run one JavaScript program and give its whole account. Never raises for a failing program.

        source         text of the script; wins over `path`
        path           a `.js` or `.mjs` file of the workspace
        inputs         JSON object, the second argument of `run`; None means {}
        allowed_tools  names that the script may call; None means every tool except `program`; an empty list means none
        limits         Limits, or a mapping of those that differ from the session's
        language       `javascript`; None means that
        governed       True: the calls of the script pass permission and approval, as if a model had sent it

        Raises ConfigError for limits that cannot be used, SessionClosed after `close`. Cancelling the waiting task
        ends the program.
        """
        self._open()
        asked = parse_limits(limits, self._programs.limits)
        if isinstance(allowed_tools, str) or not isinstance(allowed_tools, Iterable | None):
            raise ConfigError(
                "invalid_option", f"allowed_tools must be a list such as ['read']; {show(allowed_tools, 40)} was given."
            )
        args: dict[str, Any] = {
            "source": source,
            "path": path,
            "inputs": None if inputs is None else inputs,
            "allowed_tools": None if allowed_tools is None else list(allowed_tools),
            "language": language,
        }
        args = {name: value for name, value in args.items() if value is not None}
        if limits is not None:
            args["limits"] = asked.as_dict()
        cap = max(HOST_CAP_BYTES, asked.value_bytes, asked.max_output_bytes)
        result = await self._call("program", args, governed=governed, cap_bytes=cap)
        return result if isinstance(result, ProgramResult) else _denied(result)

    async def tool(self, name: str, args: Mapping[str, Any] | None = None) -> ToolResult:
        """Call a tool as the host. A failure is in `result.error`; nothing is raised for it."""
        return await self._call(name, args)

    async def governed_tool(self, name: str, args: Mapping[str, Any] | None = None) -> ToolResult:
        """Call a tool as if a model had chosen it: permission and approval apply, output is cut for a model."""
        self._open()
        return await self.kernel.run(self.kernel.open(name, {} if args is None else args, origin="agent"))

    async def _call(
        self,
        name: str,
        args: Mapping[str, Any] | None,
        *,
        governed: bool = False,
        cap_bytes: int = HOST_CAP_BYTES,
    ) -> ToolResult:
        self._open()
        given = {} if args is None else args
        call = self.kernel.open(name, given, origin="host", trusted=not governed, cap_bytes=cap_bytes)
        return await self.kernel.run(call)

    async def read_file(self, path: str, *, offset: int | None = None, limit: int | None = None) -> str:
        """Text of a file without line numbers. Raises ToolError if it cannot be read.

        offset: lines to skip; limit: lines to give; None means from the start, to the end.
        """
        args: dict[str, Any] = {"path": path, "raw": True}
        args |= {name: value for name, value in (("offset", offset), ("limit", limit)) if value is not None}
        return str((await self._good("read", args)).data["text"])

    async def write_file(self, path: str, content: str, *, create_dirs: bool = False) -> ToolResult:
        """Write a whole file in one step. `create_dirs`: make missing folders above it."""
        return await self._call("write", {"path": path, "content": content, "create_dirs": create_dirs})

    async def edit_file(self, path: str, edits: Sequence[Mapping[str, Any]]) -> ToolResult:
        """Replace texts in a file, all or none: `edits` is `[{"old": ..., "new": ...}]`."""
        given = [dict(edit) if isinstance(edit, Mapping) else edit for edit in edits]
        return await self._call("edit", {"path": path, "edits": given})

    async def patch_file(self, patch: str, *, path: str | None = None, dry_run: bool = False) -> ToolResult:
        """Apply a patch to one file or several, all or none: a unified diff, or the `*** Begin Patch` form.

        path: the file of a diff that names none. dry_run: change nothing, say what would be changed.
        """
        args: dict[str, Any] = {"patch": patch, "dry_run": dry_run}
        return await self._call("patch", args if path is None else {**args, "path": path})

    async def bash(
        self, command: str | Sequence[str], *, cwd: str = ".", timeout: float = 30, stdin: str | None = None
    ) -> str:
        """What a command prints on standard output. `command` is a list of words, run as it is, or a line for bash.

        cwd: folder of the workspace; timeout: seconds; stdin: what it reads, None means nothing. Raises ToolError, with
        `nonzero_exit` for a command that ends with another code than 0.
        """
        given: Any = command if isinstance(command, str) else list(command)
        args = {"command" if isinstance(command, str) else "argv": given, "cwd": cwd, "timeout": timeout}
        result = await self._good("bash", args if stdin is None else {**args, "stdin": stdin})
        error = result.exit_error()
        if error is not None:
            raise error
        return str(result.data["stdout"])

    async def git(self, /, command: str, subcommand: str | None = None, **args: Any) -> ToolResult:
        """One command of the tool `git`: status, log, diff, branch, checkout, stash, remote or worktree, with its
        arguments by name."""
        return await self._call("git", {"command": command, "subcommand": subcommand, **args})

    async def ls(self, path: str = ".") -> list[dict[str, Any]]:
        """Entries of a folder: `[{name, type, size, modified}]`. Raises ToolError."""
        return list((await self._good("ls", {"path": path})).data)

    async def glob(self, pattern: str, *, path: str = ".") -> list[str]:
        """Paths below `path` that match, relative to the workspace, sorted. Raises ToolError."""
        return list((await self._good("glob", {"pattern": pattern, "path": path})).data)

    async def grep(
        self,
        pattern: str,
        *,
        path: str = ".",
        glob: str | None = None,
        context_lines: int = 0,
        ignore_case: bool = False,
    ) -> str:
        """Lines that match a regular expression, `path:line:text` each; "" if there is none. Raises ToolError.

        path: file or folder; glob: only files of such a name, None means all; context_lines: lines shown around each.
        """
        args: dict[str, Any] = {"pattern": pattern, "path": path}
        args |= {"context_lines": context_lines, "ignore_case": ignore_case}
        if glob is not None:
            args["glob"] = glob
        return (await self._good("grep", args)).output

    async def _good(self, name: str, args: Mapping[str, Any]) -> ToolResult:
        result = await self._call(name, args)
        result.raise_for_error()
        return result

    def cancel(self) -> int:
        """End every program that runs now; each returns with status `cancelled`. Gives their number."""
        return self._programs.cancel_all()

    # --- the surface ---------------------------------------------------------------------------------------------

    def register(self, tool: Tool) -> None:
        """Add a tool. Raises ConfigError `duplicate_tool` or `invalid_tool`."""
        self._open()
        self.registry.add(tool)

    def tool_names(self) -> list[str]:
        """Names of all tools, sorted."""
        return sorted(self.registry.names())

    def tool_definitions(self, format: Format = "anthropic") -> list[dict[str, Any]]:
        """Definitions of the tools that a model may use, sorted by name, in the form that an API expects.

        A tool that is denied whatever its arguments, by the policy or by its own demand, is left out. Being listed is
        not being authorised.
        Raises ConfigError for another format.
        """
        tools = sorted(self.registry, key=lambda tool: tool.name)
        return [definition(tool, format) for tool in tools if not self.kernel.never(tool)]

    def active_tools(self) -> list[CallRecord]:
        """Records of the calls that run now, oldest first."""
        return self.kernel.active()

    def events(self) -> Subscription:
        """An async iterator over the events from now on; it ends when the session closes."""
        return self._parts.bus.subscribe()


def definition(tool: Tool, format: Format) -> dict[str, Any]:
    """One tool's definition for a model API. Raises ConfigError for an unknown format."""
    schema = dict(tool.input_schema)
    if format == "anthropic":
        made = {"name": tool.name, "description": tool.text(), "input_schema": schema}
        if tool.cache_control is not None:
            made["cache_control"] = {"type": "ephemeral", "ttl": tool.cache_control}
        return made
    if format == "openai":
        function = {"name": tool.name, "description": tool.text(), "parameters": schema}
        return {"type": "function", "function": function}
    if format == "mcp":
        body: dict[str, Any] = {"name": tool.name, "description": tool.text(), "inputSchema": schema}
        if tool.output_schema is not None and tool.output_schema.get("type") == "object":
            body["outputSchema"] = dict(tool.output_schema)
        body["annotations"] = {"readOnlyHint": tool.read_only, "idempotentHint": tool.idempotent}
        return body
    raise ConfigError("invalid_option", f"format {format!r:.40} is unknown; use anthropic, openai or mcp.")


def _denied(result: ToolResult) -> ProgramResult:
    """The call of the program itself was refused: the same account, with nothing in it."""
    info = result.error or ErrorInfo("tool_failed", "the program gave no account of itself")
    error = ProgramError(info.code, info.message, info.category, info.retryable, info.details, kind="denied")
    return ProgramResult(
        "program", result.output, 1, metadata=result.metadata, error=error, status="failed", truncated=result.truncated
    )

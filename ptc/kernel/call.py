"""The shape that every governor shares: one call, and what is inside of it.

A governor is `async (call, next) -> ToolResult`. It refuses by raising ToolError before it calls `next`; `trace`, the
outermost, turns that into a result and a record. Governors see this file and leaves of the package, never one another:
the order stands in `invoke.py` alone.

Provenance (`origin`, `trusted`, `parent`, `scope`) is set by `Kernel.open` and by nothing that a model or a script
sends.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ptc.errors import PtcError, ToolError
from ptc.results import CallRecord, Origin, ToolResult
from ptc.tooling import Tool

ARTIFACT_SCHEME: Final = "artifact://"

__all__ = ["Call", "Governor", "Next", "Scope"]


@dataclass(slots=True, eq=False)
class Scope:
    """The fence around one program: what it may call and how often. Every nested call inherits it.

    label          for messages, e.g. "this program"
    allowed        canonical names; None means every tool of the session
    max_calls      admitted or not, an allowed name costs one; a name outside `allowed` costs nothing. None: no limit
    max_in_flight  calls of this scope that run at once; None: no limit
    outer          the scope around it, which must also admit the call; None at the top
    epoch          `time.monotonic()` at the start of the program, from which its records count; None: the session's
    used           calls counted so far
    slots          the queue governor's gate, made on first use
    """

    label: str
    allowed: frozenset[str] | None = None
    max_calls: int | None = None
    max_in_flight: int | None = None
    outer: Scope | None = None
    epoch: float | None = None
    used: int = 0
    slots: Any = None


@dataclass(slots=True, eq=False)
class Call:
    """One attempt at a call, from its opening to its end.

    name        as asked; `record.tool` is the same
    tool        None if no tool has that name
    args        canonical names (aliases renamed); a hook may replace them, `replace_args` is the only way
    origin      agent, nested or host
    trusted     the host itself asked (and did not ask for the full gate), or a call nested in such a call
    cap_bytes   largest output that the asker sees whole
    started     `time.monotonic()` at opening
    deadline    `time.monotonic()` by which the caller needs the answer, or None; the tool's own limit brings it nearer
    program     id of the program it was made in, or None
    admitted    set by `invoke.py` right before the tool runs; decides between `refused` and `failed`
    trouble     a ToolError found while opening (aliases given twice, arguments no object), raised by `validate`
    ask         the reason why `permission` wants a person to answer, acted on by `approval`; None if it does not
    held        the gates that `queue` holds for it, so that a call nested in it does not wait for its own ancestor
    stopping    why `timeout` called the tool off (`timeout`, `cancelled`), set before it is; tells our cancellation
                from one that the tool raised itself
    supervised  its opener runs it in a task of its own, calls it off at its deadline by `Kernel.call_off` and
                waits for it no longer than a grace period; `timeout` then needs no second task
    inner       records of the calls made inside of it, at any depth, if its opener wants them; None if not
    clean       the tool removed secrets from its result itself (only `program`, which renders what was cleaned)
    result      what the tool gave, set by `invoke.py` when it ended; None while it runs or if it never did
    ran_s       seconds that the tool ran, waiting in the queue not counted
    """

    id: str
    name: str
    tool: Tool | None
    args: dict[str, Any]
    origin: Origin
    trusted: bool
    record: CallRecord
    cap_bytes: int
    started: float = field(default_factory=time.monotonic)
    deadline: float | None = None
    parent: Call | None = None
    scope: Scope | None = None
    program: str | None = None
    admitted: bool = False
    trouble: Exception | None = None
    ask: str | None = None
    held: tuple[Any, ...] = ()
    stopping: str | None = None
    supervised: bool = False
    inner: list[CallRecord] | None = None
    clean: bool = False
    result: ToolResult | None = None
    ran_s: float = 0.0
    _subjects: tuple[str, ...] | None = None

    @property
    def only_reads(self) -> bool:
        """Whether this call has no effects, as far as its tool can tell from the arguments."""
        return self.tool is not None and self.tool.only_reads(self.args)

    def replace_args(self, args: dict[str, Any]) -> None:
        """Replace the arguments; everything judged from the old ones is forgotten."""
        self.args = self.tool.canonical(args) if self.tool is not None else dict(args)
        self._subjects = None

    def subject(self, workspace: Any) -> str | None:
        """The first of `subjects`, or None if there is none: what hooks and approvers are shown.

        A hook looks before the arguments were validated; of what a tool cannot read, nothing is shown.
        """
        try:
            return next(iter(self._found(workspace)), None)
        except ToolError:
            raise
        except Exception:
            return None

    def subjects(self, workspace: Any) -> tuple[str, ...]:
        """What permission rules match besides the tool's name: what the call concerns, by the tool's own account.

        A path is resolved first, so that `./a`, `a` and a link to `a` are one spelling; the handle of an artifact,
        which is no file, stays as it is. Empty if the tool has no subject or the argument is absent or not text.
        Raises ToolError of the path rules if a path is not admitted, and of the tool if it cannot be told; also
        `invalid_tool` if the tool fails to tell.
        """
        try:
            return self._found(workspace)
        except PtcError:
            raise
        except Exception as error:
            raise ToolError(
                "invalid_tool",
                f"{self.name} did not run: it cannot say what this call concerns (it raised {type(error).__name__}), "
                "so no rule can judge it. The host has to repair the tool.",
            ) from None

    def _found(self, workspace: Any) -> tuple[str, ...]:
        if self._subjects is None:
            tool = self.tool
            raw = () if tool is None else self._raw(tool)
            self._subjects = tuple(self._resolved(workspace, tool, text) for text in raw)
        return self._subjects

    def _raw(self, tool: Tool) -> Sequence[str]:
        if tool.subjects is not None:
            told = tool.subjects(self.args)
            # A text is a sequence of texts, too: its letters would be judged one by one, and no rule would match.
            if not isinstance(told, (list, tuple)) or not all(isinstance(text, str) for text in told):
                raise ToolError(
                    "invalid_tool",
                    f"{tool.name} did not run: its subjects must be a list of texts. The host has to repair it.",
                )
            return told
        if tool.subject is None:
            return ()
        raw = self.args.get(tool.subject)
        if raw is None and tool.subject_kind == "path":
            raw = tool.input_schema.get("properties", {}).get(tool.subject, {}).get("default")
        return (raw,) if isinstance(raw, str) else ()

    def _resolved(self, workspace: Any, tool: Tool | None, raw: str) -> str:
        assert tool is not None
        if tool.subject_kind != "path" or (not tool.writes and raw.startswith(ARTIFACT_SCHEME)):
            return raw
        shown: str = workspace.resolve(raw, for_write=tool.writes).shown
        return shown


Next: TypeAlias = Callable[[Call], Awaitable[ToolResult]]
Governor: TypeAlias = Callable[[Call, Next], Awaitable[ToolResult]]

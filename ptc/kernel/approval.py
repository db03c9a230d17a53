"""Approval: a call that the policy marked `ask` runs only after the host's approver said yes to exactly that call.

What is shown is what runs. The arguments are copied before they are shown, bound by a digest, and compared with it once
more right before the call goes on; whoever still holds a list of the original arguments cannot change them in between.
Arguments that the approver edits are validated and judged again, and a deny rule wins over the approver. No approver,
no answer, a late one, an exception and an answer of another kind all mean no.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ptc.errors import ToolError
from ptc.events import ApprovalRequired, ApprovalResolved
from ptc.kernel._host import CallbackFailed, Host
from ptc.kernel._json import copy_json
from ptc.kernel.call import Call, Next
from ptc.results import Origin, ToolResult

if TYPE_CHECKING:
    from ptc.workspace.base import Workspace

__all__ = ["Approval", "ApprovalRequest", "Approve", "Approver", "call_digest"]

_LOG: Final = logging.getLogger("ptc")


class ApprovalRequest(NamedTuple):
    """What an approver is asked.

    id        of this request; unique in the session
    call_id   of the call that waits
    tool      canonical name
    args      the exact and whole arguments, a copy
    subject   the one argument that matters for the tool (a path is resolved), or None
    reason    the rule that demands approval
    origin, parent, program, line   who asks: agent or nested, id of the calling call, id of the program, line in it
    digest    SHA-256 (hex) of tool and arguments; the approval holds for nothing else
    """

    id: str
    call_id: str
    tool: str
    args: dict[str, Any]
    subject: str | None
    reason: str
    origin: Origin
    parent: str | None
    program: str | None
    line: int | None
    digest: str


class Approval(NamedTuple):
    """An answer with more to it than True or False.

    approved  whether the call may run
    reason    shown to the caller when it may not
    args      arguments to run instead of those asked for, or None; they are validated and judged again
    """

    approved: bool
    reason: str = ""
    args: Mapping[str, Any] | None = None


Answer: TypeAlias = bool | Mapping[str, Any] | Approval
Approver: TypeAlias = Callable[[ApprovalRequest], Answer | Awaitable[Answer]]


def call_digest(tool: str, args: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON of a call (sorted keys, no white space, ASCII).

    Raises ValueError or TypeError for arguments that are not JSON.
    """
    text = json.dumps([tool, args], sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


class Approve:
    """The governor. `rejudge` validates and judges edited arguments; it raises ToolError if they may not run."""

    def __init__(
        self, approver: Approver | None, workspace: Workspace, rejudge: Next, host: Host, *, timeout_s: float
    ) -> None:
        self._approver = approver
        self._workspace = workspace
        self._rejudge = rejudge
        self._host = host
        self._timeout_s = timeout_s
        self._asked = 0

    async def __call__(self, call: Call, next: Next) -> ToolResult:
        if call.ask is not None:
            await self._gain(call)
        return await next(call)

    async def _gain(self, call: Call) -> None:
        assert call.ask is not None
        request = self._request(call, call.ask)
        approval = await self._answer(call, request)
        self._resolved(request, approval.approved, approval.reason)
        if not approval.approved:
            reason = self._host.reason(approval.reason)
            raise ToolError(
                "approval_rejected",
                f"{call.name} was not approved{f': {reason}' if reason else ''}. Do not repeat the call unchanged.",
                details={"approval": request.id, "reason": reason},
            )
        if approval.args is not None:
            call.replace_args(copy_json(dict(approval.args)))
            await self._rejudge(call)
        elif _digest_of(call) != request.digest:
            raise ToolError(
                "approval_failed",
                f"{call.name} is refused: its arguments changed after they were approved. Make the call again.",
                details={"approval": request.id},
            )

    def _request(self, call: Call, reason: str) -> ApprovalRequest:
        call.args = copy_json(call.args)
        self._asked += 1
        return ApprovalRequest(
            id=f"a{self._asked}",
            call_id=call.id,
            tool=call.name,
            args=copy_json(call.args),
            subject=call.subject(self._workspace),
            reason=reason,
            origin=call.origin,
            parent=None if call.parent is None else call.parent.id,
            program=call.program,
            line=call.record.line,
            digest=_digest_of(call),
        )

    async def _answer(self, call: Call, request: ApprovalRequest) -> Approval:
        host = self._host
        if host.events.active:
            shown = copy_json(call.args)  # not sanitised: a person cannot approve what is not shown
            host.events.emit(ApprovalRequired(host.now_ms(), request.id, call.id, call.name, shown, request.reason))
        if self._approver is None:
            self._resolved(request, False, "nobody is there to answer")
            raise ToolError(
                "approval_unanswered",
                f"{call.name} needs approval by {request.reason}, and this session has no approver. Use a tool that is "
                "allowed, or ask the host to allow this one or to give the session an approver.",
                details={"approval": request.id, "rule": request.reason},
            )
        try:
            return _approval(await host.ask(self._approver, request, self._timeout_s, call.deadline))
        except CallbackFailed as failure:
            self._resolved(request, False, failure.reason)
            _LOG.warning("the approver %s (call %s of %s)", host.particulars(failure), call.id, call.name)
            raise ToolError(
                "approval_failed",
                f"{call.name} is refused: the host's approver {failure.reason}. No answer counts as no.",
                details={"approval": request.id},
            ) from None

    def _resolved(self, request: ApprovalRequest, approved: bool, reason: str) -> None:
        host = self._host
        if host.events.active:
            host.events.emit(
                ApprovalResolved(host.now_ms(), request.id, request.call_id, approved, host.reason(reason))
            )


def _approval(answer: object) -> Approval:
    """An approver's answer in its full form. Raises CallbackFailed for one that is none."""
    if isinstance(answer, Approval) and isinstance(answer.approved, bool):
        edited = answer.args
        if edited is None or isinstance(edited, Mapping):
            return answer
    elif isinstance(answer, bool):
        return Approval(answer)
    elif isinstance(answer, Mapping):
        return Approval(True, args=answer)
    kind = type(answer).__name__
    raise CallbackFailed(f"answered with a {kind} instead of True, False, edited arguments or an Approval")


def _digest_of(call: Call) -> str:
    try:
        return call_digest(call.name, call.args)
    except (TypeError, ValueError, RecursionError):
        raise ToolError(
            "invalid_arguments", f"{call.name}: the arguments are not JSON, so nobody can approve exactly them."
        ) from None

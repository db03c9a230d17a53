"""The package's ending -> the corpus' error kind.

Only typed facts decide (kind, code, the limit that was reached), never text: a script chooses its own text. Kinds of
two different groups never share a source, so that a script cannot make its own error look like a limit or a refusal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["CODE_KINDS", "GROUPS", "PROGRAM_KINDS", "corpus_kind"]

GROUPS: Final[dict[str, frozenset[str]]] = {
    "limits": frozenset({"timeout", "memory", "stack", "call_limit", "output_limit", "budget"}),
    "ending": frozenset({"cancelled", "worker_died", "deadlock"}),
    "refusals": frozenset({"tool_not_allowed", "permission_denied", "path_denied", "invalid_args", "network_denied"}),
    "program": frozenset({"source_rejected", "syntax_error", "script_error", "result_not_serialisable"}),
    "tool": frozenset({"tool_error"}),
}

# ProgramError.kind; `output` is the one kind with two meanings, told apart by the limit that it names.
PROGRAM_KINDS: Final[dict[str, str]] = {
    "syntax": "syntax_error",
    "entry": "source_rejected",
    "script": "script_error",
    "timeout": "timeout",
    "cpu": "timeout",
    "memory": "memory",
    "stack": "stack",
    "output": "result_not_serialisable",
    "stalled": "deadlock",
    "cancelled": "cancelled",
    "crashed": "worker_died",
}

# Codes of a program call that was refused before a VM was asked; their kind is `denied` or none.
CODE_KINDS: Final[dict[str, str]] = {
    "program_denied": "permission_denied",
    "call_limit": "call_limit",
    "budget_exhausted": "budget",
    "budget_failed": "permission_denied",
    "timeout": "timeout",
    "cancelled": "cancelled",
    "session_closed": "cancelled",
    "sandbox_unavailable": "worker_died",
    "unknown_tool": "tool_not_allowed",
    "tool_not_allowed": "tool_not_allowed",
    "recursive_call": "tool_not_allowed",
    "permission_denied": "permission_denied",
    "hook_blocked": "permission_denied",
    "hook_failed": "permission_denied",
    "hook_retry_later": "permission_denied",
    "approval_unanswered": "permission_denied",
    "approval_rejected": "permission_denied",
    "approval_failed": "permission_denied",
    "invalid_arguments": "invalid_args",
    "arguments_too_large": "invalid_args",
    "invalid_limits": "invalid_args",
    "invalid_inputs": "invalid_args",
    "invalid_source": "source_rejected",
    "invalid_language": "source_rejected",
    "result_too_large": "output_limit",
    "invalid_result": "tool_error",
    "tool_failed": "tool_error",
}


def corpus_kind(error: Mapping[str, Any]) -> str | None:
    """The corpus' kind of an error record (`to_dict()` of ProgramError or ErrorInfo); None if it has none."""
    kind = error.get("kind")
    if kind in (None, "denied"):  # the call of the program itself was refused, and its code says by whom
        code = str(error.get("code"))
        return "path_denied" if code.startswith("workspace_") else CODE_KINDS.get(code)
    if kind == "output" and error.get("limit"):
        return "output_limit"
    return PROGRAM_KINDS.get(kind)

"""ptc: programmatic tool calling. One sandboxed JavaScript program instead of many tool turns, every call governed.

The public names are loaded on first use: the VM process imports this package too and must stay light, and
`import ptc` stays under 60 ms.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Approval": "ptc.kernel.approval",
    "ApprovalRequest": "ptc.kernel.approval",
    "BashPolicy": "ptc.shell.policy",
    "Block": "ptc.kernel.hooks",
    "Budget": "ptc.kernel.budget",
    "CallRecord": "ptc.results",
    "Condition": "ptc.conditions",
    "ConfigError": "ptc.errors",
    "Content": "ptc.results",
    "Event": "ptc.events",
    "Hook": "ptc.kernel.hooks",
    "Limits": "ptc.limits",
    "LocalWorkspace": "ptc.workspace.local",
    "MemoryStore": "ptc.memory.store",
    "MemoryWorkspace": "ptc.workspace.memory",
    "Policy": "ptc.kernel.permission",
    "ProgramError": "ptc.results",
    "ProgramResult": "ptc.results",
    "PtcError": "ptc.errors",
    "RemoteWorkspace": "ptc.workspace.remote",
    "Replace": "ptc.kernel.hooks",
    "RetryLater": "ptc.kernel.hooks",
    "Roles": "ptc.conditions",
    "Session": "ptc.session",
    "SessionClosed": "ptc.errors",
    "SyncSession": "ptc.sync",
    "Tool": "ptc.tooling",
    "ToolContext": "ptc.tooling",
    "ToolError": "ptc.errors",
    "ToolResult": "ptc.results",
    "WebAccess": "ptc.web.access",
    "tool": "ptc.tooling",
}

__all__ = [
    "Approval",
    "ApprovalRequest",
    "BashPolicy",
    "Block",
    "Budget",
    "CallRecord",
    "Condition",
    "ConfigError",
    "Content",
    "Event",
    "Hook",
    "Limits",
    "LocalWorkspace",
    "MemoryStore",
    "MemoryWorkspace",
    "Policy",
    "ProgramError",
    "ProgramResult",
    "PtcError",
    "RemoteWorkspace",
    "Replace",
    "RetryLater",
    "Roles",
    "Session",
    "SessionClosed",
    "SyncSession",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "WebAccess",
    "tool",
]

if TYPE_CHECKING:
    from ptc.conditions import Condition, Roles
    from ptc.errors import ConfigError, PtcError, SessionClosed, ToolError
    from ptc.events import Event
    from ptc.kernel.approval import Approval, ApprovalRequest
    from ptc.kernel.budget import Budget
    from ptc.kernel.hooks import Block, Hook, Replace, RetryLater
    from ptc.kernel.permission import Policy
    from ptc.limits import Limits
    from ptc.memory.store import MemoryStore
    from ptc.results import CallRecord, Content, ProgramError, ProgramResult, ToolResult
    from ptc.session import Session
    from ptc.shell.policy import BashPolicy
    from ptc.sync import SyncSession
    from ptc.tooling import Tool, ToolContext, tool
    from ptc.web.access import WebAccess
    from ptc.workspace.local import LocalWorkspace
    from ptc.workspace.memory import MemoryWorkspace
    from ptc.workspace.remote import RemoteWorkspace


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'ptc' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

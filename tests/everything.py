"""Every built-in tool at once, as a session that lacks nothing would have them."""

from __future__ import annotations

import tempfile

from ptc.memory import MemoryStore
from ptc.tooling import Tool
from ptc.tools import builtin_tools
from ptc.workspace.local import LocalWorkspace

__all__ = ["builtin_records"]


def builtin_records() -> list[Tool]:
    """The records; they are to be looked at, not called."""
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalWorkspace(folder) as workspace,
        MemoryStore(":memory:") as memory,
    ):
        return builtin_tools(workspace=workspace, memory=memory).tools

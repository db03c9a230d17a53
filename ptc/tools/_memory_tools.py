"""The tools that exist only where the host gave a memory store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from ptc.tooling import Tool
from ptc.tools.recall_memory import recall_memory_tool
from ptc.tools.remember_memory import remember_memory_tool
from ptc.tools.search_history import search_history_tool

if TYPE_CHECKING:
    from ptc.memory import MemoryStore

__all__ = ["MEMORY_TOOLS", "memory_tools"]

MEMORY_TOOLS: Final = ("remember_memory", "recall_memory", "search_history")


def memory_tools(store: MemoryStore, session_id: Callable[[], str | None] | None = None) -> list[Tool]:
    """The tools named in MEMORY_TOOLS, over `store`. `session_id` gives the id of the current session, which is
    searched first; None if it has none."""
    return [remember_memory_tool(store), recall_memory_tool(store), search_history_tool(store, session_id)]

"""What outlives a session: memories that a model stores and finds again, and the history of conversations."""

from __future__ import annotations

from ptc.memory._memories import Memory
from ptc.memory._rules import Quota, Usage
from ptc.memory.history import Found, Message, Search
from ptc.memory.store import MemoryStore

__all__ = ["Found", "Memory", "MemoryStore", "Message", "Quota", "Search", "Usage"]

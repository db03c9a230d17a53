"""What a tool's own callback is told: that a call began, how far it is, how it ended.

The callback is the host's. What it raises is logged once and changes nothing; lines come without secrets, and progress
at most twenty times a second, however often a tool reports it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from ptc.kernel._host import Host
from ptc.results import ToolResult

__all__ = ["Updates"]

_LOG: Final = logging.getLogger("ptc")
_PAUSE_S: Final = 0.05


class Updates:
    """The lines of one call."""

    __slots__ = ("_begun", "_callback", "_host", "_last", "_tool")

    def __init__(self, tool: str, callback: Callable[[str], None], host: Host) -> None:
        self._tool = tool
        self._callback = callback
        self._host = host
        self._begun = time.monotonic()
        self._last = 0.0
        self._tell(f"{tool}: started")

    def progress(self, message: str, fraction: float | None) -> None:
        now = time.monotonic()
        if now - self._last >= _PAUSE_S:
            self._last = now
            share = "" if fraction is None else f" ({fraction:.0%})"
            self._tell(f"{self._tool}: {message}{share}")

    def end(self, result: ToolResult | None) -> None:
        took = (time.monotonic() - self._begun) * 1000
        error = None if result is None else result.error
        how = "called off" if result is None else "done" if error is None else f"failed, {error.code}"
        self._tell(f"{self._tool}: {how} after {took:,.0f} ms")

    def _tell(self, line: str) -> None:
        try:
            self._callback(self._host.reason(line))
        except Exception:
            _LOG.warning("the on_update callback of %s failed", self._tool, exc_info=True)

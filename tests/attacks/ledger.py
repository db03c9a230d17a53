"""The session's events of one program as they were sent: the record of one that gave no result to read it from."""

from __future__ import annotations

from typing import Any

from ptc.events import CallEnded, CallStarted, Event, EventBus, ProgramEnded

__all__ = ["Ledger"]


class Ledger:
    """Listens from now on until `close`.

    endings: terminal events; a program has exactly one
    """

    def __init__(self, bus: EventBus) -> None:
        self.endings = 0
        self._rows: dict[str, dict[str, Any]] = {}
        self.close = bus.listen(self._hear)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The calls that a program made, in order, with the keys of a CallRecord that events carry."""
        return list(self._rows.values())

    @property
    def ids(self) -> frozenset[str]:
        """The ids of these calls."""
        return frozenset(self._rows)

    def _hear(self, event: Event) -> None:
        if isinstance(event, CallStarted) and event.program is not None:
            self._rows[event.call_id] = {
                "id": event.call_id,
                "tool": event.tool,
                "args": event.args,
                "state": "running",
                "error_code": None,
            }
        elif isinstance(event, CallEnded) and event.call_id in self._rows:
            self._rows[event.call_id].update(state=event.state, error_code=event.error_code)
        elif isinstance(event, ProgramEnded):
            self.endings += 1

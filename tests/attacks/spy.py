"""A spy around every tool, fixtures and built-ins: the calls as the tool functions saw them.

The package's own record is compared with this one, so it shares nothing with it but the call id.
"""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from ptc.registry import Registry
from ptc.tooling import Tool, ToolContext
from ptc.values import dumps, loads

__all__ = ["Seen", "Spy", "as_seen", "digest"]

_TEXT_CAP: Final = 4_096
_ARGS_CAP: Final = 64 * 1024


@dataclass(slots=True)
class Seen:
    """One run of a tool function. `end` is running, done, raised or cancelled; `result` is text, for looking only."""

    call_id: str
    tool: str
    args: Any
    end: str = "running"
    result: str = ""


class Spy:
    """Every run of every tool of one session, in the order in which they began."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.most_in_flight = 0
        self._in_flight = 0

    def watch(self, registry: Registry) -> None:
        """Put the spy around every tool of the registry that it is not around yet."""
        for tool in registry:
            registry.remove(tool.name)
            registry.add(self._around(tool))

    def _around(self, tool: Tool) -> Tool:
        run = tool.run

        async def spied(context: ToolContext, args: dict[str, Any]) -> Any:
            row = Seen(context.call_id, tool.name, as_seen(args))
            self.seen.append(row)
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
            try:
                result = await run(context, args)
                row.end, row.result = "done", str(result)[:_TEXT_CAP]
                return result
            except asyncio.CancelledError:
                row.end = "cancelled"
                raise
            except BaseException:
                row.end = "raised"
                raise
            finally:
                self._in_flight -= 1

        return replace(tool, run=spied)

    def rows(self, since: int = 0) -> list[dict[str, Any]]:
        """The runs from number `since` on, as JSON."""
        return [asdict(row) for row in self.seen[since:]]


def digest(data: bytes) -> str:
    """What stands in the record for a long text."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def as_seen(args: dict[str, Any]) -> Any:
    """A copy of the arguments, taken before the tool can change them; long texts and huge arguments as digests."""
    data = dumps(args)
    if len(data) <= _TEXT_CAP:
        return loads(data)
    short = {
        key: digest(value.encode("utf-8", "surrogatepass"))
        if isinstance(value, str) and len(value) > _TEXT_CAP
        else value
        for key, value in args.items()
    }
    data = dumps(short)
    return loads(data) if len(data) <= _ARGS_CAP else digest(data)

"""The tools of a session. Built-ins come through the same door as everybody else's (promise P1).

A name is registered once. A second tool of the same name is an error that names both sides, because letting the later
one win would let a server or a plugin replace `read` unseen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from ptc.errors import ConfigError
from ptc.schema import compile_schema
from ptc.tooling import Tool

__all__ = ["Registry"]

_CAPITAL: Final = re.compile("[A-Z]")


class Registry:
    """Tools by canonical name, in the order in which they were added."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._absent: dict[str, str] = {}
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool) -> None:
        """Add one tool. Raises ConfigError `duplicate_tool`, or `invalid_tool`, also for a schema of no use."""
        if not isinstance(tool, Tool):
            raise ConfigError(
                "invalid_tool", f"a Tool is needed (made by @tool or Tool(...)); a {type(tool).__name__} was given."
            )
        old = self._tools.get(tool.name)
        if old is not None:
            raise ConfigError(
                "duplicate_tool",
                f"two tools are named {tool.name}: one from {old.source}, one from {tool.source}. Rename one of them.",
                details={"tool": tool.name, "sources": [old.source, tool.source]},
            )
        if tool.validator is None:
            compile_schema(tool.input_schema)
        self._tools[tool.name] = tool

    def remove(self, name: str) -> None:
        """Remove a tool; unknown names are ignored (a server may announce a removal twice)."""
        self._tools.pop(name, None)

    def explain_absent(self, reasons: Mapping[str, str]) -> None:
        """Say why tools that could be expected are not there: name -> a sentence for who asks for one."""
        self._absent.update(reasons)

    def why_absent(self, name: str) -> str | None:
        """Why there is no tool of this name, also in the form of a script's method, if that is known."""
        if name in self._tools:
            return None
        return self._absent.get(name) or self._absent.get(_CAPITAL.sub(r"_\g<0>", name).lower())

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def names(self) -> list[str]:
        return list(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(tuple(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

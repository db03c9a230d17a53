"""The sink of a terminal: coloured lines above one live status line. The only file that imports rich.

Everything is given to rich as `Text`, never as markup: `[bold]` in a script's text is just text.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.status import Status
from rich.text import Text

__all__ = ["rich_sink"]

_STYLES: Final = {"good": "green", "bad": "red", "dim": "dim"}
_SHOWN: Final = 3


class RichSink:
    def __init__(self, console: Console, status: Status) -> None:
        self._console = console
        self._status = status

    def write(self, text: str, style: str) -> None:
        self._console.print(Text(text, style=_STYLES[style]), soft_wrap=True)

    def running(self, labels: list[str]) -> None:
        more = f" and {len(labels) - _SHOWN} more" if len(labels) > _SHOWN else ""
        words = ", ".join(labels[:_SHOWN]) + more if labels else "running"
        self._status.update(Text(words, style="dim", no_wrap=True, overflow="ellipsis"))


@contextmanager
def rich_sink() -> Iterator[RichSink]:
    """A sink on stderr whose status line lives as long as the context."""
    console = Console(stderr=True, highlight=False)
    with console.status(Text("running", style="dim")) as status:
        yield RichSink(console, status)

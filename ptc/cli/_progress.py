"""Live progress on stderr: one line per call as it ends, and console lines as the script writes them.

With a terminal and rich at hand the lines have colours and a status line names the calls that run; otherwise they are
plain text, the same words in the same order. `NO_COLOR` and `TERM=dumb` are honoured.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Protocol

import click

from ptc.cli._terminal import can_print, line, word
from ptc.events import CallEnded, CallStarted, Console, Dropped, Event, Progress
from ptc.values import show

__all__ = ["Follower", "PlainSink", "Sink", "choose_sink"]


class Sink(Protocol):
    """Where progress goes."""

    def write(self, text: str, style: str) -> None:
        """Print one finished, escaped line. `style` is "good", "bad" or "dim"."""
        ...

    def running(self, labels: list[str]) -> None:
        """Show which calls run now; a sink without a live line ignores it."""
        ...


class PlainSink:
    """Lines of plain text on stderr."""

    def write(self, text: str, style: str) -> None:
        click.echo(text, err=True)

    def running(self, labels: list[str]) -> None:
        pass


class Follower:
    """Turns the events of a session into lines. `main` names the argument of each tool that tells its calls apart."""

    def __init__(self, sink: Sink, main: Mapping[str, str]) -> None:
        self._sink = sink
        self._main = main
        self._labels: dict[str, str] = {}
        # Not sys.stderr: rich puts a stand-in without an encoding there while its status line is up.
        self._good, self._bad = ("✓", "✗") if can_print(sys.__stderr__, "✓✗") else ("+", "x")

    def __call__(self, event: Event) -> None:
        match event:
            case CallStarted(program=str()):
                self._labels[event.call_id] = label(event.tool, event.args, self._main.get(event.tool))
                self._sink.running(list(self._labels.values()))
            case CallEnded(program=str()):
                self._end(event)
            case Console():
                self._sink.write(f"  {event.level}: {line(event.text)}", "dim")
            case Progress():
                share = "" if event.fraction is None else f" {event.fraction:.0%}"
                self._sink.write(f"  progress: {line(event.message)}{share}", "dim")
            case Dropped():
                self._sink.write(f"  {event.count:,} events came too fast and are not shown", "dim")
            case _:
                pass

    def _end(self, event: CallEnded) -> None:
        what = self._labels.pop(event.call_id, word(event.tool))
        took = f"{event.duration_ms:.0f} ms"
        if event.state == "done":
            self._sink.write(f"  {self._good} {what} {took}", "good")
        else:
            self._sink.write(f"  {self._bad} {what} {took} {event.state}: {word(event.error_code or 'no code')}", "bad")
        self._sink.running(list(self._labels.values()))


def label(tool: str, args: Any, main: str | None) -> str:
    """A call in a few words: the tool and the text of its argument `main`, else of its first argument that is text."""
    texts = {name: value for name, value in args.items() if isinstance(value, str)} if isinstance(args, dict) else {}
    text = texts.get(main or "") or next(iter(texts.values()), None)
    return word(tool) if text is None else f"{word(tool)} {show(text, 60)}"


@contextmanager
def choose_sink() -> Iterator[Sink]:
    """The sink that fits stderr; what it drew live is taken away at the end."""
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb" or find_spec("rich") is None:
        yield PlainSink()
        return
    from ptc.cli._rich import rich_sink  # rich is optional and costs 40 ms

    with rich_sink() as sink:
        yield sink

"""Ctrl-C while a program runs: the first one cancels the program, the second one ends the process at once.

The second must work even when the first hangs, so it is left to the operating system: no Python code, no event loop.
The VM processes end by themselves when their socket closes.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["on_interrupt"]


@contextmanager
def on_interrupt(cancel: Callable[[], object]) -> Iterator[None]:
    """Call `cancel` on the running event loop at the first SIGINT; a later SIGINT has its default effect, death."""
    loop = asyncio.get_running_loop()

    def first() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        cancel()

    loop.add_signal_handler(signal.SIGINT, first)
    try:
        yield
    finally:
        if loop.remove_signal_handler(signal.SIGINT):
            signal.signal(signal.SIGINT, signal.default_int_handler)

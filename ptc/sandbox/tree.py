"""The processes below one: found by their parents in /proc, so that also those that left the group are found."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import defaultdict

__all__ = ["below", "signal_all"]


def below(root: int) -> list[int]:
    """The descendants of a process, parents before children. Empty where there is no /proc."""
    children: dict[int, list[int]] = defaultdict(list)
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    for name in names:
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                # The name in brackets may hold anything; the parent is the second word behind it.
                children[int(file.read().rpartition(b")")[2].split()[1])].append(int(name))
    found: list[int] = []
    waiting = list(children[root])
    while waiting:
        pid = waiting.pop(0)
        found.append(pid)
        waiting += children.get(pid, ())
    return found


def signal_all(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to each that still exists."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)

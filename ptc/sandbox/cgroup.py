"""How many processes and how much memory a whole command may use, counted by the kernel in a control group.

Resource limits count one process, and for root the number of processes not at all. A control group counts them all,
where this process may make one: in version 2 below its own group if the controllers are delegated, in version 1 below
the controller's. Where it may not, the resource limits stand alone; `available` says which it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from ptc.sandbox.spec import Profile

__all__ = ["Group", "available", "make_group"]

_ROOT: Final = Path("/sys/fs/cgroup")
_AGAIN_S: Final = 0.01
_number = itertools.count(1)


class _Place(NamedTuple):
    folder: Path
    file: str


class Group:
    """The control groups of one command, one per controller."""

    def __init__(self, folders: list[Path]) -> None:
        self._folders = folders

    def take_in(self, pid: int) -> None:
        """Move a process in; all that it starts from now on is in it too."""
        for folder in self._folders:
            with contextlib.suppress(OSError):
                (folder / "cgroup.procs").write_text(str(pid))

    def kill(self) -> None:
        """End every process in it at once, where the kernel can do that."""
        for folder in self._folders:
            with contextlib.suppress(OSError):
                (folder / "cgroup.kill").write_text("1")

    def remove(self, tries: int = 100) -> None:
        """Remove the groups, now or soon: the last process may take a moment to be gone from them."""
        left = []
        for folder in self._folders:
            try:
                folder.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                left.append(folder)
        self._folders = left
        if left and tries:
            asyncio.get_running_loop().call_later(_AGAIN_S, self.remove, tries - 1)


@cache
def available() -> frozenset[str]:
    """Which of `pids` and `memory` can be counted together here. Found out by making a group."""
    places = _places()
    found = set()
    for name, place in places.items():
        probe = place.folder / f"ptc-probe-{os.getpid()}"
        try:
            probe.mkdir()
        except OSError:
            continue
        if (probe / place.file).exists():
            found.add(name)
        with contextlib.suppress(OSError):
            probe.rmdir()
    return frozenset(found)


def make_group(profile: Profile) -> Group:
    """A group with the limits of `profile`, as far as `available` goes."""
    folders = []
    limits = {"pids": profile.processes, "memory": profile.memory_bytes}
    shared: dict[Path, Path] = {}
    for name in available():
        place = _places()[name]
        folder = shared.get(place.folder)
        try:
            if folder is None:
                folder = place.folder / f"ptc-{os.getpid()}-{next(_number)}"
                folder.mkdir()
                shared[place.folder] = folder
                folders.append(folder)
            (folder / place.file).write_text(str(limits[name]))
        except OSError:
            continue
    return Group(folders)


@cache
def _places() -> dict[str, _Place]:
    """Where a group of each controller would be made, and the file that holds its limit."""
    own: dict[str, str] = {}
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(",") if controllers else ["unified"]:
            own[controller] = path
    found = {}
    for name, file in (("pids", "pids.max"), ("memory", "memory.limit_in_bytes")):
        if name in own:
            found[name] = _Place(_ROOT / name / own[name].lstrip("/"), file)
        elif "unified" in own:
            file = {"pids": "pids.max", "memory": "memory.max"}[name]
            found[name] = _Place(_ROOT / own["unified"].lstrip("/"), file)
    return found

"""Listings of folders, remembered between the searches of a session.

Adding, removing, renaming or replacing an entry changes the folder's own modification time, so that a listing holds as
long as the folder has the time, device and inode it was made under. It tells nothing about the contents of the files:
those are looked at each time.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Final

from ptc.workspace.base import Kind

__all__ = ["Entries", "Folders", "in_byte_order", "may_change_unseen"]

Entries = list[tuple[str, Kind]]

_MOST_ENTRIES: Final = 500_000
_TICK_NS: Final = 50_000_000
_COARSE_TICK_NS: Final = 2_000_000_000


def may_change_unseen(mtime_ns: int) -> bool:
    """True if something was changed so recently that its next change may get the same time: file systems count time in
    steps of some milliseconds, some in seconds. git calls such entries racy, and reads them again as we do."""
    tick = _TICK_NS if mtime_ns % 1_000_000_000 else _COARSE_TICK_NS
    return time.time_ns() - mtime_ns < tick


class Folders:
    """Listings by (root, path below it). Safe to use from several threads. The lists are shared: do not change them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[int, str], tuple[tuple[int, int, int], Entries]] = {}
        self._entries = 0

    def entries(self, fd: int, root: int, rel: str, most: int) -> Entries:
        """The first `most` or fewer entries of an open folder, in byte order. Raises OSError."""
        facts = os.fstat(fd)
        version = (facts.st_mtime_ns, facts.st_ino, facts.st_dev)
        known = self._known.get((root, rel))
        if known is not None and known[0] == version and len(known[1]) < most:
            return known[1]
        # Judged before the folder is read: what is added while it is read changes the time that was seen.
        settled = not may_change_unseen(facts.st_mtime_ns)
        found = in_byte_order(_list(fd, most))
        if settled and len(found) < most:
            with self._lock:
                if self._entries > _MOST_ENTRIES:
                    self._known.clear()
                    self._entries = 0
                self._known[root, rel] = (version, found)
                self._entries += len(found)
        return found


def in_byte_order(entries: Entries) -> Entries:
    """Entries in the order in which the bytes of all paths below them sort: a folder sorts as its name and `/`."""
    keyed = [(f"{entry[0]}/" if entry[1] == "dir" else entry[0], entry) for entry in entries]
    if all(key.isascii() for key, _ in keyed):
        keyed.sort()
    else:
        keyed.sort(key=lambda pair: os.fsencode(pair[0]))
    return [entry for _, entry in keyed]


def _list(fd: int, most: int) -> Entries:
    found: Entries = []
    add = found.append
    with os.scandir(fd) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                add((entry.name, "file"))
            elif entry.is_dir(follow_symlinks=False):
                add((entry.name, "dir"))
            else:
                add((entry.name, "link" if entry.is_symlink() else "other"))
            if len(found) >= most:
                break
    return found

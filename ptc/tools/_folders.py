"""Listings of folders, remembered between the searches of a session.

Adding, removing, renaming or replacing an entry changes the folder's own times, so that a listing holds as long as the
folder has the times (mtime, and the ctime that nobody can set back), device and inode it was made under. It tells
nothing about the contents of the files: those are looked at each time.

A search of a large tree spends most of its time per entry, so a listing is a list of plain texts: a folder's name ends
in `/`, and only what is neither file nor folder is named apart.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from ptc.workspace.base import Entry, Kind

__all__ = ["Folders", "Guard", "Listing", "in_byte_order", "listing_of", "may_change_unseen", "settled_before"]

Guard = Callable[[str], bool]

_MOST_ENTRIES: Final = 500_000
# Sorting holds the interpreter lock: lists that are longer are sorted in parts.
_SORTED_AT_ONCE: Final = 100_000
_TICK_NS: Final = 50_000_000
_COARSE_TICK_NS: Final = 2_000_000_000


class Listing(NamedTuple):
    """The entries of one folder. The members are shared between searches: do not change them.

    names    all but the guarded ones, in the order in which the bytes of the paths below them sort; the name of a
             folder ends in `/`
    odd      those that are neither file nor folder; it may name guarded ones too
    guarded  how many were left out
    whole    False if the folder has more entries than were asked for
    """

    names: list[str]
    odd: dict[str, Kind]
    guarded: int
    whole: bool


def settled_before() -> int:
    """A time, in nanoseconds: what was changed before it is surely not among what `may_change_unseen`."""
    return time.time_ns() - _COARSE_TICK_NS


def may_change_unseen(changed_ns: int) -> bool:
    """True if something was changed so recently that its next change may get the same time: file systems count time in
    steps of some milliseconds, some in seconds. git calls such entries racy, and reads them again as we do.

    Ask it before reading: what changes meanwhile may have the time that was seen."""
    tick = _TICK_NS if changed_ns % 1_000_000_000 else _COARSE_TICK_NS
    return time.time_ns() - changed_ns < tick


class Folders:
    """Listings by (root, path below it). Safe to use from several threads; each walk of them must give one guard."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[int, str], tuple[tuple[int, int, int, int], Listing]] = {}
        self._entries = 0

    def entries(self, fd: int, root: int, rel: str, most: int, guard: Guard | None = None) -> Listing:
        """The first `most` or fewer entries of an open folder without those that are guarded. Raises OSError."""
        facts = os.fstat(fd)
        version = (facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino, facts.st_dev)
        known = self._known.get((root, rel))
        if known is not None and known[0] == version and len(known[1].names) <= most:
            return known[1]
        settled = not (may_change_unseen(facts.st_ctime_ns) or may_change_unseen(facts.st_mtime_ns))
        found = _ordered(*_list(fd, most), rel, guard)
        if settled and found.whole:
            with self._lock:
                if self._entries > _MOST_ENTRIES:
                    self._known.clear()
                    self._entries = 0
                before = self._known.get((root, rel))
                self._known[root, rel] = (version, found)
                self._entries += len(found.names) - (len(before[1].names) if before is not None else 0)
        return found


def listing_of(entries: list[Entry], rel: str, guard: Guard | None) -> Listing:
    """A listing of entries that a workspace gives itself, for the folder `rel`."""
    names = [f"{entry.name}/" if entry.kind == "dir" else entry.name for entry in entries]
    odd = {entry.name: entry.kind for entry in entries if entry.kind not in ("file", "dir")}
    return _ordered(names, odd, True, rel, guard)


def in_byte_order(names: list[str]) -> list[str]:
    """The names, those of folders with their `/`, sorted as the bytes of all paths below them sort."""
    return _sorted(names, None if "".join(names).isascii() else os.fsencode)


def _sorted(names: list[str], key: Callable[[str], bytes] | None) -> list[str]:
    if len(names) <= _SORTED_AT_ONCE:
        return sorted(names, key=key)
    half = len(names) // 2
    both = _sorted(names[:half], key) + _sorted(names[half:], key)
    both.sort(key=key)  # finds two runs and merges them
    return both


def _ordered(names: list[str], odd: dict[str, Kind], whole: bool, rel: str, guard: Guard | None) -> Listing:
    seen = names
    if guard is not None:
        prefix = f"{rel}/" if rel else ""
        seen = [name for name in names if not guard(prefix + name)]
    return Listing(in_byte_order(seen), odd, len(names) - len(seen), whole)


def _list(fd: int, most: int) -> tuple[list[str], dict[str, Kind], bool]:
    names: list[str] = []
    odd: dict[str, Kind] = {}
    add = names.append
    with os.scandir(fd) as entries:
        for entry in itertools.islice(entries, most):
            if entry.is_file(follow_symlinks=False):
                add(entry.name)
            elif entry.is_dir(follow_symlinks=False):
                add(entry.name + "/")
            else:
                odd[entry.name] = "link" if entry.is_symlink() else "other"
                add(entry.name)
        whole = len(names) < most or next(entries, None) is None
    return names, odd, whole

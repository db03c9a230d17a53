"""The one walk of a folder tree, shared by glob, find and grep.

A folder is opened from the descriptor of its parent, never by a path of text, and never through a link: somebody who
swaps a folder for a link while the walk runs makes it skip that folder, not leave the workspace. Links, pipes and
sockets are named and never opened.

What cannot be read is skipped and counted; a tree that changes or denies access in places still gives the rest. The
walk is bounded in entries and depth and asks `cancelled` once a folder. Its order is that of the paths' bytes.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, Protocol, runtime_checkable

from ptc.errors import ToolError
from ptc.tools._folders import Entries, Folders, in_byte_order
from ptc.tools._ignore import Ignore, Rules
from ptc.workspace.base import Resolved, Workspace

__all__ = ["ALWAYS_SKIP", "DEFAULT_SKIP", "Hidden", "LocalFolders", "Run", "Walk", "child", "open_regular"]

Hidden = Callable[[str], bool]

# Written by version control: never content of the project, and its files name places of the host.
ALWAYS_SKIP: Final = frozenset({".git"})
# Written by tools, large, and hardly ever what a search is about; `include_ignored` brings them back.
DEFAULT_SKIP: Final = ALWAYS_SKIP | {"node_modules", "__pycache__", "_build", "_opam", ".hg", ".svn", ".venv"}

MAX_ENTRIES: Final = 1_000_000
MAX_DEPTH: Final = 512
# Descriptors that one walk holds at most: sixteen walks at once stay below the usual limit of 1,024 for a process.
# Deeper folders are opened from the root again and their files by path.
_HELD_FOLDERS: Final = 32

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_EXHAUSTED: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


@runtime_checkable
class LocalFolders(Protocol):
    """What a workspace on this machine adds: descriptors that were opened beneath a root."""

    def open_dir(self, at: Resolved) -> int: ...
    def open_file(self, at: Resolved) -> int: ...


class Run(NamedTuple):
    """Neighbours in one folder, in order. A run ends after a folder that the walk enters next.

    prefix   path of the folder as results name it: "" or ending in "/"
    folder   the folder itself
    fd       its descriptor, good until the next run is asked for; None if its files must be opened by path
    entries  name and kind
    """

    prefix: str
    folder: Resolved
    fd: int | None
    entries: Entries


class _Level:
    """A folder that the walk is inside of."""

    __slots__ = ("at", "entries", "fd", "index", "prefix", "rules")

    def __init__(self, at: Resolved, prefix: str, fd: int | None, rules: Rules) -> None:
        self.at = at
        self.prefix = prefix
        self.fd = fd
        self.rules = rules
        self.entries: Entries = []
        self.index = 0

    def close(self) -> None:
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


class Walk:
    """Iterate once; gives `Run`s.

    base         the folder to begin in; it is entered whatever its name is
    cancelled    asked once a folder; True ends the walk with ToolError `cancelled`
    hidden       paths for which it is true are treated as absent
    ignore       .gitignore rules to honour; None honours none
    skip         names of files and folders that are left out, the base excepted
    folders      listings of earlier walks; None remembers nothing
    max_depth    folders below the base that are entered: 0 gives the entries of the base only

    skipped      how many folders or entries were left out, by reason: ignored, unreadable, too_deep
    cut          True if the cap on entries ended the walk early

    Raises ToolError of the workspace if the base cannot be opened, and `io_error` if no descriptors are left.
    """

    def __init__(
        self,
        workspace: Workspace,
        base: Resolved,
        *,
        cancelled: Callable[[], bool],
        hidden: Hidden | None = None,
        ignore: Ignore | None = None,
        skip: frozenset[str] = DEFAULT_SKIP,
        folders: Folders | None = None,
        max_depth: int = MAX_DEPTH,
        max_entries: int = MAX_ENTRIES,
    ) -> None:
        self._workspace = workspace
        self._base = base
        self._local = workspace if "local" in workspace.capabilities and isinstance(workspace, LocalFolders) else None
        self._cancelled = cancelled
        self._hidden = hidden
        self._ignore = ignore
        self._skip = skip
        self._folders = folders or Folders()
        self._limited = max_depth < MAX_DEPTH
        self._max_depth = min(max_depth, MAX_DEPTH)
        self._left = max_entries
        self.skipped: Counter[str] = Counter()
        self.cut = False

    def __iter__(self) -> Iterator[Run]:
        rules = self._ignore.above(self._workspace, self._base) if self._ignore is not None else ()
        prefix = "" if self._base.shown == "." else self._base.shown.rstrip("/") + "/"
        stack = [self._enter(self._base, prefix, None, 0, rules)]
        try:
            while stack:
                level = stack[-1]
                run, enter = self._next_run(level)
                if run:
                    yield Run(level.prefix, level.at, level.fd, run)
                if enter is None:
                    stack.pop().close()
                elif len(stack) <= self._max_depth:
                    below = self._descend(level, enter, len(stack))
                    if below is not None:
                        stack.append(below)
                elif not self._limited:
                    self.skipped["too_deep"] += 1
        finally:
            for level in stack:
                level.close()

    def _next_run(self, level: _Level) -> tuple[Entries, str | None]:
        """The entries up to the next folder, that one included, and its name."""
        start = level.index
        for index in range(start, len(level.entries)):
            if level.entries[index][1] == "dir":
                level.index = index + 1
                return level.entries[start : index + 1], level.entries[index][0]
        level.index = len(level.entries)
        return level.entries[start:], None

    def _descend(self, parent: _Level, name: str, depth: int) -> _Level | None:
        at = child(parent.at, name)
        try:
            return self._enter(at, f"{parent.prefix}{name}/", parent.fd, depth, parent.rules)
        except OSError as error:
            if error.errno in _EXHAUSTED:
                raise _exhausted() from None
        except ToolError as error:
            if error.code in ("cancelled", "session_closed") or error.details.get("errno") in ("EMFILE", "ENFILE"):
                raise
        self.skipped["unreadable"] += 1
        return None

    def _enter(self, at: Resolved, prefix: str, parent_fd: int | None, depth: int, rules: Rules) -> _Level:
        if self._cancelled():
            raise ToolError("cancelled", "the search was called off; nothing was changed.")
        if self._local is None:
            level = _Level(at, prefix, None, rules)
            found = in_byte_order([(entry.name, entry.kind) for entry in self._workspace.scan(at)])
            self._fill(level, found)
            return level
        name = at.rel.rpartition("/")[2]
        fd = self._local.open_dir(at) if parent_fd is None else os.open(name, _FOLDER, dir_fd=parent_fd)
        level = _Level(at, prefix, fd, rules)
        try:
            self._fill(level, self._folders.entries(fd, at.root, at.rel, self._left))
        except BaseException:
            level.close()
            raise
        if depth >= _HELD_FOLDERS:
            level.close()
        return level

    def _fill(self, level: _Level, found: Entries) -> None:
        """Keep what is to be seen of a folder, in order, and read its .gitignore."""
        if len(found) >= self._left:
            self.cut = True
            found = found[: self._left]
        self._left -= len(found)
        if self._ignore is not None:
            if any(name == ".gitignore" and kind == "file" for name, kind in found):
                level.rules = self._ignore.enter(self._workspace, level.at, level.fd, level.rules)
            found = self._without_ignored(level, found)
        skip = self._skip
        kept = [entry for entry in found if entry[0] not in skip]
        self.skipped["ignored"] += len(found) - len(kept)
        if self._hidden is not None:
            hidden, prefix = self._hidden, level.prefix
            kept = [entry for entry in kept if not hidden(prefix + entry[0])]
        level.entries = kept

    def _without_ignored(self, level: _Level, found: Entries) -> Entries:
        if not level.rules or self._ignore is None:
            return found
        decide, rules = self._ignore.ignored, level.rules
        prefix = f"{level.at.rel}/" if level.at.rel else ""
        kept = [entry for entry in found if not decide(rules, prefix + entry[0], entry[1] == "dir")]
        self.skipped["ignored"] += len(found) - len(kept)
        return kept


def child(folder: Resolved, name: str) -> Resolved:
    """The place of an entry of a folder."""
    rel = f"{folder.rel}/{name}" if folder.rel else name
    shown = name if folder.shown == "." else f"{folder.shown.rstrip('/')}/{name}"
    return Resolved(folder.root, rel, shown)


def open_regular(name: str, folder_fd: int) -> tuple[int, os.stat_result] | None:
    """Open a file of a folder without following a link or waiting for a pipe; None if it is no regular file any more.

    Raises OSError."""
    fd = os.open(name, FILE_FLAGS, dir_fd=folder_fd)
    facts = os.fstat(fd)
    if facts.st_mode & 0o170000 == 0o100000:
        return fd, facts
    os.close(fd)
    return None


def _exhausted() -> ToolError:
    return ToolError(
        "io_error", "the process has no file descriptors or memory left for a search; run fewer searches at once."
    )

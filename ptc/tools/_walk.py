"""The one walk of a folder tree, shared by glob, find and grep.

A folder is opened from the descriptor of its parent, never by a path of text, and never through a link: somebody who
swaps a folder for a link while the walk runs makes it skip that folder, not leave the workspace. Links, pipes and
sockets are named and never opened. What the workspace protects is left out before anything is opened.

What cannot be read is skipped and counted; a tree that changes or denies access in places still gives the rest. The
walk is bounded in entries and depth and asks `cancelled` at every folder. Its order is that of the paths' bytes.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from typing import Final, NamedTuple, Protocol, runtime_checkable

from ptc.errors import ToolError
from ptc.tools._folders import Folders, Listing, listing_of
from ptc.tools._ignore import Ignore, Rules
from ptc.workspace.base import Kind, Resolved, Workspace

__all__ = ["ALWAYS_SKIP", "DEFAULT_SKIP", "FILE_FLAGS", "Hidden", "LocalFolders", "Run", "Walk", "child"]

Hidden = Callable[[str], bool]

# Written by version control: never content of the project, and its files name places of the host.
ALWAYS_SKIP: Final = frozenset({".git"})
# Written by tools, large, and hardly ever what a search is about; `include_ignored` brings them back.
DEFAULT_SKIP: Final = ALWAYS_SKIP | {"node_modules", "__pycache__", "_build", "_opam", ".hg", ".svn", ".venv"}

MAX_ENTRIES: Final = 1_000_000
MAX_DEPTH: Final = 512
_NAMES_PER_CHECK: Final = 1_024
# Descriptors that one walk holds at most: sixteen walks at once stay below the usual limit of 1,024 for a process.
# Deeper folders are opened from the root again and their files by path.
_HELD_FOLDERS: Final = 32

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A file of a folder that is open: no link is followed, no pipe waited for.
FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_EXHAUSTED: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


@runtime_checkable
class LocalFolders(Protocol):
    """What a workspace on this machine adds: descriptors that were opened beneath a root."""

    def open_dir(self, at: Resolved) -> int: ...


class Run(NamedTuple):
    """Neighbours in one folder, in order. A run ends after a folder that the walk enters next.

    prefix   path of the folder as results name it: "" or ending in "/"
    folder   the folder itself
    fd       its descriptor, good until the next run is asked for; None if its files must be opened by path
    names    the entries; only the last can be a folder, and ends in "/" then
    odd      the kinds of those that are neither file nor folder; it may name others too
    """

    prefix: str
    folder: Resolved
    fd: int | None
    names: list[str]
    odd: Mapping[str, Kind]

    @property
    def entries(self) -> list[tuple[str, Kind]]:
        """Name, without a final `/`, and kind of each entry."""
        kinds = self.odd
        return [(name[:-1], "dir") if name[-1] == "/" else (name, kinds.get(name, "file")) for name in self.names]

    @property
    def files(self) -> list[str]:
        """Names of the regular files."""
        names = self.names
        if names and names[-1][-1] == "/":
            names = names[:-1]
        odd = self.odd
        return [name for name in names if name not in odd] if odd else names


class _Level:
    """A folder that the walk is inside of: `start` is the index in `names` of what comes next."""

    __slots__ = ("at", "fd", "names", "odd", "prefix", "rules", "start")

    def __init__(self, at: Resolved, prefix: str, fd: int | None, rules: Rules) -> None:
        self.at = at
        self.prefix = prefix
        self.fd = fd
        self.rules = rules
        self.names: list[str] = []
        self.odd: Mapping[str, Kind] = {}
        self.start = 0

    def close(self) -> None:
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


class Walk:
    """Iterate once; gives `Run`s.

    base         the folder to begin in; it is entered whatever its name is
    cancelled    asked at every folder, in large ones more often; True ends the walk with ToolError `cancelled`
    hidden       paths for which it is true are treated as absent
    ignore       .gitignore rules to honour; None honours none
    skip         names of files and folders that are left out, the base excepted
    folders      listings of earlier walks; None remembers nothing
    max_depth    folders below the base that are entered: 0 gives the entries of the base only

    skipped      how many folders or entries were left out, by reason: ignored, refused, unreadable, too_deep
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
        self._guard = workspace.read_guard(base.root)
        self._skip = skip.union(f"{name}/" for name in skip)
        self._folders = folders or Folders()
        self._limited = max_depth < MAX_DEPTH
        self._max_depth = min(max_depth, MAX_DEPTH)
        self._left = max_entries
        self.skipped: Counter[str] = Counter()
        self.cut = False

    def __iter__(self) -> Generator[Run]:
        rules = self._ignore.above(self._workspace, self._base) if self._ignore is not None else ()
        prefix = "" if self._base.shown == "." else self._base.shown.rstrip("/") + "/"
        stack = [self._enter(self._base, prefix, None, 0, rules)]
        try:
            while stack:
                level = stack[-1]
                names, start = level.names, level.start
                if start == len(names):
                    stack.pop().close()
                    continue
                stop, enter = _next_folder(names, start)
                level.start = stop
                yield Run(level.prefix, level.at, level.fd, names[start:stop], level.odd)
                if enter is None:
                    continue
                if len(stack) <= self._max_depth:
                    below = self._descend(level, enter, len(stack))
                    if below is not None:
                        stack.append(below)
                elif not self._limited:
                    self.skipped["too_deep"] += 1
        finally:
            for level in stack:
                level.close()

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
        self._check()
        if self._local is None:
            level = _Level(at, prefix, None, rules)
            self._fill(level, listing_of(self._workspace.scan(at), at.rel, self._guard))
            return level
        name = at.rel.rpartition("/")[2]
        fd = self._local.open_dir(at) if parent_fd is None else os.open(name, _FOLDER, dir_fd=parent_fd)
        level = _Level(at, prefix, fd, rules)
        try:
            self._fill(level, self._folders.entries(fd, at.root, at.rel, self._left, self._guard))
        except BaseException:
            level.close()
            raise
        if depth >= _HELD_FOLDERS:
            level.close()
        return level

    def _fill(self, level: _Level, found: Listing) -> None:
        """Keep what is to be seen of a folder, in order, and read its .gitignore."""
        names = found.names
        if not found.whole or len(names) > self._left:
            self.cut = True
            names = names[: self._left]
        self._left -= len(names)
        if found.guarded:
            self.skipped["refused"] += found.guarded
        if self._ignore is not None:
            if ".gitignore" in names and ".gitignore" not in found.odd:
                level.rules = self._ignore.enter(self._workspace, level.at, level.fd, level.rules)
            names = self._without_ignored(level, names)
        if not self._skip.isdisjoint(names):
            kept = [name for name in names if name not in self._skip]
            self.skipped["ignored"] += len(names) - len(kept)
            names = kept
        if self._hidden is not None:
            hidden, prefix = self._hidden, level.prefix
            names = self._without(names, lambda name: hidden(prefix + name.removesuffix("/")))
        level.names = names
        level.odd = found.odd

    def _without_ignored(self, level: _Level, names: list[str]) -> list[str]:
        if not level.rules or self._ignore is None:
            return names
        decide, rules = self._ignore.ignored, level.rules
        prefix = f"{level.at.rel}/" if level.at.rel else ""
        kept = self._without(names, lambda name: decide(rules, prefix + name))
        self.skipped["ignored"] += len(names) - len(kept)
        return kept

    def _without(self, names: list[str], left_out: Callable[[str], bool]) -> list[str]:
        """The names that are not left out. A folder may be so large, and judging so slow, that it is asked meanwhile
        whether the walk was called off."""
        kept: list[str] = []
        for start in range(0, len(names), _NAMES_PER_CHECK):
            if start:
                self._check()
            kept += [name for name in names[start : start + _NAMES_PER_CHECK] if not left_out(name)]
        return kept

    def _check(self) -> None:
        if self._cancelled():
            raise ToolError("cancelled", "the search was called off; nothing was changed.")


def _next_folder(names: list[str], start: int) -> tuple[int, str | None]:
    """Where the run that begins at `start` stops, and the name of the folder it ends in, if it ends in one."""
    for index in range(start, len(names)):
        if names[index][-1] == "/":
            return index + 1, names[index][:-1]
    return len(names), None


def child(folder: Resolved, name: str) -> Resolved:
    """The place of an entry of a folder."""
    rel = f"{folder.rel}/{name}" if folder.rel else name
    shown = name if folder.shown == "." else f"{folder.shown.rstrip('/')}/{name}"
    return Resolved(folder.root, rel, shown)


def _exhausted() -> ToolError:
    return ToolError(
        "io_error", "the process has no file descriptors or memory left for a search; run fewer searches at once."
    )

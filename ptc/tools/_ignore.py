"""Which paths a search leaves out because a `.gitignore` says so.

The rules of git: a file in each folder, the deepest one that has an opinion decides, `!` takes back, and nothing below
an ignored folder comes back. A repository is not needed for it: what is unpacked or exported is searched alike. Rules
outside the workspace, `.git/info/exclude` and the user's own global file are not read.

A `.gitignore` belongs to the searched tree and may be hostile: its patterns are run by re2, which is linear, and a
file of more than 64 KiB or 2,000 lines has no effect. Decisions are remembered with the content they came from,
because every search asks the same again; their number is bounded over all files, for such files may be nested.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from ptc.errors import ToolError
from ptc.workspace.base import Resolved, Workspace

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

__all__ = ["Ignore", "Rules"]

NAME: Final = ".gitignore"
MAX_BYTES: Final = 64 * 1024
MAX_LINES: Final = 2_000
_MOST_FILES: Final = 512
_MOST_DECISIONS: Final = 200_000
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class _IgnoreFile:
    """The patterns of one file, for paths below its folder."""

    __slots__ = ("__weakref__", "_decided", "_make_room", "_spec", "start")

    def __init__(self, spec: GitIgnoreSpec, start: int, make_room: Callable[[], None]) -> None:
        self._spec = spec
        self._make_room = make_room
        self.start = start
        self._decided: dict[str, bool | None] = {}

    def forget(self) -> None:
        self._decided.clear()

    def decide(self, path: str) -> bool | None:
        """True: ignored, False: taken back, None: no opinion. `path` is below the folder; a folder's ends in `/`."""
        try:
            return self._decided[path]
        except KeyError:
            # Bytes that are not UTF-8 reach patterns as `?`, which every wildcard takes.
            include = self._spec.check_file(path.encode("utf-8", "replace").decode()).include
            self._make_room()
            self._decided[path] = include
            return include


# The files that apply in a folder, the deepest last.
Rules: TypeAlias = tuple[_IgnoreFile, ...]


class Ignore:
    """The .gitignore files of a session's roots, compiled once per content. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[tuple[int, str, bytes], _IgnoreFile] = {}
        self._in_use: weakref.WeakSet[_IgnoreFile] = weakref.WeakSet()  # also those that only a walk still holds
        self._decisions = 0

    def above(self, workspace: Workspace, base: Resolved) -> Rules:
        """The rules that apply in `base` because of folders above it, the root first.

        None apply if they ignore `base` itself: who names an ignored folder wants to search it."""
        rules: Rules = ()
        parts = base.rel.split("/") if base.rel else []
        for depth, part in enumerate(parts):
            rel = "/".join(parts[:depth])
            rules = self.enter(workspace, Resolved(base.root, rel, rel or "."), None, rules)
            if self.ignored(rules, f"{rel}/{part}/" if rel else f"{part}/"):
                return ()
        return rules

    def enter(self, workspace: Workspace, folder: Resolved, fd: int | None, above: Rules) -> Rules:
        """The rules inside `folder`, whose descriptor is `fd` if it is open. An unreadable file adds nothing."""
        try:
            text = _read(fd) if fd is not None else _read_by_path(workspace, folder)
        except (OSError, ToolError):
            return above
        if not text or len(text) > MAX_BYTES or text.count(b"\n") > MAX_LINES:
            return above
        key = (folder.root, folder.rel, text)
        with self._lock:
            known = self._files.get(key)
            if known is None:
                spec = _compile(text)
                if len(self._files) >= _MOST_FILES:
                    self._files.clear()
                start = len(folder.rel) + 1 if folder.rel else 0
                known = self._files[key] = _IgnoreFile(spec, start, self._make_room)
                self._in_use.add(known)
        return (*above, known)

    def _make_room(self) -> None:
        """Have room for one more decision: too many are forgotten all at once."""
        self._decisions += 1
        if self._decisions > _MOST_DECISIONS:
            with self._lock:
                self._decisions = 1
                for file in self._in_use:
                    file.forget()

    @staticmethod
    def ignored(rules: Rules, path: str) -> bool:
        """True if `path` below the root, that of a folder with a final `/`, is ignored by the rules of its folder."""
        for file in reversed(rules):
            decision = file.decide(path[file.start :])
            if decision is not None:
                return decision
        return False


def _read(folder_fd: int) -> bytes:
    fd = os.open(NAME, _FILE, dir_fd=folder_fd)
    try:
        return os.read(fd, MAX_BYTES + 1)
    finally:
        os.close(fd)


def _read_by_path(workspace: Workspace, folder: Resolved) -> bytes:
    rel = f"{folder.rel}/{NAME}" if folder.rel else NAME
    return workspace.read_bytes(Resolved(folder.root, rel, rel), max_bytes=MAX_BYTES)[0]


def _compile(text: bytes) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # 34 ms that only a tree with a .gitignore needs

    lines = text.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    try:
        return GitIgnoreSpec.from_lines(lines, backend="re2")
    except ValueError:
        # git leaves out a line that it cannot read; so the others still hold.
        return GitIgnoreSpec.from_lines([line for line in lines if _is_readable(line)], backend="re2")


def _is_readable(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line], backend="re2")
    except ValueError:
        return False
    return True

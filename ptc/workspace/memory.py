"""MemoryWorkspace: the same promises on a dict, for tests and for hosts whose files are no folder.

It passes the conformance suite of LocalWorkspace. There are no links, modes are 0644, and folders exist as long as they
were made by a file or by `create_dirs`.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import BinaryIO, NamedTuple

from ptc.errors import ConfigError, ToolError
from ptc.values import show
from ptc.workspace._oserrors import not_found
from ptc.workspace.base import ABSENT, Entry, FileStat, Kind, Resolved
from ptc.workspace.paths import RootName, admit, split
from ptc.workspace.protect import Protection

__all__ = ["MemoryWorkspace"]


class _File(NamedTuple):
    data: bytes
    facts: FileStat


class MemoryWorkspace:
    """Files by path. Safe to use from several threads.

    files      path -> content; text is stored as UTF-8. None means empty
    root       the absolute path under which files may also be named
    max_bytes  size of all files together; a write beyond it raises `disk_full`. 64 MiB
    read_only, hidden  as in LocalWorkspace

    Times are a counter of writes, so every version differs.
    Raises ConfigError `invalid_workspace` for a path of `files` that the path rules refuse.
    """

    def __init__(
        self,
        files: Mapping[str, str | bytes] | None = None,
        *,
        root: str = "/workspace",
        max_bytes: int = 64 * 1024 * 1024,
        read_only: bool = False,
        hidden: Iterable[str] = (),
    ) -> None:
        self._names = [RootName(0, split(root))]
        self._protection = Protection([], hidden=hidden)
        self._files: dict[tuple[str, ...], _File] = {}
        self._folders: dict[tuple[str, ...], FileStat] = {}
        self._lock = threading.Lock()
        self._ticks = 0
        self._size = 0
        self._max_bytes = max_bytes
        self._make_folders(())
        for path, content in (files or {}).items():
            data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else bytes(content)
            try:
                # The host's own files are not judged as a script's writes: it may lay out a `.git/config`.
                parts = admit(path, self._names, 1).parts
                self._put(parts, data, create_dirs=True, expected=None)
            except ToolError as error:
                raise ConfigError("invalid_workspace", error.message) from None
        self._read_only = read_only

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset(("read",) if self._read_only else ("read", "write"))

    def resolve(self, path: str, *, for_write: bool = False) -> Resolved:
        """See `Workspace.resolve`."""
        admitted = admit(path, self._names, 1)
        self._protection.check(0, admitted.parts, for_write=for_write, given=path)
        rel = "/".join(admitted.parts)
        if for_write and (admitted.folder or not rel):
            raise ToolError("is_a_directory", f"Path {show(path)} names a folder; give the path of a file in it.")
        return Resolved(0, rel, rel or ".")

    def read_guard(self, root: int) -> Callable[[str], bool] | None:
        """See `Workspace.read_guard`."""
        return self._protection.read_guard(root)

    def stat(self, at: Resolved) -> FileStat:
        with self._lock:
            parts = split(at.rel)
            if parts in self._folders:
                return self._folders[parts]
            return self._file(parts).facts

    def read_bytes(self, at: Resolved, *, max_bytes: int) -> tuple[bytes, FileStat]:
        """See `Workspace.read_bytes`."""
        with self._lock:
            file = self._file(split(at.rel))
        if file.facts.size > max_bytes:
            raise ToolError(
                "file_too_large",
                f"{show(at.shown)} has {file.facts.size:,} bytes; at most {max_bytes:,} are read.",
                details={"path": at.shown, "size": file.facts.size, "limit": max_bytes},
            )
        return file.data, file.facts

    def open_read(self, at: Resolved) -> tuple[BinaryIO, FileStat]:
        """See `Workspace.open_read`."""
        with self._lock:
            file = self._file(split(at.rel))
        return io.BytesIO(file.data), file.facts

    def write_bytes(
        self,
        at: Resolved,
        data: bytes,
        *,
        create_dirs: bool = False,
        expected: tuple[int, int, int] | None = None,
    ) -> FileStat:
        """See `Workspace.write_bytes`."""
        if self._read_only:
            raise ToolError("workspace_read_only", f"{show(at.shown)} was not written: the workspace is read-only.")
        with self._lock:
            return self._put(split(at.rel), data, create_dirs=create_dirs, expected=expected)

    def remove(self, at: Resolved, *, expected: tuple[int, int, int] | None = None) -> None:
        """See `Workspace.remove`."""
        if self._read_only:
            raise ToolError("workspace_read_only", f"{show(at.shown)} was not removed: the workspace is read-only.")
        with self._lock:
            parts = split(at.rel)
            file = self._file(parts)
            _require(file, expected, at.shown)
            del self._files[parts]
            self._size -= len(file.data)

    def scan(self, at: Resolved) -> list[Entry]:
        """See `Workspace.scan`."""
        with self._lock:
            parts = split(at.rel)
            if parts not in self._folders:
                if parts in self._files:
                    raise ToolError("not_a_directory", f"{show(at.shown)} is a file; list its folder.")
                raise self._absent(parts)
            depth = len(parts) + 1
            found = [(path, facts) for path, facts in self._folders.items() if path]
            found += [(path, file.facts) for path, file in self._files.items()]
            return [
                Entry(path[-1], facts.kind, facts.size, facts.mtime_ns, facts.inode)
                for path, facts in found
                if len(path) == depth and path[:-1] == parts
            ]

    def _file(self, parts: tuple[str, ...]) -> _File:
        file = self._files.get(parts)
        if file is None:
            if parts in self._folders:
                raise ToolError("is_a_directory", f"{show(_shown(parts))} is a folder; list it with ls.")
            raise self._absent(parts)
        return file

    def _absent(self, parts: tuple[str, ...]) -> ToolError:
        if any(parts[:end] in self._files for end in range(1, len(parts))):
            return ToolError("not_a_directory", f"{show(_shown(parts))}: a name on the path is no folder.")
        return not_found(_shown(parts))

    def _put(
        self, parts: tuple[str, ...], data: bytes, *, create_dirs: bool, expected: tuple[int, int, int] | None
    ) -> FileStat:
        shown = _shown(parts)
        if parts in self._folders:
            raise ToolError("is_a_directory", f"{show(shown)} is a folder; give the path of a file in it.")
        old = self._files.get(parts)
        if parts[:-1] not in self._folders:
            absent = self._absent(parts)
            if absent.code == "not_a_directory":
                raise absent
            if not create_dirs:
                raise ToolError(
                    "parent_missing",
                    f"The folder of {show(shown)} does not exist; nothing was written. Pass create_dirs: true to "
                    "create it, or choose a folder that exists.",
                )
        _require(old, expected, shown)
        size = self._size + len(data) - (len(old.data) if old else 0)
        if size > self._max_bytes:
            raise ToolError(
                "disk_full", f"{show(shown)} was not written: the workspace holds at most {self._max_bytes:,} bytes."
            )
        self._make_folders(parts[:-1])
        self._size = size
        self._files[parts] = _File(data, self._facts("file", len(data), 0o644))
        return self._files[parts].facts

    def _make_folders(self, parts: tuple[str, ...]) -> None:
        for end in range(len(parts) + 1):
            if parts[:end] not in self._folders:
                self._folders[parts[:end]] = self._facts("dir", 0, 0o755)

    def _facts(self, kind: Kind, size: int, mode: int) -> FileStat:
        self._ticks += 1
        return FileStat(kind, size, self._ticks, self._ticks, mode)


def _require(file: _File | None, expected: tuple[int, int, int] | None, shown: str) -> None:
    if expected is not None and (file.facts.version if file else ABSENT) != expected:
        raise ToolError(
            "file_changed",
            f"{show(shown)} changed since it was read; nothing was written. Read it again and repeat the change on the "
            "new content.",
        )


def _shown(parts: tuple[str, ...]) -> str:
    return "/".join(parts) or "."

"""RemoteWorkspace: the same promises on any fsspec filesystem, such as an S3 bucket.

Paths are judged by the lexical rules alone, and links are refused, not followed. What the backend cannot do is said in
`capabilities` and nowhere papered over: there is no folder of this machine behind it (`local`), so tools that start
programs do not exist on it; a replacement is one step (`atomic`) only where the backend has such a step; and that no
other process writes between the last look and the write is certain (`compare-and-swap`) only where the backend checks
it itself. Elsewhere that gap is closed among the users of one RemoteWorkspace, and small for others.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, BinaryIO, Final

from ptc.errors import ConfigError, ToolError
from ptc.values import show
from ptc.workspace._oserrors import not_found
from ptc.workspace._remote_backend import Backend
from ptc.workspace._remote_errors import is_conflict, remote_errors
from ptc.workspace._remote_facts import digest, entry_of, kind_of, size_of, stat_of, tag_of
from ptc.workspace._remote_stream import open_stream
from ptc.workspace.base import ABSENT, Entry, FileStat, Resolved
from ptc.workspace.paths import RootName, admit, split
from ptc.workspace.protect import Protection

__all__ = ["RemoteWorkspace"]

# Up to this size a stream is the whole file in memory: one request in place of several.
WHOLE_BYTES: Final = 8 * 1024 * 1024
# Where the backend has no tag for a content, files up to this size are read to make one.
TAGGED_BYTES: Final = 64 * 1024 * 1024
_STRIPES: Final = 64

Info = Mapping[str, Any]


class RemoteWorkspace:
    """Files below `root` of an fsspec filesystem. Safe to use from several threads, never from an event loop's.

    fs         a filesystem made without `asynchronous=True`; its credentials are the host's and are never shown
    root       the folder, as the filesystem names it (`bucket/folder`, `/srv/data`); of an object store the bucket must
               exist. "" is the root of the filesystem
    name       the absolute path under which files may also be named, in place of the place they really have
    read_only, hidden  as in LocalWorkspace

    A version is the time of change, the size and the backend's tag (ETag, generation, checksum). Without a tag it is a
    digest of the content, so `stat` of a file up to 64 MiB reads it. Names must be what the backend takes; one that it
    would take for another file (`a?versionId=1`, `a#1`, with a backslash) is refused with `workspace_unknown`.

    Raises ConfigError `invalid_workspace` if `fs` is no such filesystem or the root cannot be reached: the constructor
    asks the backend once or twice.
    """

    def __init__(
        self,
        fs: Any,
        root: str = "",
        *,
        name: str = "/workspace",
        read_only: bool = False,
        hidden: Iterable[str] = (),
    ) -> None:
        self._backend = Backend(fs, root)
        self._names = [RootName(0, split(name))]
        self._protection = Protection([], hidden=hidden)
        self._read_only = read_only
        # Writes of one file take turns; files that share a stripe do so needlessly.
        self._turns = [threading.Lock() for _ in range(_STRIPES)]

    @classmethod
    def from_url(cls, url: str, *, storage_options: Mapping[str, Any] | None = None, **options: Any) -> RemoteWorkspace:
        """The workspace at a URL like `s3://bucket/folder`. `storage_options` go to the filesystem, `options` are those
        of the constructor.

        Raises ConfigError `invalid_workspace`, also if fsspec or the package of the protocol is not installed.
        """
        try:
            import fsspec.core  # the extra `remote`; not every host has files elsewhere
        except ImportError:
            raise ConfigError(
                "invalid_workspace",
                "RemoteWorkspace needs the extra `remote` (fsspec): pip install 'ptc-sandbox[remote]'.",
            ) from None
        protocol = url.partition("://")[0]
        try:
            fs, root = fsspec.core.url_to_fs(url, **(storage_options or {}))
        except ImportError:
            raise ConfigError(
                "invalid_workspace",
                f"the protocol {show(protocol, 40)} needs a package that is not installed, for example s3fs for s3.",
            ) from None
        except Exception as error:
            # The URL stays unsaid: it may hold a password.
            raise ConfigError(
                "invalid_workspace",
                f"the URL with the protocol {show(protocol, 40)} cannot be opened ({type(error).__name__}). Write it "
                "like s3://bucket/folder.",
            ) from None
        return cls(fs, root, **options)

    @property
    def capabilities(self) -> frozenset[str]:
        """`read` and `write` as in every workspace; `atomic` and `compare-and-swap` where the backend has them."""
        if self._read_only:
            return frozenset(("read",))
        can = {"read", "write"}
        traits = self._backend.traits
        if traits.replace != "rewrite":
            can.add("atomic")
        if traits.conditional:
            can.add("compare-and-swap")
        return frozenset(can)

    def resolve(self, path: str, *, for_write: bool = False) -> Resolved:
        """See `Workspace.resolve`."""
        admitted = admit(path, self._names, 1)
        self._protection.check(0, admitted.parts, for_write=for_write, given=path)
        rel = "/".join(admitted.parts)
        if not self._backend.takes(rel):
            raise ToolError(
                "workspace_unknown",
                f"Path {show(path)} is refused: a backslash, '?versionId=' or '#' with a number at the end means "
                "another file to some remote systems. Use a name without it, like 'src/main.py'.",
            )
        if for_write and (admitted.folder or not rel):
            raise ToolError("is_a_directory", f"Path {show(path)} names a folder; give the path of a file in it.")
        return Resolved(0, rel, rel or ".")

    def read_guard(self, root: int) -> Callable[[str], bool] | None:
        """See `Workspace.read_guard`."""
        return self._protection.read_guard(root)

    def stat(self, at: Resolved) -> FileStat:
        """See `Workspace.stat`."""
        with remote_errors(at.shown):
            return self._facts(at, self._existing(at))

    def read_bytes(self, at: Resolved, *, max_bytes: int) -> tuple[bytes, FileStat]:
        """See `Workspace.read_bytes`."""
        with remote_errors(at.shown):
            info = self._file(at)
            size = size_of(info)
            data = b"" if size is not None and size > max_bytes else self._read(at, info, max_bytes)
            size = len(data) if size is None else size
            if size > max_bytes:
                raise ToolError(
                    "file_too_large",
                    f"{show(at.shown)} has {size:,} bytes or more; at most {max_bytes:,} are read.",
                    details={"path": at.shown, "size": size, "limit": max_bytes},
                )
            return data, _facts_of_content(info, data)

    def open_read(self, at: Resolved) -> tuple[BinaryIO, FileStat]:
        """See `Workspace.open_read`."""
        with remote_errors(at.shown):
            info = self._file(at)
            size = size_of(info)
            if size is not None and size <= (WHOLE_BYTES if tag_of(info) else TAGGED_BYTES):
                data = self._read(at, info, size)
                return io.BytesIO(data), _facts_of_content(info, data)
            facts = self._facts(at, info)
        fs, path = self._backend.fs, self._backend.path(at.rel)
        return open_stream(lambda: fs.open(path, "rb"), at.shown), facts

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
        with remote_errors(at.shown), self._turns[hash(at.rel) % _STRIPES]:
            old = self._look(at)
            if old is None:
                self._require_folder(at, create_dirs)
            else:
                _require_file(at, old)
            if expected is not None and (ABSENT if old is None else self._facts(at, old).version) != expected:
                raise _changed(at)
            return self._put(at, data, old, guarded=expected is not None)

    def remove(self, at: Resolved, *, expected: tuple[int, int, int] | None = None) -> None:
        """See `Workspace.remove`. No backend removes under a condition, so the look before it is the last one."""
        if self._read_only:
            raise ToolError("workspace_read_only", f"{show(at.shown)} was not removed: the workspace is read-only.")
        with remote_errors(at.shown), self._turns[hash(at.rel) % _STRIPES]:
            info = self._file(at)
            if expected is not None and self._facts(at, info).version != expected:
                raise _changed(at)
            self._backend.remove(at.rel)

    def scan(self, at: Resolved) -> list[Entry]:
        """See `Workspace.scan`."""
        with remote_errors(at.shown):
            if kind_of(self._existing(at)) != "dir":
                raise ToolError("not_a_directory", f"{show(at.shown)} is a file; list its folder.")
            return [entry_of(name, info) for name, info in self._backend.entries(at.rel)]

    def _put(self, at: Resolved, data: bytes, old: Info | None, *, guarded: bool) -> FileStat:
        condition = None
        if guarded and self._backend.traits.conditional:
            condition = {"mode": "create"} if old is None else {"IfMatch": old["ETag"]}
        mode = old.get("mode") if old is not None else None
        try:
            answer = self._backend.put(at.rel, data, mode=mode, condition=condition)
        except Exception as error:
            if condition is not None and (is_conflict(error) or isinstance(error, FileNotFoundError)):
                raise _changed(at) from None
            raise
        info = self._look(at) or {"type": "file"}
        # What was written, even if somebody has replaced it by now: then the version is no file's, and the next guarded
        # write is refused.
        if isinstance(answer, Mapping) and answer.get("ETag"):
            info = {**info, "ETag": answer["ETag"]}
        return _facts_of_content({**info, "type": "file"}, data)

    def _look(self, at: Resolved) -> Info | None:
        """Facts of what is at the path, None if nothing is. Raises `workspace_symlink_escape` for a link on it."""
        link = self._backend.link_on(split(at.rel))
        if link is not None:
            raise ToolError(
                "workspace_symlink_escape",
                f"{show(at.shown)} is refused: {show(link)} is a link, and links are not followed in a remote "
                "workspace. Use the real location inside the workspace.",
            )
        return self._backend.info(at.rel)

    def _existing(self, at: Resolved) -> Info:
        info = self._look(at)
        if info is None:
            raise self._absent(at)
        return info

    def _file(self, at: Resolved) -> Info:
        info = self._existing(at)
        _require_file(at, info)
        return info

    def _absent(self, at: Resolved) -> ToolError:
        """Why nothing is there: nearest first, because below a folder that exists there is no more to find out."""
        parts = split(at.rel)
        for end in range(len(parts) - 1, 0, -1):
            above = self._backend.info("/".join(parts[:end]))
            if above is not None:
                if kind_of(above) != "dir":
                    return ToolError("not_a_directory", f"{show(at.shown)}: a name on the path is no folder.")
                break
        return not_found(at.shown)

    def _require_folder(self, at: Resolved, create_dirs: bool) -> None:
        folder = at.rel.rpartition("/")[0]
        above = self._backend.info(folder)
        if above is not None and kind_of(above) == "dir":
            return
        absent = self._absent(at)
        if absent.code == "not_a_directory":
            raise absent
        if not create_dirs:
            raise ToolError(
                "parent_missing",
                f"The folder of {show(at.shown)} does not exist; nothing was written. Pass create_dirs: true to create "
                "it, or choose a folder that exists.",
            )
        self._backend.make_folders(folder)

    def _facts(self, at: Resolved, info: Info) -> FileStat:
        size = size_of(info)
        tag = tag_of(info)
        if kind_of(info) != "file" or tag or size is None or size > TAGGED_BYTES:
            return stat_of(info, size=size or 0, number=digest(tag) if tag else 0)
        return _facts_of_content(info, self._read(at, info, size))

    def _read(self, at: Resolved, info: Info, max_bytes: int) -> bytes:
        size = size_of(info)
        # One byte more than may be, where the size is not known, tells that there is more.
        return self._backend.read(at.rel, max_bytes + 1 if size is None else size)


def _facts_of_content(info: Info, data: bytes) -> FileStat:
    tag = tag_of(info)
    number = digest(tag) if tag else digest(data) if len(data) <= TAGGED_BYTES else 0
    return stat_of(info, size=len(data), number=number)


def _require_file(at: Resolved, info: Info) -> None:
    kind = kind_of(info)
    if kind == "dir":
        raise ToolError("is_a_directory", f"{show(at.shown)} is a folder; give the path of a file in it.")
    if kind != "file":
        raise ToolError("not_a_regular_file", f"{show(at.shown)} is a pipe, device or socket; only files are used.")


def _changed(at: Resolved) -> ToolError:
    return ToolError(
        "file_changed",
        f"{show(at.shown)} changed since it was read; nothing was written. Read it again and repeat the change on the "
        "new content.",
        details={"path": at.shown},
    )

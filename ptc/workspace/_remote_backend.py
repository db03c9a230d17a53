"""One fsspec filesystem as this package uses it: what its kind can do, and the few calls that are made of it.

fsspec has one interface over things that differ where it matters. An object store has no folders and replaces an object
in one step; SFTP has folders and links, and replaces a file only by renaming; of others nothing is known. The table
says which is which, and what is not in it is trusted with nothing.

Listings that a filesystem caches are dropped before each look, because what somebody else wrote must be seen.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, Literal, NamedTuple

from ptc.errors import ConfigError
from ptc.values import show
from ptc.workspace._remote_facts import is_link

__all__ = ["Backend", "Traits", "traits_of"]

Replace = Literal["put", "rename", "rewrite"]


class Traits(NamedTuple):
    """What a kind of filesystem is like.

    folders      folders exist by themselves and must be made before a file in them
    links        a name may be a link to a place outside the root
    replace      how a file is replaced: `put` in one step by the backend, `rename` of a finished temporary over it, or
                 `rewrite` in place, which a reader may see half done
    conditional  a write may carry the condition that the file is still the one that was read
    """

    folders: bool
    links: bool
    replace: Replace
    conditional: bool = False


_STORE: Final = Traits(folders=False, links=False, replace="put")
_SHELL: Final = Traits(folders=True, links=True, replace="rename")
_UNKNOWN: Final = Traits(folders=True, links=True, replace="rewrite")
_TRAITS: Final[dict[str, Traits]] = {
    **dict.fromkeys(("s3", "s3a"), _STORE._replace(conditional=True)),
    **dict.fromkeys(("memory", "gs", "gcs", "abfs", "abfss", "az", "oci", "oss", "tos", "obs"), _STORE),
    **dict.fromkeys(("file", "local", "sftp", "ssh"), _SHELL),
}
# A name that some backends take apart: `key?versionId=1` is `key` to s3fs, `key#1` a generation of `key` to gcsfs, and
# to SMB a backslash is a slash. Such a name would reach a file around the rules about its path.
_ALIAS: Final = re.compile(r"\?versionid=|#[0-9]+\Z|\\", re.IGNORECASE)
_CALLS: Final = ("info", "ls", "cat_file", "pipe_file", "open", "invalidate_cache", "_strip_protocol")


def traits_of(fs: Any) -> Traits:
    """The traits of a filesystem by its protocol."""
    protocol = getattr(fs, "protocol", "")
    names = (protocol,) if isinstance(protocol, str) else tuple(protocol)
    return next((_TRAITS[name] for name in names if name in _TRAITS), _UNKNOWN)


class Backend:
    """A filesystem and the root in it. Paths are relative to the root; exceptions are the filesystem's own.

    Raises ConfigError `invalid_workspace` for what is no synchronous fsspec filesystem, and for a root that does not
    exist or cannot be reached.
    """

    def __init__(self, fs: Any, root: str) -> None:
        missing = [name for name in _CALLS if not callable(getattr(fs, name, None))]
        if missing or not isinstance(root, str):
            raise ConfigError(
                "invalid_workspace",
                f"RemoteWorkspace needs an fsspec filesystem and a root as text; a {type(fs).__name__} was given. Make "
                "one with fsspec.filesystem('s3'), or use RemoteWorkspace.from_url('s3://bucket/folder').",
            )
        if getattr(fs, "asynchronous", False):
            raise ConfigError(
                "invalid_workspace", "the filesystem was made with asynchronous=True; make it without, its calls block."
            )
        self.fs = fs
        self.traits = traits_of(fs)
        self.root: str = fs._strip_protocol(root).rstrip("/")
        self._require_root()

    def path(self, rel: str) -> str:
        """The backend's name of a path below the root."""
        return f"{self.root}/{rel}" if rel else self.root or "/"

    def takes(self, rel: str) -> bool:
        """False for a path that the backend would read as the name of another file."""
        return _ALIAS.search(rel) is None

    def info(self, rel: str) -> Mapping[str, Any] | None:
        """Facts of a file or folder, None if there is none; the root always exists."""
        if not rel:
            return {"type": "directory"}
        path = self.path(rel)
        self.fs.invalidate_cache(path)
        try:
            found: Mapping[str, Any] = self.fs.info(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return found

    def entries(self, rel: str) -> list[tuple[str, Mapping[str, Any]]]:
        """Names and facts in a folder. An object store's mark of the folder itself is no entry, and a name that means a
        way and no file (`.`, `..`) is none either."""
        path = self.path(rel)
        self.fs.invalidate_cache(path)
        try:
            listed = self.fs.ls(path, detail=True)
        except FileNotFoundError:
            if rel and self.traits.folders:
                raise
            return []
        found: dict[str, Mapping[str, Any]] = {}
        for info in listed:
            full = str(info["name"]).rstrip("/")
            name = full.rpartition("/")[2]
            is_entry = name not in ("", ".", "..") and full.strip("/") != path.strip("/")
            # An object and a folder of one name: `info` finds the object.
            if is_entry and found.get(name, {}).get("type") != "file":
                found[name] = info
        return list(found.items())

    def link_on(self, parts: tuple[str, ...]) -> str | None:
        """The first part of a path that is a link, relative to the root; None if none is. Costs a listing for each
        part, because `info` of some backends follows links."""
        if not self.traits.links:
            return None
        for depth, name in enumerate(parts):
            try:
                entries = dict(self.entries("/".join(parts[:depth])))
            except (FileNotFoundError, NotADirectoryError):
                return None
            if name in entries and is_link(entries[name]):
                return "/".join(parts[: depth + 1])
        return None

    def read(self, rel: str, most: int) -> bytes:
        """The first `most` bytes of a file."""
        # A range of an empty object is an error to S3.
        return bytes(self.fs.cat_file(self.path(rel), start=0, end=most)) if most else b""

    def put(self, rel: str, data: bytes, *, mode: int | None, condition: Mapping[str, Any] | None) -> Any:
        """Replace or create a file; gives what the backend answers. `mode` are the bits of the file that it replaces,
        `condition` what the backend must find (only if it is conditional), as arguments of its own call."""
        if self.traits.replace == "rename":
            self._put_by_rename(rel, data, mode)
            return None
        if condition is None:
            return self.fs.pipe_file(self.path(rel), data)
        # One request, whatever the size: the parts of a multipart upload carry no condition.
        return self.fs.pipe_file(self.path(rel), data, chunksize=len(data) + 1, **condition)

    def remove(self, rel: str) -> None:
        """Remove a file."""
        self.fs.rm_file(self.path(rel))

    def make_folders(self, rel: str) -> None:
        """Make a folder and those above it, where folders exist at all."""
        if self.traits.folders:
            self.fs.makedirs(self.path(rel), exist_ok=True)

    def _put_by_rename(self, rel: str, data: bytes, mode: int | None) -> None:
        folder = rel.rpartition("/")[0]
        temp = self.path(f"{folder}/" * bool(folder) + f".ptc-tmp-{os.urandom(8).hex()}")
        renamed = False
        try:
            self.fs.pipe_file(temp, data)
            if mode is not None and callable(getattr(self.fs, "chmod", None)):
                self.fs.chmod(temp, mode)
            self.fs.mv(temp, self.path(rel))
            renamed = True
        finally:
            if not renamed:
                with suppress(Exception):
                    self.fs.rm_file(temp)

    def _require_root(self) -> None:
        places = [self.path("")]
        if not self.traits.folders and "/" in self.root.strip("/"):
            # The folder of an object store need not exist before there is a file in it; its bucket must.
            places.append(self.root[: self.root.index("/", 1)])
        for place in places:
            try:
                info = self.fs.info(place)
            except FileNotFoundError:
                continue
            except Exception as error:
                raise ConfigError(
                    "invalid_workspace",
                    f"the root {show(self.root)} cannot be reached ({type(error).__name__}). Check the address, the "
                    "credentials and the endpoint.",
                ) from None
            if info.get("type") != "directory":
                raise ConfigError("invalid_workspace", f"the root {show(self.root)} is no folder; give a folder.")
            return
        raise ConfigError(
            "invalid_workspace", f"the root {show(self.root)} does not exist; make the folder or bucket first."
        )

"""What a backend tells about a file, as the records of every workspace.

fsspec leaves to each backend what its `info` holds. Two facts matter: when a file was written, and something that is
another whenever the content is another: an entity tag, a generation, a checksum. Times alone are no such thing; S3 and
SFTP count whole seconds. Where a backend has no tag, one is made from the content.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final

from ptc.workspace.base import Entry, FileStat, Kind

__all__ = ["digest", "entry_of", "is_link", "kind_of", "size_of", "stat_of", "tag_of"]

_TAGS: Final = (
    *("ETag", "etag", "e_tag", "generation", "VersionId", "version_id", "sha", "checksum", "md5", "content_md5"),
    *("md5Hash", "crc32c"),
)
_TIMES: Final = ("mtime", "LastModified", "last_modified", "modified", "updated", "modificationTime", "created")
_KINDS: Final[dict[str, Kind]] = {"file": "file", "directory": "dir", "link": "link"}

Info = Mapping[str, Any]


def is_link(info: Info) -> bool:
    return bool(info.get("islink")) or info.get("type") == "link"


def kind_of(info: Info) -> Kind:
    return "link" if is_link(info) else _KINDS.get(str(info.get("type")), "other")


def size_of(info: Info) -> int | None:
    """Bytes, or None if the backend does not know before it reads."""
    size = info.get("size")
    return size if type(size) is int and size >= 0 else None


def tag_of(info: Info) -> str | None:
    """All that the backend tells of the content's identity, as one text; None if it tells nothing."""
    tags = [f"{name}={info[name]}" for name in _TAGS if info.get(name)]
    return ";".join(tags) or None


def digest(content: bytes | str) -> int:
    """A tag or a content as a number of 63 bits that is never 0; it stands where a disk's files have their inode."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return int.from_bytes(blake2b(data, digest_size=8).digest()) >> 1 or 1


def stat_of(info: Info, *, size: int, number: int) -> FileStat:
    """`number` is the digest of the tag or content; `size` what was read or written, if that is known better."""
    kind = kind_of(info)
    mode = info.get("mode")
    plain = 0o755 if kind == "dir" else 0o644
    return FileStat(kind, size, _mtime_ns(info), number, mode & 0o7777 if type(mode) is int else plain)


def entry_of(name: str, info: Info) -> Entry:
    tag = tag_of(info)
    return Entry(name, kind_of(info), size_of(info) or 0, _mtime_ns(info), digest(tag) if tag else 0)


def _mtime_ns(info: Info) -> int:
    """Nanoseconds since 1970; 0 if the backend does not tell. Rounded to microseconds, which survive a float."""
    for name in _TIMES:
        value = info.get(name)
        if isinstance(value, str):
            value = _parsed(value)
        if isinstance(value, datetime):
            value = value.timestamp()
        if isinstance(value, (int, float)) and value > 0:
            # WebHDFS counts milliseconds; no second of this form is within 30,000 years.
            return round(value * 1_000 if value > 1e12 else value * 1_000_000) * 1_000
    return 0


def _parsed(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None

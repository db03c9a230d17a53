"""The path rules: which texts name a place in the workspace, judged before the file system is asked anything.

A path comes from a model or a script and is hostile. The rules below are tested in this order and the first that fails
decides, so that one path always gets one answer:

    0  a text, not empty                                     workspace_path_required
    1  no NUL, no control characters, encodable              workspace_unknown
    2  no component `..` (split at `/` and `\\`)              workspace_parent_traversal
    3  no colon                                              workspace_colon
    4  if absolute, beneath a root                           workspace_absolute_outside
    5  no leading `~`; not a protected place (protect.py)    workspace_protected_location
    6  not longer than the file system takes                 workspace_path_too_long
    7  no link on it leaves the roots (_links.py)            workspace_symlink_escape

The functions here are pure. Whether an absolute path is beneath a root is decided by comparing components with the
roots' names, never by looking outside the workspace: a refusal must not tell what exists there. Messages give the
number of roots, never their place on the host.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from ptc.errors import ToolError
from ptc.values import show

__all__ = ["MAX_NAME_BYTES", "MAX_PATH_BYTES", "Admitted", "RootName", "admit", "beneath", "printable", "split"]

# Linux takes 4,096 bytes with the terminating NUL, and 255 for one name; other systems take less and answer themselves.
MAX_PATH_BYTES: Final = 4_095
MAX_NAME_BYTES: Final = 255

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_UNPRINTABLE: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


class RootName(NamedTuple):
    """One absolute spelling of a root, as components: `/srv/ws` is `("srv", "ws")`. A root may have two spellings, the
    one that the host gave and the one with every link followed."""

    number: int
    parts: tuple[str, ...]


class Admitted(NamedTuple):
    """A path that passed the rules 0 to 6. `folder` is True if it was written so that it can only name a folder."""

    root: int
    parts: tuple[str, ...]
    folder: bool


def split(path: str) -> tuple[str, ...]:
    """The components of a path without empty ones and `.`."""
    return tuple(part for part in path.split("/") if part not in ("", "."))


def beneath(parts: Sequence[str], roots: Sequence[RootName]) -> RootName | None:
    """The first root that is, or holds, the absolute path of these components; None if there is none."""
    for root in roots:
        if tuple(parts[: len(root.parts)]) == root.parts:
            return root
    return None


def admit(path: object, roots: Sequence[RootName], count: int) -> Admitted:
    """Judge `path` by the rules 0 to 6, protected places excepted.

    `roots` holds every spelling in order of preference, `count` is the number of roots for the message. Raises
    ToolError with the code of the first rule that the path breaks.
    """
    if not isinstance(path, str) or not path:
        given = "nothing" if path is None or path == "" else f"a {type(path).__name__}"
        raise ToolError(
            "workspace_path_required",
            f"A path is required, {given} was given. Give a relative path like 'src/main.py', or '.' for the root.",
        )
    text = _canonical(path)
    if ".." in text.replace("\\", "/").split("/"):
        raise ToolError(
            "workspace_parent_traversal",
            f"Path {show(path)} is refused: its component '..' climbs out of a folder. Write a clean relative path "
            f"like {_example(text)}, or an absolute path under a workspace root.",
        )
    if ":" in text:
        raise ToolError(
            "workspace_colon",
            f"Path {show(path)} is refused: ':' is not allowed, because it means different things on different "
            f"systems. Write the path without ':', like {_example(text)}.",
        )
    parts = split(text)
    index = 0
    if text[0] in "/\\":
        root = beneath(parts, roots) if text[0] == "/" else None
        if root is None:
            raise ToolError(
                "workspace_absolute_outside",
                f"Path {show(path)} is refused: it is absolute and outside the workspace ({count} root(s)). Write a "
                f"relative path like {_example(text)}, resolved in the workspace, or an absolute path under a root.",
            )
        index, parts = root.number, parts[len(root.parts) :]
    elif text[0] == "~":
        raise ToolError(
            "workspace_protected_location",
            f"Path {show(path)} is refused: a leading '~' means a home folder, a protected location. Choose a path "
            f"outside it, inside the workspace; a file whose name really begins so is {show('./' + text)}.",
        )
    if len(os.fsencode("/".join(parts))) > MAX_PATH_BYTES or any(len(os.fsencode(p)) > MAX_NAME_BYTES for p in parts):
        raise ToolError(
            "workspace_path_too_long",
            f"Path {show(path)} is refused: a path has at most {MAX_PATH_BYTES:,} bytes and each name in it at most "
            f"{MAX_NAME_BYTES}. Write a shorter path like 'src/main.py'.",
        )
    return Admitted(index, parts, text.endswith(("/", "/.")))


def _canonical(path: str) -> str:
    """`path` with one spelling per byte string: surrogate escapes that together make a character become it.

    Without this `caf\\udcc3\\udca9.txt` would reach `café.txt` and slip past a rule that names it.
    """
    try:
        text = os.fsdecode(os.fsencode(path))
    except UnicodeEncodeError:
        text = "\x00"
    if _CONTROL.search(text):
        raise ToolError(
            "workspace_unknown",
            f"Path {show(path)} is refused: it holds NUL, control characters or text that no file name can carry. "
            f"Write it without them, like {_example(_UNPRINTABLE.sub('', path))}.",
        )
    return text


def _example(text: str) -> str:
    """A form of `text` that would be accepted: relative, without `..` and colons."""
    parts = split(text.replace("\\", "/").replace(":", ""))
    kept = [p for p in parts if p != ".."]
    if text[:1] in ("/", "\\"):
        kept = kept[-1:]
    clean = "/".join(kept).lstrip("~")
    return show(clean) if clean and len(clean) <= 80 else "'src/main.py'"


def printable(path: str) -> str:
    """A path as it may stand in text for a model or a terminal: controls, bidi marks and lone surrogates escaped."""
    return _UNPRINTABLE.sub(lambda m: f"\\u{ord(m[0]):04x}", path)

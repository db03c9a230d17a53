"""What the file tools share: work in threads, and text on its way into a file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

import anyio.to_thread

from ptc.errors import ToolError
from ptc.tooling import ToolContext

__all__ = ["PATH_SCHEMA", "encode", "reading", "record_write", "version_text", "writing"]

P = ParamSpec("P")
T = TypeVar("T")

PATH_SCHEMA: Final[dict[str, Any]] = {
    "type": "string",
    "description": "Relative to the workspace, like 'src/main.py'; or absolute under a workspace root.",
}


async def reading(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking work that has no effects in a thread. A cancelled caller does not wait for it."""
    return await anyio.to_thread.run_sync(partial(function, *args, **kwargs), abandon_on_cancel=True)


async def writing(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking work that writes in a thread. A cancelled caller waits: afterwards nothing of the call acts any
    more."""
    return await anyio.to_thread.run_sync(partial(function, *args, **kwargs), abandon_on_cancel=False)


def encode(text: str, argument: str) -> bytes:
    """The UTF-8 bytes of an argument, with no translation of line ends.

    Raises ToolError `invalid_arguments` for lone surrogates, which no file of text can hold.
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolError(
            "invalid_arguments",
            f"{argument} holds half of a surrogate pair at character {error.start}, which is not text. Remove it, or "
            "replace it by '\\ufffd'.",
        ) from None


def record_write(context: ToolContext, path: str, data: bytes) -> None:
    """Put on record that a file was written: its path, and size and SHA-256 of the bytes that were given."""
    facts = {"path": path, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    context.audit("file_written", facts)


def version_text(version: tuple[int, int, int]) -> str:
    """A file's version as one opaque text; its numbers exceed what JavaScript counts exactly."""
    return "-".join(f"{part:x}" for part in version)

"""hash_text: a digest of a text's UTF-8 bytes.

The answer names the algorithm that was used, and an unknown name is refused: a digest under a wrong name is worse than
none. MD5 and SHA-1 are here to compare with what others computed; they protect nothing.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any, Final

from ptc.errors import ToolError
from ptc.tooling import Tool, ToolContext
from ptc.tools._files import encode
from ptc.tools._text import computed
from ptc.values import show

__all__ = ["hash_text_tool"]

ALGORITHMS: Final = ("md5", "sha1", "sha256")

_DESCRIPTION: Final = """\
The hash of a text (its UTF-8 bytes) as lower-case hex digits. algorithm is sha256 unless given, or md5 or sha1, which
are not safe against forgery. Example: {"text": "hello", "algorithm": "sha256"}
Errors begin with [input] if the algorithm is another."""

_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "algorithm": {"type": "string", "default": "sha256", "description": "md5, sha1 or sha256, in any case."},
    },
    "required": ["text"],
    "additionalProperties": False,
}

_OUTPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"hash": {"type": "string"}, "algorithm": {"enum": list(ALGORITHMS)}},
    "required": ["hash", "algorithm"],
}


def hash_text_tool() -> Tool:
    """The tool `hash_text`. Its data is `{hash, algorithm}`."""
    return Tool(
        name="hash_text",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        output_schema=_OUTPUT,
        run=_run,
        positional=("text", "algorithm"),
        read_only=True,
        idempotent=True,
        timeout_ms=2_000,
        source="built-in",
    )


async def _run(context: ToolContext, args: dict[str, Any]) -> dict[str, str]:
    given = args.get("algorithm", "sha256")
    algorithm = given.lower()
    if algorithm not in ALGORITHMS:
        raise ToolError(
            "unsupported_algorithm",
            f"hash_text: algorithm {show(given, 40)} is not offered. Use md5, sha1 or sha256.",
            details={"algorithms": list(ALGORITHMS)},
        )
    return {"hash": await computed(partial(_digest, algorithm), args["text"]), "algorithm": algorithm}


def _digest(algorithm: str, text: str) -> str:
    # Some systems refuse MD5 and SHA-1 unless told that no security rests on them.
    return hashlib.new(algorithm, encode(text, "text"), usedforsecurity=False).hexdigest()

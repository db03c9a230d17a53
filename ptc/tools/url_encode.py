"""url_encode: percent-encoding of one component of a URL, and back.

Decoding never drops or guesses a character: what is not an encoding is refused where it stands.
"""

from __future__ import annotations

import re
from typing import Any, Final

from ptc.errors import ToolError
from ptc.tooling import Tool, ToolContext
from ptc.tools._files import encode
from ptc.tools._text import computed
from ptc.values import show

__all__ = ["url_encode_tool"]

_UNRESERVED: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"
_ENCODED: Final = tuple(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in range(256))
_PAIR: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_STRAY: Final = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)

_DESCRIPTION: Final = """\
Percent-encode a text for one part of a URL: letters, digits and -_.~ stay, every other byte of its UTF-8 form becomes
%XX, a space %20. With decode: true the way back; + becomes a space. Example: {"text": "a b&c"}
Errors begin with [input] if what is to be decoded holds a % without two hex digits, or is not UTF-8."""

_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "decode": {"type": "boolean", "default": False, "description": "Decode in place of encode."},
    },
    "required": ["text"],
    "additionalProperties": False,
}


def url_encode_tool() -> Tool:
    """The tool `url_encode`."""
    return Tool(
        name="url_encode",
        description=_DESCRIPTION,
        input_schema=_INPUT,
        run=_run,
        positional=("text",),
        read_only=True,
        idempotent=True,
        timeout_ms=1_000,
        source="built-in",
    )


async def _run(context: ToolContext, args: dict[str, Any]) -> str:
    return await computed(_decode if args.get("decode", False) else _encode, args["text"])


def _encode(text: str) -> str:
    return "".join(map(_ENCODED.__getitem__, encode(text, "text")))


def _decode(text: str) -> str:
    stray = _STRAY.search(text)
    if stray is not None:
        place = stray.start() + 1
        raise ToolError(
            "invalid_percent_encoding",
            f"url_encode: at character {place:,} stands {show(stray[0])}, a % without two hex digits. Write %25 for a "
            "plain %.",
            details={"position": place},
        )
    data = _PAIR.sub(lambda pair: bytes((int(pair[1], 16),)), encode(text, "text").replace(b"+", b" "))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ToolError(
            "invalid_utf8",
            f"url_encode: the decoded bytes are not UTF-8 text; byte {error.start + 1:,} of them is "
            f"0x{data[error.start]:02x}. Encode the text as UTF-8 first, as url_encode does.",
            details={"byte": error.start + 1},
        ) from None

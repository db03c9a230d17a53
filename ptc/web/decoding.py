"""Content codings, undone piece by piece: what a body really is, never more of it than is taken.

A few hundred kilobytes of gzip can hold a gibibyte, so a piece is decompressed in bounded steps, and whoever takes
them stops when there are enough. A stream that ends early is an error: zlib itself gives the part that it has and says
nothing, which would be a text that nobody knows to be cut (promise P4).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

from ptc.errors import ToolError
from ptc.values import show

__all__ = ["ACCEPTED", "ContentDecoder"]

ACCEPTED: Final = "gzip, deflate"
STEP_BYTES: Final = 64 * 1024
_GZIP: Final = 16 + zlib.MAX_WBITS
_MEMBER: Final = b"\x1f\x8b"


class ContentDecoder:
    """Undoes the coding that a Content-Encoding header names.

    Raises ToolError `web_response_invalid` for a coding that was not asked for, or for two, and for data that is
    broken or ends too early.
    """

    def __init__(self, content_encoding: str) -> None:
        names = [name.strip().lower() for name in content_encoding.split(",") if name.strip()]
        names = [name for name in names if name != "identity"]
        if len(names) > 1 or not {"gzip", "x-gzip", "deflate"}.issuperset(names):
            raise _broken(f"comes in the content coding {show(content_encoding, 60)}; only {ACCEPTED} was asked for")
        self._coding = names[0].removeprefix("x-") if names else None
        self._inflate: zlib._Decompress | None = None
        self._held = b""  # bytes that are too few to tell what they begin

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The next pieces of the body, each at most 64 KiB; more is inflated only when it is asked for."""
        if self._coding is None:
            if data:
                yield data
            return
        data = self._held + data
        self._held = b""
        while data:
            if self._inflate is None or self._inflate.eof:
                behind = self._inflate is not None
                if behind and (self._coding != "gzip" or not _MEMBER.startswith(data[:2])):
                    return  # padding
                if len(data) < 2:
                    self._held = data
                    return
                # Several gzip members in a row are one body.
                self._inflate = zlib.decompressobj(_GZIP if self._coding == "gzip" else _deflate_form(data))
            try:
                piece = self._inflate.decompress(data, STEP_BYTES)
            except zlib.error:
                raise _broken("is not the compressed data that its header announces") from None
            data = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
            if piece:
                yield piece

    def finish(self) -> None:
        """Tell the decoder that nothing follows."""
        if (self._held and self._inflate is None) or (self._inflate is not None and not self._inflate.eof):
            raise _broken("is compressed data that ends too early")


def _deflate_form(data: bytes) -> int:
    """The window bits for `deflate`: with the zlib header of the standard, or bare, as some servers understand it."""
    has_header = data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
    return zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS


def _broken(what: str) -> ToolError:
    return ToolError("web_response_invalid", f"The body of the response {what}.")

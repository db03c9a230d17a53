"""Images, told by their first bytes and never by their name: a model is shown only what its provider will take."""

from __future__ import annotations

import binascii
from typing import Final

from ptc.results import Content

__all__ = ["MAX_IMAGE_BYTES", "as_content", "image_type"]

# 5 MiB as base64, the least that a provider of vision models takes for one image.
MAX_IMAGE_BYTES: Final = 5 * 1024 * 1024 // 4 * 3

_SIGNATURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def image_type(data: bytes) -> str | None:
    """`image/png`, `image/jpeg`, `image/gif`, `image/webp`, or None for what is no such image."""
    for signature, mime_type in _SIGNATURES:
        if data.startswith(signature):
            return mime_type
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def as_content(data: bytes, mime_type: str, name: str) -> Content:
    """The image as a part of a result."""
    return Content("image", mime_type, binascii.b2a_base64(data, newline=False).decode(), name)

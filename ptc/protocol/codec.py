"""Frames: how one message stands on the wire, and nothing else. No socket, no clock, no JSON.

    4 bytes   length of what follows, big endian, at least 1
    1 byte    kind of message, an ASCII letter (see machine.py)
    n bytes   payload: the UTF-8 text of one JSON object

The kind stands outside the JSON so that the VM process can hand a payload to the engine without parsing it. The length
is checked against the cap before a single byte of the payload is kept: a lying peer cannot make the reader allocate.
This file is imported by the VM process; it must stay light.
"""

from __future__ import annotations

from ptc.errors import ProtocolError

__all__ = ["HEADER", "FrameReader", "encode_frame"]

HEADER = 4


def encode_frame(kind: str, payload: bytes) -> bytes:
    """One frame, ready to be sent."""
    return (len(payload) + 1).to_bytes(HEADER, "big") + kind.encode("ascii") + payload


class FrameReader:
    """Bytes in, whole frames out, in whatever pieces the bytes arrive.

    max_frame: largest length field that is accepted, in bytes. A larger or empty one raises ProtocolError and the
    reader is of no further use.
    """

    def __init__(self, max_frame: int) -> None:
        self.max_frame = max_frame
        self._buffer = bytearray()
        self._broken = False

    def feed(self, data: bytes) -> list[tuple[str, bytes]]:
        """Every frame that `data` completes, as (kind, payload)."""
        if self._broken:
            raise ProtocolError("the peer broke the frame format earlier; nothing more is read from it")
        buffer = self._buffer
        if (
            not buffer
            and len(data) > HEADER
            and int.from_bytes(data[:HEADER], "big") == len(data) - HEADER <= self.max_frame
        ):
            return [(chr(data[HEADER]), data[HEADER + 1 :])]  # one whole frame, as nearly every read is
        buffer += data
        frames: list[tuple[str, bytes]] = []
        start = 0
        while len(buffer) - start >= HEADER:
            length = int.from_bytes(buffer[start : start + HEADER], "big")
            if not 1 <= length <= self.max_frame:
                self._broken = True
                buffer.clear()
                raise ProtocolError(f"a frame of {length:,} bytes was announced; 1 to {self.max_frame:,} are accepted")
            end = start + HEADER + length
            if len(buffer) < end:
                break
            kind = buffer[start + HEADER]
            frames.append((chr(kind), bytes(buffer[start + HEADER + 1 : end])))
            start = end
        if start:
            del buffer[:start]
        return frames

    @property
    def pending(self) -> int:
        """Bytes of a frame that has not arrived whole."""
        return len(self._buffer)

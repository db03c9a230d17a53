"""Who may say what, when: the whole of the protocol as one table. Sans-io and ignorant of which side it plays.

A program is a strict alternation of turns. The guest runs until it has nothing left to do, says so, and waits; the host
never speaks while the guest runs. That is why the engine's CPU limit can be used, why killing the guest is always safe,
and why a program can be replayed from its turns.

    state   who moves   message     next state
    boot    guest       READY       idle         the VM is built and locked down
    idle    host        START       guest        one program
    guest   guest       TURN        host         idle inside: new calls, logs, the next timer
    guest   guest       DONE        done         the end, whatever it is
    host    host        SETTLE      guest        answers, and the time
    host    host        SETTLE_BIG  guest        the same, holding integers that need BigInt

There is no message for cancelling: a guest that must stop is killed. Everything not in the table is a ProtocolError,
after which the guest is killed and never used again. This file is imported by the VM process; it must stay light.
"""

from __future__ import annotations

from ptc.errors import ProtocolError
from ptc.protocol.codec import FrameReader, encode_frame

__all__ = ["DONE", "READY", "SETTLE", "SETTLE_BIG", "START", "TURN", "Connection"]

READY, START, TURN, DONE, SETTLE, SETTLE_BIG = "H", "S", "T", "D", "R", "B"

FROM_GUEST = frozenset((READY, TURN, DONE))
FROM_HOST = frozenset((START, SETTLE, SETTLE_BIG))

MOVES: dict[tuple[str, str], str] = {
    ("boot", READY): "idle",
    ("idle", START): "guest",
    ("guest", TURN): "host",
    ("guest", DONE): "done",
    ("host", SETTLE): "guest",
    ("host", SETTLE_BIG): "guest",
}


class Connection:
    """One side of one program's conversation: `send` gives bytes to write, `receive` takes bytes that were read.

    host: True for the host's side. max_frame: largest frame accepted from the peer, in bytes; may be changed between
    turns through `reader.max_frame`.
    """

    def __init__(self, *, host: bool, max_frame: int) -> None:
        self.state = "boot"
        self.reader = FrameReader(max_frame)
        self._mine = FROM_HOST if host else FROM_GUEST
        self._theirs = FROM_GUEST if host else FROM_HOST

    def send(self, kind: str, payload: bytes) -> bytes:
        """The frame for a message of ours. Raises ProtocolError if it is not our move."""
        self._move(kind, self._mine, "we")
        return encode_frame(kind, payload)

    def receive(self, data: bytes) -> list[tuple[str, bytes]]:
        """The messages that `data` completes. Raises ProtocolError for anything the table does not hold."""
        messages = self.reader.feed(data)
        for kind, _ in messages:
            self._move(kind, self._theirs, "the peer")
        return messages

    def _move(self, kind: str, allowed: frozenset[str], who: str) -> None:
        after = MOVES.get((self.state, kind)) if kind in allowed else None
        if after is None:
            raise ProtocolError(
                f"{who} sent a message of kind {kind!r} in state {self.state!r}, where none is accepted"
            )
        self.state = after

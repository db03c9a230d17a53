"""The table of moves: what it holds is accepted, everything else is refused, on both sides."""

from __future__ import annotations

import itertools

import pytest

from ptc.errors import ProtocolError
from ptc.protocol.codec import encode_frame
from ptc.protocol.machine import (
    DONE,
    FROM_GUEST,
    FROM_HOST,
    MOVES,
    READY,
    SETTLE,
    SETTLE_BIG,
    START,
    TURN,
    Connection,
)

STATES = ("boot", "idle", "guest", "host", "done")
KINDS = (READY, START, TURN, DONE, SETTLE, SETTLE_BIG, "?", "\xff")


@pytest.mark.parametrize(("state", "kind"), list(itertools.product(STATES, KINDS)))
@pytest.mark.parametrize("host", [True, False])
def test_a_side_accepts_exactly_the_moves_of_the_other_side_that_the_table_holds(
    host: bool, state: str, kind: str
) -> None:
    connection = Connection(host=host, max_frame=100)
    connection.state = state
    frame = (2).to_bytes(4, "big") + kind.encode("latin-1") + b"{"
    legal = (state, kind) in MOVES and kind in (FROM_GUEST if host else FROM_HOST)
    if legal:
        assert connection.receive(frame) == [(kind, b"{")]
        assert connection.state == MOVES[state, kind]
    else:
        with pytest.raises(ProtocolError):
            connection.receive(frame)


def test_a_whole_conversation_crosses_both_sides_byte_by_byte() -> None:
    host = Connection(host=True, max_frame=100)
    guest = Connection(host=False, max_frame=100)
    script = [
        (guest, host, READY),
        (host, guest, START),
        (guest, host, TURN),
        (host, guest, SETTLE),
        (guest, host, TURN),
        (host, guest, SETTLE_BIG),
        (guest, host, DONE),
    ]
    for sender, receiver, kind in script:
        received = []
        for byte in sender.send(kind, b"{}"):
            received += receiver.receive(bytes([byte]))
        assert received == [(kind, b"{}")]
        assert sender.state == receiver.state
    assert host.state == "done"


def test_two_messages_in_one_read_are_judged_one_after_the_other() -> None:
    host = Connection(host=True, max_frame=100)
    host.receive(encode_frame(READY, b"{}"))
    host.send(START, b"{}")
    with pytest.raises(ProtocolError):
        host.receive(encode_frame(TURN, b"{}") + encode_frame(TURN, b"{}"))


def test_sending_out_of_turn_is_an_error_of_our_own() -> None:
    host = Connection(host=True, max_frame=100)
    with pytest.raises(ProtocolError):
        host.send(SETTLE, b"{}")

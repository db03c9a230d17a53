"""What a guest sends is hostile: exact keys, bounded fields, and nothing but ProtocolError whatever arrives."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptc.errors import ProtocolError
from ptc.protocol.messages import encode_settle, encode_start, parse_done, parse_ready, parse_turn

NOTES = {"logs": [["log", "hi"]], "lost": 0, "progress": [["half", 0.5]], "warnings": [], "flooded": 0}
CALL = {"id": 1, "method": "grep", "args": ["x"], "line": 3, "trouble": None}
TURN = {"calls": [CALL], "held": [[2, "read", None]], "wake": None, "notes": NOTES}
END = {"ok": True, "value": 1, "error": None, "open": [], "held": [], "notes": NOTES}
DONE = {"usage": {"cpu_ms": 1.5, "peak_memory_bytes": 10}, "end": END}
READY = {"pid": 5, "layers": ["seccomp"], "missing": []}
ERROR = {"kind": "script", "name": "E", "message": "m", "stack": None, "line": 1, "column": 2, "code": None}


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_well_formed_messages_are_read_field_by_field() -> None:
    turn = parse_turn(encoded(TURN))
    assert (turn.calls[0].id, turn.calls[0].method, turn.calls[0].args, turn.calls[0].line) == (1, "grep", ["x"], 3)
    assert turn.held == [(2, "read", None)]
    assert turn.notes.logs == [("log", "hi")]
    done = parse_done(encoded(DONE))
    assert (done.ok, done.value, done.cpu_ms, done.peak_memory_bytes) == (True, 1, 1.5, 10)
    assert parse_ready(encoded(READY)).layers == ["seccomp"]


PATHS = [
    ("calls", 0, "id"),
    ("calls", 0, "method"),
    ("calls", 0, "args"),
    ("calls", 0, "line"),
    ("calls", 0, "trouble"),
    ("held", 0),
    ("wake",),
    ("notes",),
    ("notes", "logs", 0),
    ("notes", "lost"),
    ("notes", "progress", 0),
    ("notes", "warnings"),
]
WRONG = [True, -1, 2**60, "x" * 600, {"a": 1}, [1], [[]], 1.5, {"__proto__": None}]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_field_of_the_wrong_kind_is_refused_or_is_the_right_kind_after_all(path: tuple[Any, ...], wrong: Any) -> None:
    body = json.loads(json.dumps(TURN))
    at = body
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = wrong
    allowed = {
        ("calls", 0, "args"): list,
        ("wake",): (int, float),
    }.get(path)
    if (allowed and isinstance(wrong, allowed) and not isinstance(wrong, bool)) and wrong != 2**60:
        parse_turn(encoded(body))
    else:
        with pytest.raises(ProtocolError):
            parse_turn(encoded(body))


@pytest.mark.parametrize("key", ["calls", "held", "wake", "notes"])
def test_a_missing_or_an_extra_key_is_refused(key: str) -> None:
    with pytest.raises(ProtocolError):
        parse_turn(encoded({name: value for name, value in TURN.items() if name != key}))
    with pytest.raises(ProtocolError):
        parse_turn(encoded({**TURN, "approved": True}))


def test_an_end_with_both_a_value_and_an_error_is_refused() -> None:
    with pytest.raises(ProtocolError):
        parse_done(encoded({**DONE, "end": {**END, "error": ERROR}}))
    with pytest.raises(ProtocolError):
        parse_done(encoded({**DONE, "end": {**END, "ok": False}}))


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"null", b"\xff", b'{"a":NaN}', b"[" * 100_000, b'"' + b"x" * 10])
def test_what_is_no_json_object_is_refused(text: bytes) -> None:
    for parse in (parse_turn, parse_done, parse_ready):
        with pytest.raises(ProtocolError):
            parse(text)


@settings(max_examples=400)
@given(st.data())
def test_mutated_frames_give_a_message_or_a_protocol_error_and_nothing_else(data: st.DataObject) -> None:
    """Reliability F3: mutations of real frames, judged quickly and without any other exception."""
    source, parse = data.draw(st.sampled_from([(TURN, parse_turn), (DONE, parse_done), (READY, parse_ready)]))
    wire = bytearray(encoded(source))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(wire) - 1))
        action = data.draw(st.sampled_from(["set", "cut", "insert", "double"]))
        if action == "set":
            wire[at] = data.draw(st.integers(0, 255))
        elif action == "cut" and len(wire) > 2:
            del wire[at : at + data.draw(st.integers(1, 8))]
        elif action == "insert":
            wire[at:at] = data.draw(st.binary(max_size=8))
        else:
            wire[at:at] = wire[at : at + 20]
        if not wire:
            wire = bytearray(b"{")
    begun = time.monotonic()
    try:
        parse(bytes(wire))
    except ProtocolError:
        pass
    assert time.monotonic() - begun < 1


def test_a_settle_that_holds_an_integer_beyond_a_double_is_flagged() -> None:
    assert encode_settle(1, 2, 3, [b'[1,1,{"n":5}]']) == (
        False,
        b'{"now":1,"left":2,"calls_left":3,"settled":[[1,1,{"n":5}]]}',
    )
    assert encode_settle(1, 2, 3, [b"[1,1,9007199254740993]"])[0] is True


def test_start_carries_the_world_of_the_script_as_text() -> None:
    payload = encode_start(
        "src",
        {"cpu_ms": 1},
        methods=["a"],
        tools=["b"],
        seed=[1],
        now_ms=5,
        left_ms=6,
        inputs=b'{"n":12345678901234567}',
    )
    start = json.loads(payload)
    assert (start["source"], start["limits"]) == ("src", {"cpu_ms": 1})
    assert json.loads(start["setup"])["inputs"] == '{"n":12345678901234567}'
    assert json.loads(start["setup"])["big"] is True


@pytest.mark.parametrize("kind", ["cancelled", "timeout", "denied", "suspended", "", None, ["cpu"]])
def test_a_guest_cannot_name_an_end_that_only_the_host_can_know(kind: Any) -> None:
    end = {**END, "ok": False, "value": None, "error": {**ERROR, "kind": kind}}
    with pytest.raises(ProtocolError):
        parse_done(encoded({**DONE, "end": end}))

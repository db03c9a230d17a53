"""The network guard and the wire tap, proven from inside a confined process before any case relies on them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.attacks.guard import PUBLIC_ALIAS, Guard
from tests.attacks.runner import case_base, obstacle, run_job
from tests.attacks.tap import Tap

pytestmark = pytest.mark.skipif(bool(obstacle()), reason=f"no confined process can be run here: {obstacle()}")


@pytest.fixture(scope="module")
def tried() -> dict[str, Any]:
    with case_base() as base:
        done = run_job(base, "tests.attacks.probes:guarded", 20)
    assert done.died is None, done.streams
    return dict(done.report)


@pytest.mark.promise("P2")
@pytest.mark.parametrize("way", ["fixture by its own address", "other listener", "raw", "datagram", "localhost"])
def test_the_guard_refuses_every_way_out_but_the_alias(tried: dict[str, Any], way: str) -> None:
    assert tried["attempts"][way] == "ConnectionRefusedError"


def test_a_refusal_told_by_number_is_told_by_number(tried: dict[str, Any]) -> None:
    assert tried["attempts"]["connect_ex"] == "111"


def test_the_alias_and_names_that_lead_to_it_reach_the_fixture(tried: dict[str, Any]) -> None:
    assert tried["attempts"]["public name"] == tried["attempts"]["public alias"] == "connected"


def test_names_are_answered_by_the_stub_alone(tried: dict[str, Any]) -> None:
    assert tried["attempts"]["unknown name"] == tried["attempts"]["C resolver"] == "gaierror"
    assert tried["turns"] == [PUBLIC_ALIAS, "127.0.0.1", "127.0.0.1"]


def test_sockets_between_processes_of_this_machine_are_left_alone(tried: dict[str, Any]) -> None:
    assert tried["attempts"]["unix"] == "x"


def test_every_try_is_on_record_with_whether_its_address_is_public(tried: dict[str, Any]) -> None:
    told = [(row["address"], row["public"]) for row in tried["connects"]]

    assert told.count((PUBLIC_ALIAS, True)) == 2
    assert told.count(("127.0.0.1", False)) == 4
    assert told.count(("10.0.0.1", False)) == 2
    assert len(told) == 8


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("[::1]", ["::1"]),
        ("127.0.0.1.", ["127.0.0.1"]),
        ("LOCALHOST.", ["127.0.0.1"]),
        ("sub.localhost", ["127.0.0.1"]),
        ("public.test", [PUBLIC_ALIAS, "10.0.0.1"]),
        ("unknown.test", []),
    ],
)
def test_the_stub_answers_literals_loopback_names_and_the_names_of_the_case(name: str, answers: list[str]) -> None:
    assert Guard(dns={"public.test": ["public", "10.0.0.1"]}).answers(name) == answers


def test_the_tap_sees_every_call_that_sends_to_a_unix_socket_and_no_other_traffic() -> None:
    with case_base() as base:
        done = run_job(base, "tests.attacks.probes:tapped", 20)

    assert done.report == ["a", "b", "c", "d", "e", "needle-split", "ä-umlaut"], done.streams


def test_a_needle_split_at_any_point_is_seen_and_one_spread_over_two_streams_is_not() -> None:
    needle = "canary123"
    for cut in range(1, len(needle)):
        tap = Tap([needle])
        tap.look(3, f"..{needle[:cut]}".encode())
        tap.look(4, f"{needle[cut:]}..".encode())
        assert tap.seen == set()
        tap.look(3, f"{needle[cut:]}..".encode())
        assert tap.seen == {needle}

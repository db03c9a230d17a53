"""Which addresses are public, and that a name is judged by all of its addresses, once."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.web.access import WebAccess
from ptc.web.guard import Guard, is_public


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "93.184.216.34",
        "172.15.0.1",
        "172.32.0.1",
        "100.63.0.1",
        "100.128.0.1",
        "223.255.255.255",
        "2606:4700::1111",
        "2a00:1450::1",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
    ],
)
def test_addresses_of_the_public_internet_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.100.100.200",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "168.63.129.16",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a00:1",
        "64:ff9b:1::808:808",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:808:808::",
        "3fff::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%eth0",
        "2606:4700::1111%eth0",
        "fec0::1",
        "ff02::1",
        "5f00::1",
        "",
        "localhost",
        "1.2.3",
        "8.8.8.8:80",
    ],
)
@pytest.mark.promise("P2")
def test_every_other_address_is_not(address: str) -> None:
    assert not is_public(address)


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_nothing_is_public_that_the_standard_library_says_is_not(address: Any) -> None:
    if is_public(str(address)) and not isinstance(address, ipaddress.IPv4Address):
        assert address.is_global or address.ipv4_mapped or address in ipaddress.ip_network("64:ff9b::/96")
    elif is_public(str(address)):
        assert address.is_global
        assert not address.is_multicast


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """A resolver with answers of the test's choice; each name's lookups are counted under `<name> lookups`."""
    known: dict[str, list[str]] = {}

    def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        known.setdefault(f"{host} lookups", []).append("")
        if host not in known:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [(0, 0, 0, "", (address, port)) for address in known[host]]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return known


def asked(host: str, port: int = 80, **access: Any) -> list[str]:
    async def ask() -> list[str]:
        with anyio.fail_after(10):
            return await Guard(WebAccess(**access)).addresses(host, port)

    return anyio.run(ask)


def refusal(call: Callable[[], object]) -> ToolError:
    with pytest.raises(ToolError) as caught:
        call()
    return caught.value


@pytest.mark.promise("P2")
@pytest.mark.parametrize(
    "answers", [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["::1", "8.8.8.8"], ["8.8.8.8", "fe80::1%2"], ["2002:7f00:1::"]]
)
def test_a_name_is_refused_if_any_of_its_addresses_is_not_public(
    names: dict[str, list[str]], answers: list[str]
) -> None:
    names["mixed.test"] = answers

    error = refusal(lambda: asked("mixed.test"))

    assert error.code == "url_target_blocked"
    assert not error.retryable
    assert not any(answer in error.message for answer in answers), "an answer would map the host's network"
    assert "allow=('mixed.test:80',)" in error.message


def test_a_name_with_public_addresses_is_looked_up_once_and_gives_them_in_order(names: dict[str, list[str]]) -> None:
    names["public.test"] = ["2606:4700::1111", "8.8.8.8", "8.8.8.8"]

    assert asked("public.test") == ["2606:4700::1111", "8.8.8.8"]
    assert len(names["public.test lookups"]) == 1


def test_a_name_without_an_address_is_a_failure_that_may_pass(names: dict[str, list[str]]) -> None:
    error = refusal(lambda: asked("nowhere.test"))

    assert (error.code, error.retryable) == ("web_dns_failed", True)


def test_a_port_that_is_not_open_is_refused_before_anything_is_looked_up(names: dict[str, list[str]]) -> None:
    error = refusal(lambda: asked("public.test", 6379))

    assert error.code == "url_target_blocked"
    assert "80, 443" in error.message
    assert names == {}


def test_a_server_that_the_host_vouches_for_is_reached_whatever_its_address(names: dict[str, list[str]]) -> None:
    names["wiki.corp"] = ["10.0.0.1"]

    assert asked("wiki.corp", 8080, allow=("WIKI.corp:8080",)) == ["10.0.0.1"]
    assert refusal(lambda: asked("wiki.corp", 80, allow=("wiki.corp:8080",))).code == "url_target_blocked"


@pytest.mark.parametrize(
    ("host", "admitted"),
    [
        ("docs.python.org", True),
        ("a.example.com", True),
        ("a.b.example.com", True),
        ("example.com", False),
        ("badexample.com", False),
        ("docs.python.org.evil.test", False),
    ],
)
def test_with_only_no_other_host_is_reached(names: dict[str, list[str]], host: str, admitted: bool) -> None:
    names[host] = ["8.8.8.8"]
    only = ("docs.python.org", "*.EXAMPLE.com")

    if admitted:
        assert asked(host, only=only) == ["8.8.8.8"]
    else:
        error = refusal(lambda: asked(host, only=only))
        assert error.code == "url_target_blocked"
        assert "docs.python.org" in error.message

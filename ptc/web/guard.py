"""Where a connection may go, judged on addresses at the moment of connecting (promise P2).

Text cannot be judged: `http://0x7f.1/`, a name that resolves to 127.0.0.1, or one that answers the check with a public
address and the connection with a private one, all mean this machine. So a name is resolved once, the answer is refused
if any address in it is not public, and the connection is made to an address that was checked. The rule sits below
HTTP, so that every redirect passes it again.

The tables of networks are the IANA special-purpose registries, written out because `ipaddress.is_global` differs
between versions of Python and lets multicast and the tunnels to private addresses pass.
"""

from __future__ import annotations

import ipaddress
import socket
from functools import partial
from typing import Final

import anyio.to_thread

from ptc.errors import ToolError
from ptc.values import show
from ptc.web.access import WebAccess

__all__ = ["Guard", "is_public"]

_NOT_PUBLIC_4: Final = tuple(
    (int(network.network_address), int(network.netmask))
    for network in map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",
            "100.64.0.0/10",  # shared by a provider's customers; metadata servers
            "127.0.0.0/8",
            "169.254.0.0/16",  # link-local; metadata servers
            "172.16.0.0/12",
            "192.0.0.0/24",  # protocol assignments; metadata servers
            "192.0.2.0/24",
            "192.31.196.0/24",  # anycast of AS112, AMT and the old 6to4 relays
            "192.52.193.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "192.175.48.0/24",
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and the broadcast address
            "168.63.129.16/32",  # public by its number, but the host agent of every Azure machine
        ),
    )
)
_PUBLIC_6: Final = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_6: Final = tuple(
    map(
        ipaddress.IPv6Network,
        (
            "2001::/23",  # protocol assignments, Teredo among them: it carries IPv4 of any kind
            "2001:db8::/32",
            "2002::/16",  # 6to4 carries IPv4 of any kind
            "2620:4f:8000::/48",  # AS112
            "3fff::/20",
        ),
    )
)
_MAPPED: Final = ipaddress.IPv6Network("::ffff:0:0/96")
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")


def is_public(address: str) -> bool:
    """Whether an IP address, as text, is one of the public internet. False for what is no address.

    An IPv4 address inside an IPv6 one (mapped, or NAT64, the way to IPv4 of networks that have none) is judged itself.
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.scope_id is not None:
            return False
        if ip not in _MAPPED and ip not in _NAT64:
            return ip in _PUBLIC_6 and not any(ip in network for network in _NOT_PUBLIC_6)
        ip = ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)
    number = int(ip)
    return not any(number & mask == network for network, mask in _NOT_PUBLIC_4)


class Guard:
    """The rule of one session's web access."""

    def __init__(self, access: WebAccess) -> None:
        self._access = access

    async def addresses(self, host: str, port: int) -> list[str]:
        """The addresses, in the resolver's order, that a connection to host and port may be made to; at least one.

        Raises ToolError `url_target_blocked` if the host, its port or any of its addresses is not allowed, and
        `web_dns_failed` if the host has no address.
        """
        trusted = self.judge(host, port)
        found = await _resolve(host, port)
        if not trusted:
            for address in found:
                if not is_public(address):
                    # The address itself stays untold: it would map the host's network for whoever asks.
                    raise _blocked(
                        f"{show(host, 120)} leads to an address that is not public. Fetch a page of the public web; "
                        f"the host of this session can admit this server with allow=('{_authority(host, port)}',).",
                        host,
                    )
        return found

    def judge(self, host: str, port: int) -> bool:
        """Judge what is known before resolving. True if the host of the session vouches for the server."""
        access = self._access
        if f"{host}:{port}" in access.allow:
            return True
        if not access.admits_host(host):
            assert access.only is not None
            raise _blocked(
                f"{show(host, 120)} is not among the hosts of this session: {', '.join(access.only)[:300] or 'none'}.",
                host,
            )
        if port not in access.ports:
            raise _blocked(
                f"port {port} is not open to this session; use one of {', '.join(map(str, access.ports)) or 'none'}. "
                f"The host of this session can admit this server with allow=('{_authority(host, port)}',).",
                host,
            )
        return False


async def _resolve(host: str, port: int) -> list[str]:
    look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    try:
        # A resolver may take half a minute; a cancelled caller goes on and leaves the thread to end by itself.
        rows = await anyio.to_thread.run_sync(look_up, abandon_on_cancel=True)
    except (OSError, UnicodeError):
        rows = []
    found = list(dict.fromkeys(str(row[4][0]) for row in rows))
    if not found:
        raise ToolError(
            "web_dns_failed",
            f"the host {show(host, 120)} has no address. Check its spelling; if it is right, try again later.",
            details={"host": host},
        )
    return found


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _blocked(why: str, host: str) -> ToolError:
    return ToolError("url_target_blocked", why[0].upper() + why[1:], details={"host": host})

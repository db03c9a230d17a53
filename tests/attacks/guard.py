"""The network guard: nothing in the host process connects anywhere, and every try is on record.

Two layers. An audit hook sees each connect and each addressed send below every Python wrapper, cannot be removed once
set, and refuses all but the fixture. Above it a stub stands in for the resolver, and one public address literal is
taken to the fixture, so that the package can be shown a public server without a packet leaving loopback.

Child processes are fenced by the supervisor instead: in a network namespace of their own, where the system grants one.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

__all__ = ["PUBLIC_ALIAS", "Guard"]

# A routable literal, so that the package's own address checks let it pass; no packet is ever sent to it.
PUBLIC_ALIAS: Final = "93.184.216.34"
_SENDS: Final = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_LOOKUPS: Final = frozenset(
    {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"}
)


class Guard:
    """Record and refuse.

    fixture: port on 127.0.0.1 that the alias leads to; None refuses the alias as well
    dns: answers per name; "public" stands for the alias. `_mode` holds names whose answers are dealt
    `one_answer_per_query_in_turn` instead of all at once
    connects: each address asked for, `{"address", "port", "public"}`, in order
    """

    def __init__(self, *, fixture: int | None = None, dns: Mapping[str, Any] | None = None) -> None:
        names = dict(dns or {})
        self._modes: Mapping[str, str] = names.pop("_mode", {})
        self._names: Mapping[str, Sequence[str]] = names
        self._asked: Counter[str] = Counter()
        self._fixture = fixture
        self._tickets = 0  # connects to the fixture that the alias has earned; its own address earns none
        self.connects: list[dict[str, Any]] = []

    def install(self) -> None:
        """Guard this process until it ends. There is no way back, by the nature of audit hooks."""
        guard = self
        real_connect, real_connect_ex = socket.socket.connect, socket.socket.connect_ex

        def connect(self: socket.socket, address: Any) -> None:
            real_connect(self, guard._admit(self, address))

        def connect_ex(self: socket.socket, address: Any) -> int:
            try:
                return real_connect_ex(self, guard._admit(self, address))
            except ConnectionRefusedError as refusal:  # this call tells by number
                return refusal.errno or errno.ECONNREFUSED

        setattr(socket.socket, "connect", connect)  # noqa: B010 - a plain assignment to a method is a type error
        setattr(socket.socket, "connect_ex", connect_ex)  # noqa: B010
        setattr(socket, "getaddrinfo", self.getaddrinfo)  # noqa: B010
        sys.addaudithook(self._audit)

    def _admit(self, sock: socket.socket, address: Any) -> Any:
        """The address to connect to really; the alias becomes the fixture. Everything else is left to the hook."""
        if sock.family == socket.AF_INET and address[0] == PUBLIC_ALIAS and self._fixture is not None:
            self._record(address)
            self._tickets += 1
            return ("127.0.0.1", self._fixture)
        return address

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if event in _LOOKUPS:
            raise socket.gaierror(socket.EAI_NONAME, "the network guard's resolver is a stub")
        if event in _SENDS:
            sock, address = args[0], args[1]
            if address is None or sock.family == socket.AF_UNIX:
                return
            if self._tickets and address == ("127.0.0.1", self._fixture):
                self._tickets -= 1
                return
            self._record(address)
            raise ConnectionRefusedError(errno.ECONNREFUSED, "refused by the network guard")

    def _record(self, address: Any) -> None:
        host, port = (str(address[0]), address[1]) if isinstance(address, tuple) else (str(address), 0)
        try:
            public = ipaddress.ip_address(host.split("%")[0]).is_global
        except ValueError:
            public = False
        self.connects.append({"address": host, "port": port, "public": public})

    def answers(self, name: str) -> list[str]:
        """The stub's addresses of a name: a literal is itself, `localhost` is loopback, unknown names have none."""
        host = name.strip("[]").rstrip(".").lower()
        try:
            return [str(ipaddress.ip_address(host))]
        except ValueError:
            pass
        if host == "localhost" or host.endswith(".localhost"):
            return ["127.0.0.1"]
        listed = [PUBLIC_ALIAS if answer == "public" else answer for answer in self._names.get(host, ())]
        if listed and self._modes.get(host) == "one_answer_per_query_in_turn":
            turn = self._asked[host]
            self._asked[host] += 1
            return [listed[min(turn, len(listed) - 1)]]
        return listed

    def getaddrinfo(
        self,
        host: bytes | str | None,
        port: bytes | str | int | None,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> list[tuple[Any, ...]]:
        """Stands in for `socket.getaddrinfo`. Raises gaierror for a name that the stub does not know."""
        name = host.decode() if isinstance(host, bytes) else (host or "127.0.0.1")
        rows: list[tuple[Any, ...]] = []
        for answer in self.answers(name):
            four = ipaddress.ip_address(answer).version == 4
            kind = socket.AF_INET if four else socket.AF_INET6
            where = (answer, int(port or 0)) if four else (answer, int(port or 0), 0, 0)
            if family in (0, kind):
                rows.append((kind, type or socket.SOCK_STREAM, proto or socket.IPPROTO_TCP, "", where))
        if not rows:
            raise socket.gaierror(socket.EAI_NONAME, f"the stub resolver has no answer for {name[:80]!r}")
        return rows

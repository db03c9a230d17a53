"""A fixture server on loopback for every test that needs one, and a client that may reach it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from ptc.web.access import WebAccess
from ptc.web.robots import web_client
from tests.attacks.server import serve


@dataclass
class Server:
    """`authority` is what an access record allows, `url(path)` an address on the server, `requests` what it saw."""

    port: int
    requests: list[dict[str, Any]] = field(default_factory=list)

    @property
    def authority(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return f"http://{self.authority}{path}"

    def paths(self) -> list[str]:
        return [row["path"] for row in self.requests]


def start() -> tuple[Server, socket.socket]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(listener.getsockname()[1])
    threading.Thread(
        target=serve, args=(listener, server.requests.append), kwargs={"secret": "s3cret"}, daemon=True
    ).start()
    return server, listener


def stop(listener: socket.socket) -> None:
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


@pytest.fixture
def server() -> Iterator[Server]:
    served, listener = start()
    yield served
    stop(listener)


@pytest.fixture
def other_server() -> Iterator[Server]:
    served, listener = start()
    yield served
    stop(listener)


@pytest.fixture
def client(server: Server) -> Callable[..., Any]:
    """Makes a client that may reach the server; options are those of WebAccess."""

    def make(**options: Any) -> Any:
        allow = (*options.pop("allow", ()), server.authority)
        return web_client(WebAccess(allow=allow, **options))

    return make

"""HTTPS against a real server: the certificate must be good, and be that of the name that was asked for."""

from __future__ import annotations

import contextlib
import gc
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from ptc.errors import ToolError
from ptc.web.access import WebAccess
from ptc.web.client import WebClient
from ptc.web.url import parse_url
from tests.attacks.server import serve

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the program openssl to make certificates"),
]


class _Listener:
    """Accepts TLS connections; one whose handshake fails is dropped, as a server does."""

    def __init__(self, listener: socket.socket, context: ssl.SSLContext) -> None:
        self._listener = listener
        self._context = context

    def accept(self) -> Any:
        while True:
            connection, address = self._listener.accept()
            with contextlib.suppress(OSError):
                connection.settimeout(5)
                return self._context.wrap_socket(connection, server_side=True), address


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`cert.pem` and `key.pem` of a server named localhost; the certificate is its own authority."""
    folder = tmp_path_factory.mktemp("tls")
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem"]
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(
        ["openssl", "req", "-x509", *key, "-out", "cert.pem", "-days", "2", *subject],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=60,
    )
    return folder


@pytest.fixture
def port(certificates: Path) -> Iterator[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "cert.pem", certificates / "key.pem")
    listener = socket.create_server(("127.0.0.1", 0))
    wrapped: Any = _Listener(listener, context)
    threading.Thread(target=serve, args=(wrapped, lambda row: None), kwargs={"secret": "s"}, daemon=True).start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


async def fetch(port: int, host: str, ca_file: str | None, timeout_s: float = 15) -> bytes:
    client = WebClient(WebAccess(allow=(f"{host}:{port}",), ca_file=ca_file, timeout_s=timeout_s))
    with anyio.fail_after(20):
        return (await client.get(parse_url(f"https://{host}:{port}/ok"))).body


async def test_a_page_comes_from_a_server_whose_authority_the_host_trusts(port: int, certificates: Path) -> None:
    assert await fetch(port, "localhost", str(certificates / "cert.pem")) == b"ok"


async def test_a_certificate_of_an_unknown_authority_is_refused_for_good(port: int) -> None:
    with pytest.raises(ToolError) as caught:
        await fetch(port, "localhost", None)

    assert (caught.value.code, caught.value.retryable) == ("web_tls_failed", False)
    assert "certificate" in caught.value.message


async def test_a_certificate_of_another_name_is_refused(port: int, certificates: Path) -> None:
    with pytest.raises(ToolError) as caught:
        await fetch(port, "127.0.0.1", str(certificates / "cert.pem"))

    assert caught.value.code == "web_tls_failed"


async def test_a_handshake_that_is_not_answered_is_given_up_and_leaves_no_connection(server: Any) -> None:
    """The pool below forgets a connection whose handshake is cancelled; an unclosed one is a warning, thus an error."""
    with pytest.raises(ToolError) as caught:
        await fetch(server.port, "127.0.0.1", None, timeout_s=0.3)

    assert caught.value.code == "timeout"
    gc.collect()


async def test_a_server_that_speaks_no_tls_is_refused() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_greet, args=(listener,), daemon=True).start()
    with pytest.raises(ToolError) as caught:
        await fetch(listener.getsockname()[1], "127.0.0.1", None)
    listener.close()

    assert caught.value.code == "web_tls_failed"


def _greet(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(4_096)
        connection.sendall(b"220 mail.test ESMTP ready\r\n")

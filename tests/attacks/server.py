"""The fixture server: HTTP/1.1 as it should be, and in every way that it should not.

It speaks to sockets and not through a library, because half of what it sends no library would send. Each request is
answered on a connection of its own. The routes are listed in `ROUTES`; a case gives their details in the query.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

__all__ = ["ROUTES", "forked", "serve"]

Query: TypeAlias = Mapping[str, str]
Send: TypeAlias = Callable[[bytes], None]
_MIB: Final = 1024 * 1024
_HEAD_BYTES: Final = 64 * 1024
# Nothing that is sent without end is sent for ever: a client that never lets go must not keep a thread.
_PATIENCE_S: Final = 20.0


@contextmanager
def forked(listener: socket.socket, secret: str) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Serve in a process of its own; gives a function that tells the requests so far.

    Fork before there are threads. The requests stand in memory that both processes hold, so a record never waits for
    its reader and no file appears.
    """
    memory = os.memfd_create("requests")
    pid = os.fork()
    if pid == 0:
        try:
            serve(listener, lambda row: _append(memory, row), secret=secret)
        finally:
            os._exit(0)

    def requests() -> list[dict[str, Any]]:
        data = os.pread(memory, os.fstat(memory).st_size, 0)
        return [json.loads(line) for line in data.splitlines()]

    try:
        yield requests
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(memory)


def _append(memory: int, row: dict[str, Any]) -> None:
    os.lseek(memory, 0, os.SEEK_END)
    os.write(memory, json.dumps(row).encode() + b"\n")


def serve(listener: socket.socket, record: Callable[[dict[str, Any]], None], *, secret: str) -> None:
    """Answer until the listener is closed. `record` is given each request as `{method, path, host, headers}`."""
    lock = threading.Lock()

    def locked(row: dict[str, Any]) -> None:
        with lock:
            record(row)

    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_answer, args=(connection, locked, secret), daemon=True).start()


def _answer(connection: socket.socket, record: Callable[[dict[str, Any]], None], secret: str) -> None:
    with connection, contextlib.suppress(OSError, ValueError):
        connection.settimeout(_PATIENCE_S)
        head = b""
        while b"\r\n\r\n" not in head:
            piece = connection.recv(_HEAD_BYTES)
            if not piece or len(head) > _HEAD_BYTES:
                return
            head += piece
        line, *rows = head.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
        method, target, _ = line.split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (row.partition(":") for row in rows)}
        host = headers.get("host", "")
        record({"method": method, "path": target, "host": host.rpartition(":")[0] or host, "headers": headers})
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        route = ROUTES.get(parts.path, _not_found)
        route(connection.sendall, {**query, "_secret": secret, "_host": host, "_line": line})
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(_HEAD_BYTES):  # closing with unread data would destroy what was sent
            pass


def _reply(
    send: Send, body: bytes, *, status: str = "200 OK", type: str = "text/plain; charset=utf-8", more: str = ""
) -> None:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {type}\r\nContent-Length: {len(body)}\r\n{more}Connection: close\r\n\r\n"
    )
    send(head.encode() + body)


def _open_ended(send: Send, pieces: Iterator[bytes], *, encoding: str = "") -> None:
    """A body that ends with the connection."""
    coding = f"Content-Encoding: {encoding}\r\n" if encoding else ""
    send(f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n{coding}Connection: close\r\n\r\n".encode())
    end = time.monotonic() + _PATIENCE_S
    for piece in pieces:
        if time.monotonic() > end:
            return
        send(piece)


def _ok(send: Send, query: Query) -> None:
    _reply(send, query.get("text", "ok").encode() * int(query.get("times", 1)))


def _secret(send: Send, query: Query) -> None:
    _reply(send, query["_secret"].encode())


def _not_found(send: Send, query: Query) -> None:
    _reply(send, b"<html><body><h1>Not here</h1></body></html>", status="404 Not Found", type="text/html")


def _error(send: Send, query: Query) -> None:
    retry = f"Retry-After: {query['retry']}\r\n" if "retry" in query else ""
    _reply(send, b"broken", status=f"{query.get('status', '500')} Trouble", more=retry)


def _record(send: Send, query: Query) -> None:
    _reply(send, query["_line"].encode())


def _redirect(send: Send, query: Query) -> None:
    _reply(send, b"", status=f"{query.get('status', '302')} Found", more=f"Location: {query['to']}\r\n")


def _redirect_loop(send: Send, query: Query) -> None:
    _redirect(send, {**query, "to": "/redirect-loop"})


def _redirect_chain(send: Send, query: Query) -> None:
    left = int(query["n"])
    _redirect(send, {**query, "to": f"/redirect-chain?n={left - 1}" if left else "/ok"})


def _compressed(coding: str, wbits: int) -> Callable[[Send, Query], None]:
    def route(send: Send, query: Query) -> None:
        packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS if "bare" in query else wbits)
        if "mb" not in query:
            data = packer.compress(query.get("text", "ok").encode()) + packer.flush()
            data = data[: -int(query["cut"])] if "cut" in query else data
            _reply(send, data * int(query.get("times", 1)), more=f"Content-Encoding: {coding}\r\n")
            return
        zeros = bytes(_MIB)
        _open_ended(send, (packer.compress(zeros) for _ in range(int(query["mb"]))), encoding=coding)

    return route


def _encoding(send: Send, query: Query) -> None:
    _reply(send, b"\x0b\x02\x80ok\x03", more=f"Content-Encoding: {query['name']}\r\n")


def _endless(send: Send, query: Query) -> None:
    _open_ended(send, iter(lambda: b"x" * 65_536, b""))


def _drip(send: Send, query: Query) -> None:
    def drops() -> Iterator[bytes]:
        while True:
            yield b"x"
            time.sleep(int(query.get("ms", 50)) / 1_000)

    _open_ended(send, drops())


def _headers(send: Send, query: Query) -> None:
    send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n")
    for number in range(int(query.get("count", 0))):
        send(b"X-%d: value\r\n" % number)
    if "size" in query:
        send(b"X-Long: " + b"v" * int(query["size"]) + b"\r\n")
    end = time.monotonic() + _PATIENCE_S
    while "endless" in query and time.monotonic() < end:
        send(b"X-More: and more\r\n" * 100)
    send(b"\r\nok")


def _length(send: Send, query: Query) -> None:
    send(f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {query['claim']}\r\n\r\n".encode())
    send(b"x" * int(query["send"]))


def _close(send: Send, query: Query) -> None:
    send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(int(query["after"])):
        send(b"4\r\ndata\r\n")


def _charset(send: Send, query: Query) -> None:
    """The given text in one encoding, under the label that header and page give for it."""
    body = query["text"].encode(query["codec"])
    if "meta" in query:
        body = f'<meta charset="{query["meta"]}"><p>'.encode() + body
    label = f"; charset={query['label']}" if "label" in query else ""
    _reply(send, body, type=f"text/html{label}")


def _html(send: Send, query: Query) -> None:
    default = "<!doctype html><title>A page</title><nav>menu</nav><main><h1>Head</h1><p>Body text.</p></main>"
    _reply(send, query.get("body", default).encode(), type=query.get("type", "text/html; charset=utf-8"))


def _xml(send: Send, query: Query) -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>'
    _reply(send, bomb.encode(), type="application/xml")


_RAW: Final[dict[str, bytes]] = {
    "status": b"HTTP/1.1 banana\r\n\r\n",
    "empty": b"",
    "binary": bytes(range(256)) * 4,
    "smuggle": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx",
    "http09": b"<html>just a body</html>",
    "fold": b"HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\nContent-Length: 2\r\n\r\nok",
}


def _raw(send: Send, query: Query) -> None:
    send(_RAW[query["case"]])


def _bytes(send: Send, query: Query) -> None:
    """The bytes that the query spells, under any media type."""
    _reply(send, unquote(query["body"], "latin-1").encode("latin-1"), type=query["type"])


ROUTES: Final[dict[str, Callable[[Send, Query], None]]] = {
    "/ok": _ok,
    "/secret": _secret,
    "/404": _not_found,
    "/500": _error,
    "/record": _record,
    "/redirect": _redirect,
    "/redirect-loop": _redirect_loop,
    "/redirect-chain": _redirect_chain,
    "/gzip": _compressed("gzip", 16 + zlib.MAX_WBITS),
    "/deflate": _compressed("deflate", zlib.MAX_WBITS),
    "/encoding": _encoding,
    "/endless": _endless,
    "/drip": _drip,
    "/headers": _headers,
    "/length": _length,
    "/close": _close,
    "/charset": _charset,
    "/html": _html,
    "/xml": _xml,
    "/raw": _raw,
    "/bytes": _bytes,
}

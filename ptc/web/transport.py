"""The one transport: httpx2 over connections that the guard has admitted.

The guard is put in where a connection is made, by the public seam of the pool, and nowhere else: whatever the layers
above believe the host to be, the address that is dialled is one that was checked. The host name stays what it was for
TLS and the Host header.

Importing httpx2 takes 80 ms; this module is imported when the first page is fetched.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import httpcore2
import httpx2

from ptc.web.guard import Guard

__all__ = ["GuardedTransport"]

# Where the first address of a host does not answer (IPv6 without a route), another one gets its turn in time.
_ATTEMPT_S: Final = 5.0


class GuardedTransport(httpx2.AsyncBaseTransport):
    """An httpx2 transport for HTTP/1.1 that opens only connections that the guard admits. It keeps none open.

    Raises the guard's ToolError, or the httpx2 exception of the failure.
    """

    def __init__(self, guard: Guard, ssl_context: ssl.SSLContext) -> None:
        self._network = _CheckedBackend(guard)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=ssl_context,
            max_keepalive_connections=0,
            http2=False,
            retries=0,
            network_backend=self._network,
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        with _as_httpx():
            response = await self._pool.handle_async_request(
                httpcore2.Request(
                    method=request.method,
                    url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        return httpx2.Response(response.status, headers=response.headers, stream=_Body(response), request=request)

    async def aclose(self) -> None:
        await self._pool.aclose()
        await self._network.aclose()


class _Body(httpx2.AsyncByteStream):
    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert isinstance(self._response.stream, AsyncIterable)
        with _as_httpx():
            async for piece in self._response.stream:
                yield piece

    async def aclose(self) -> None:
        await self._response.aclose()


class _CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Opens TCP connections, to checked addresses only; there is no other way out of the pool."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._network = httpcore2.AnyIOBackend()
        self._opened: list[httpcore2.AsyncNetworkStream] = []

    async def aclose(self) -> None:
        """Close what was opened. The pool forgets a connection whose TLS handshake is cancelled."""
        while self._opened:
            await self._opened.pop().aclose()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        failure: Exception | None = None
        for address in await self._guard.addresses(host, port):
            try:
                stream = await self._network.connect_tcp(address, port, _ATTEMPT_S, local_address, socket_options)
                self._opened.append(stream)
                return stream
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        assert failure is not None
        raise failure


@contextmanager
def _as_httpx() -> Iterator[None]:
    """The exceptions of httpcore2 under their names in httpx2, which are the same."""
    try:
        yield
    except (httpcore2.ProtocolError, httpcore2.NetworkError, httpcore2.TimeoutException) as error:
        raise getattr(httpx2, type(error).__name__)(str(error)) from error

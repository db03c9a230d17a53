"""One request to one server, and what came back: the part of the client that knows the HTTP library.

Importing the library takes 80 ms; this module is imported when the first page is fetched.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from contextlib import aclosing
from typing import Final, NamedTuple

import anyio
import httpx2

from ptc.errors import ToolError
from ptc.values import show
from ptc.web.decoding import ContentDecoder
from ptc.web.guard import Guard
from ptc.web.transport import GuardedTransport
from ptc.web.url import Url

__all__ = ["Answer", "exchange"]

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_CLOSE_S: Final = 1.0


class Answer(NamedTuple):
    """A response. `location` is where a redirect leads, whose body is not read; None for every other response.

    headers: names in lower case; a repeated header is joined by ", "
    """

    status: int
    headers: dict[str, str]
    body: bytes
    location: str | None


async def exchange(
    url: Url, headers: Mapping[str, str], guard: Guard, ssl_context: ssl.SSLContext, max_bytes: int
) -> Answer:
    """GET one URL on a connection of its own. Raises ToolError as `WebClient.get`, but for redirects and time."""
    transport = GuardedTransport(guard, ssl_context)
    try:
        response = await transport.handle_async_request(httpx2.Request("GET", url.text, headers=dict(headers)))
        facts = {name: _text(response.headers, name) for name in response.headers}
        location = facts.get("location")
        if response.status_code in _REDIRECTS and location is not None:
            return Answer(response.status_code, facts, b"", location)
        return Answer(response.status_code, facts, await _read(response, facts, url, max_bytes), None)
    except httpx2.TransportError as error:
        raise _failure(error, url) from None
    finally:
        # Not more than a moment: a server that does not answer the farewell must not hold the caller.
        with anyio.move_on_after(_CLOSE_S, shield=True):
            await transport.aclose()


async def _read(response: httpx2.Response, headers: Mapping[str, str], url: Url, max_bytes: int) -> bytes:
    decoder = ContentDecoder(headers.get("content-encoding", ""))
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) > max_bytes:
        raise _too_large(url, max_bytes)
    pieces: list[bytes] = []
    size = wire = 0
    async with aclosing(response.aiter_raw()) as stream:
        async for raw in stream:
            wire += len(raw)
            for piece in decoder.feed(raw):
                size += len(piece)
                pieces.append(piece)
                if size > max_bytes:
                    break
            # What comes over the wire counts too: compressed data can be longer than what it holds, without end.
            if max(size, wire) > max_bytes:
                raise _too_large(url, max_bytes)
    decoder.finish()
    return b"".join(pieces)


def _text(headers: httpx2.Headers, name: str) -> str:
    """A header's text. Servers send UTF-8 and Latin-1 alike, whatever the standard says."""
    data = b", ".join(value for key, value in headers.raw if key.lower() == name.encode())
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _failure(error: httpx2.TransportError, url: Url) -> ToolError:
    """What the library raised, as the one error of its kind. The kind is decided by types."""
    server = show(url.authority, 120)
    details = {"url": url.text}
    cause: BaseException | None = error
    reason = "it was refused, lost or not answered"
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            told = cause.verify_message if isinstance(cause, ssl.SSLCertVerificationError) else cause.reason
            why = show(told or "broken off", 160)
            return ToolError("web_tls_failed", f"No secure connection to {server}: {why}.", details=details)
        if isinstance(cause, OSError) and cause.strerror:
            reason = cause.strerror
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx2.ProtocolError):
        return ToolError(
            "web_response_invalid",
            f"{server} broke off or did not speak HTTP: {show(str(error), 160)}.",
            details=details,
            retryable=True,
        )
    return ToolError(
        "web_connection_failed", f"The connection to {server} failed: {show(reason, 160)}.", details=details
    )


def _too_large(url: Url, max_bytes: int) -> ToolError:
    return ToolError(
        "response_too_large",
        f"{show(url.text, 200)} has more than {max_bytes:,} bytes, the most that is fetched. Look for a smaller page, "
        "or for a part of it with an address of its own.",
        details={"url": url.text, "max_bytes": max_bytes},
    )

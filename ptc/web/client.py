"""The one door to the web: one GET of one URL, redirects included, bounded in every direction.

A client of a library would keep cookies, follow redirects, read proxies and passwords from the environment and carry
headers along. None of that happens here: each hop is a request made from nothing, to a URL that was parsed and a
server that the guard admitted, with the headers that the host of the session gave to that very origin.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread

from ptc.errors import ToolError
from ptc.values import show
from ptc.web.access import WebAccess
from ptc.web.decoding import ACCEPTED
from ptc.web.guard import Guard
from ptc.web.url import Url, follow

if TYPE_CHECKING:
    from ptc.web.exchange import Answer

__all__ = ["Fetched", "Hop", "WebClient"]

_PAGES: Final = "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.8"


@dataclass(frozen=True, slots=True)
class Hop:
    """One redirect: the URL that gave it and its status."""

    url: str
    status: int

    def to_dict(self) -> dict[str, Any]:
        return {"url": self.url, "status": self.status}


@dataclass(frozen=True, slots=True)
class Fetched:
    """The answer to a fetch, whatever its status.

    url      where the answer came from, after redirects
    headers  names in lower case; a repeated header is joined by ", "
    body     whole, after decompression
    hops     the redirects that were followed, in order; empty without any
    """

    url: Url
    status: int
    headers: Mapping[str, str]
    body: bytes
    hops: tuple[Hop, ...] = ()

    @property
    def content_type(self) -> str:
        """The media type alone, in lower case; "" if the server gave none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class WebClient:
    """Fetches pages under one WebAccess. Keeps no connection; may be used from several tasks of one event loop.

    before: called with each URL before it is requested, redirects included; refuses it by raising ToolError. None: all
    may be requested.
    """

    def __init__(self, access: WebAccess, before: Callable[[Url], Awaitable[None]] | None = None) -> None:
        self.access = access
        self._before = before
        self._guard = Guard(access)
        self._ssl: ssl.SSLContext | None = None

    async def get(
        self, url: Url, *, accept: str = _PAGES, max_bytes: int | None = None, timeout_s: float | None = None
    ) -> Fetched:
        """Fetch one URL, following redirects.

        accept: the media types to ask for.
        max_bytes, timeout_s: None means those of the access record, which they can only tighten.

        Raises ToolError `url_target_blocked`, `web_dns_failed`, `web_connection_failed`, `web_tls_failed`,
        `web_redirect_failed`, `web_response_invalid`, `response_too_large` or `timeout`.
        """
        limit_s = self.access.timeout_s if timeout_s is None else min(timeout_s, self.access.timeout_s)
        most = self.access.max_bytes if max_bytes is None else min(max_bytes, self.access.max_bytes)
        try:
            with anyio.fail_after(limit_s):
                return await self._follow(url, accept, most)
        except TimeoutError:
            raise ToolError(
                "timeout",
                f"{show(url.text, 200)} was not there within {limit_s:.3g} s, redirects and body included. Try again "
                "later, or fetch a smaller page.",
                details={"url": url.text, "limit_ms": round(limit_s * 1_000)},
                retryable=True,
            ) from None

    async def _follow(self, first: Url, accept: str, max_bytes: int) -> Fetched:
        hops: list[Hop] = []
        url = first
        while True:
            try:
                answer = await self._request(url, accept, max_bytes)
            except ToolError as error:
                raise _on_the_way(error, first, url, hops) from None
            if answer.location is None:
                return Fetched(url, answer.status, answer.headers, answer.body, tuple(hops))
            hops.append(Hop(url.text, answer.status))
            try:
                url = follow(url, answer.location)
            except ToolError as error:
                raise _lost(first, hops, f"what it leads to cannot be fetched: {error.message}") from None
            if any(hop.url == url.text for hop in hops):
                raise _lost(first, hops, "it leads round in a circle (it may want cookies, which are never sent).")
            if len(hops) > self.access.max_redirects:
                raise _lost(first, hops, f"more than {self.access.max_redirects} redirects are not followed.")

    async def _request(self, url: Url, accept: str, max_bytes: int) -> Answer:
        self._guard.judge(url.host, url.port)
        if self._before is not None:
            await self._before(url)
        # Loading the library takes 80 ms, which the event loop must not wait for.
        library = await anyio.to_thread.run_sync(import_module, "ptc.web.exchange")
        if self._ssl is None:
            self._ssl = await anyio.to_thread.run_sync(partial(_tls_context, self.access.ca_file))
        headers = {
            "User-Agent": self.access.user_agent,
            "Accept": accept,
            "Accept-Encoding": ACCEPTED,
            **self.access.headers.get(url.origin, {}),
        }
        answer: Answer = await library.exchange(url, headers, self._guard, self._ssl, max_bytes)
        return answer


def _tls_context(ca_file: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(cafile=ca_file)
    return context


def _on_the_way(error: ToolError, first: Url, url: Url, hops: list[Hop]) -> ToolError:
    """The error with the way to it: a caller that asked for one address must not be told about another one alone."""
    if not hops:
        return error
    return ToolError(
        error.code,
        f"{show(first.text, 200)} redirects to {show(url.text, 200)}: {error.message}",
        details={**error.details, "url": first.text, "hops": [hop.to_dict() for hop in hops]},
        retryable=error.retryable,
        category=error.category,
    )


def _lost(first: Url, hops: list[Hop], why: str) -> ToolError:
    return ToolError(
        "web_redirect_failed",
        f"{show(first.text, 200)} redirects, and {why}",
        details={"url": first.text, "hops": [hop.to_dict() for hop in hops]},
    )

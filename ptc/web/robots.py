"""robots.txt, for hosts of sessions that want it obeyed.

Read by the rules of RFC 9309: longest match wins, a missing file allows everything, an unreachable one nothing. It is
off unless `WebAccess(robots=True)` asks for it, which makes sure that the parser, the extra `web`, is there.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from importlib import import_module
from typing import Any, Final

import anyio.to_thread

from ptc.errors import ToolError
from ptc.values import show
from ptc.web.access import WebAccess
from ptc.web.client import WebClient
from ptc.web.text import decode
from ptc.web.url import Url, parse_url

__all__ = ["Robots", "web_client"]

AGENT: Final = "ptc"
MAX_BYTES: Final = 500 * 1024
KEPT_S: Final = 600.0
MAX_KEPT: Final = 64


def web_client(access: WebAccess) -> WebClient:
    """The client of a session, which asks robots.txt first if the access record wants it."""
    return WebClient(access, before=Robots(WebClient(access)).check if access.robots else None)


class Robots:
    """The robots.txt files of the sites that a session visits, each kept for ten minutes. `client` fetches them."""

    def __init__(self, client: WebClient) -> None:
        self._client = client
        self._kept: OrderedDict[str, tuple[float, Any]] = OrderedDict()

    async def check(self, url: Url) -> None:
        """Raise ToolError `web_robots_disallowed` if the site forbids the page, or its rules cannot be had."""
        rules = await self._rules(url.origin)
        if rules is None:
            why = "whose robots.txt cannot be had now"
        elif rules.can_fetch(url.text, AGENT):
            return
        else:
            why = "whose robots.txt forbids it"
        raise ToolError(
            "web_robots_disallowed",
            f"{show(url.text, 200)} is a page of a site {why}. Use another source.",
            details={"url": url.text},
            retryable=rules is None,
        )

    async def _rules(self, origin: str) -> Any:
        """The parsed rules; None if they cannot be had, which is not remembered."""
        kept = self._kept.get(origin)
        if kept is not None and time.monotonic() - kept[0] < KEPT_S:
            return kept[1]
        text = await self._fetch(origin)
        if text is None:
            return None
        protego = import_module("protego")  # an extra, wanted by few sessions
        rules = await anyio.to_thread.run_sync(protego.Protego.parse, text)
        self._kept[origin] = (time.monotonic(), rules)
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return rules

    async def _fetch(self, origin: str) -> str | None:
        """The text of robots.txt, "" if the site has none."""
        try:
            answer = await self._client.get(parse_url(f"{origin}/robots.txt"), accept="text/plain", max_bytes=MAX_BYTES)
        except ToolError as error:
            if error.category == "permission_denied":
                raise
            return "" if error.code == "web_redirect_failed" else None
        if answer.status >= 500 or answer.status == 429:
            return None
        return decode(answer.body, answer.headers.get("content-type", "")).text if answer.status < 300 else ""

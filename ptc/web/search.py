"""Web search: what a provider is, and the one that is built in.

No search engine that needs no key offers an interface, so the built-in provider reads the page that DuckDuckGo serves
to browsers without scripts. Such a page can turn into a robot check or another layout at any time, and "nothing found"
is the most harmful way to read that: a model would conclude that a thing does not exist. So a page counts as an answer
only if it holds results, or says in its own mark that there are none; everything else is `web_search_failed`.

A provider of your own, over an interface with a key, is one class with one method; see `SearchProvider`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol
from urllib.parse import parse_qs, quote_plus, urljoin, urlsplit

import anyio.to_thread

from ptc.errors import ToolError
from ptc.web.client import Fetched, WebClient
from ptc.web.text import decode
from ptc.web.tree import Node, parse
from ptc.web.url import parse_url

__all__ = ["DuckDuckGo", "Found", "SearchProvider", "search_failed"]


@dataclass(frozen=True, slots=True)
class Found:
    """One result. `url` is the page itself, not the engine's redirect to it."""

    title: str
    url: str
    snippet: str

    def to_dict(self) -> dict[str, Any]:
        return {"title": self.title, "url": self.url, "snippet": self.snippet}


class SearchProvider(Protocol):
    """Who answers web_search.

    name: how results name their source.
    search: at most `limit` results, best first; an empty list only if the engine says that there are none. Requests go
    through `client`. Raises ToolError `web_search_failed` if the engine refuses or its answer cannot be read.
    """

    @property
    def name(self) -> str: ...

    async def search(self, query: str, limit: int, client: WebClient) -> list[Found]: ...


class DuckDuckGo:
    """DuckDuckGo's page for browsers without scripts. `endpoint`: its address, without a query."""

    name: Final = "duckduckgo"

    def __init__(self, endpoint: str = "https://html.duckduckgo.com/html/") -> None:
        self._endpoint = endpoint

    async def search(self, query: str, limit: int, client: WebClient) -> list[Found]:
        answer = await client.get(parse_url(f"{self._endpoint}?q={quote_plus(query)}"), accept="text/html")
        if answer.status != 200:
            # 202 is how it answers those that it takes for robots.
            busy = answer.status in (202, 403, 429)
            raise search_failed(
                f"answered with status {answer.status}" + (", as it does to those who ask too often" if busy else ""),
                rate_limited=busy,
            )
        return await anyio.to_thread.run_sync(partial(_results, answer, limit), abandon_on_cancel=True)


def _results(answer: Fetched, limit: int) -> list[Found]:
    tree = parse(decode(answer.body, answer.headers.get("content-type", "")).text)
    found: list[Found] = []
    empty = False
    for node in tree.walk():
        classes = node.classes
        if "anomaly-modal__title" in classes or node.get("name") == "challenge-form" or "challenge-form" in classes:
            raise search_failed("wants to know whether a person is asking", rate_limited=True)
        if "no-results" in classes or "result--no-result" in classes:
            empty = True
        elif "result" in classes and "result--ad" not in classes and (row := _result(node, answer.url.text)):
            found.append(row)
    if not found and not empty:
        raise search_failed("gave a page that holds neither results nor the note that there are none")
    unique: dict[str, Found] = {}
    for row in found:
        unique.setdefault(row.url, row)
    return list(unique.values())[:limit]


def _result(node: Node, base: str) -> Found | None:
    parts: dict[str, Node] = {}
    for part in node.walk():
        for name in ("result__a", "result__snippet"):
            if name in part.classes:
                parts.setdefault(name, part)
    link = parts.get("result__a")
    if link is None:
        return None
    url = _unwrapped(urljoin(base, link.get("href")))
    if url is None:
        return None
    return Found(link.line(), url, parts["result__snippet"].line() if "result__snippet" in parts else "")


def _unwrapped(link: str) -> str | None:
    """The page behind the engine's own redirect link; None for what is no page, and for an advertisement."""
    parts = urlsplit(link)
    if parts.path == "/y.js":
        return None
    target = parse_qs(parts.query).get("uddg", [link])[0] if parts.path == "/l/" else link
    try:
        return parse_url(target.replace(" ", "%20")).text
    except ToolError:
        return None


def search_failed(why: str, *, rate_limited: bool = False) -> ToolError:
    """The error of a provider whose engine gave no answer; `why` goes on from "The search service"."""
    return ToolError(
        "web_search_failed",
        f"The search service {why}. This says nothing about what exists: try again later, ask in other words, or fetch "
        "a page whose address you know.",
        category="rate_limited" if rate_limited else None,
    )

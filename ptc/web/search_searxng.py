"""SearXNG, the search engine of your own machine or company, behind the search provider's one method.

It answers in JSON if its settings allow that format, so nothing has to be read out of a page. What it does not say is
not taken for "nothing found": an answer without a list of results is a failed search, and so is an empty list beside
engines that did not respond.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote_plus

import orjson

from ptc.values import show
from ptc.web.client import Fetched, WebClient
from ptc.web.search import Found, search_failed
from ptc.web.url import parse_url

__all__ = ["Searxng"]

_NAMED: Final = 5


class Searxng:
    """A SearXNG server. `address`: where it is, without `/search`, e.g. "http://127.0.0.1:8888"; if that is no public
    address, `WebAccess.allow` must name it too. Its settings must hold `json` under `search.formats`."""

    name: Final = "searxng"

    def __init__(self, address: str) -> None:
        self._address = parse_url(address).text.rstrip("/")

    async def search(self, query: str, limit: int, client: WebClient) -> list[Found]:
        url = parse_url(f"{self._address}/search?q={quote_plus(query)}&format=json")
        answer = await client.get(url, accept="application/json")
        if answer.status != 200:
            hint = "; its settings must allow the format json" if answer.status == 403 else ""
            raise search_failed(f"answered with status {answer.status}{hint}", rate_limited=answer.status == 429)
        rows, silent = _read(answer)
        found: dict[str, Found] = {}
        for row in rows:
            title, link, text = (row.get(key) if type(row) is dict else None for key in ("title", "url", "content"))
            if type(title) is str and type(link) is str and link.startswith(("http://", "https://")):
                found.setdefault(link, Found(title, link, text if type(text) is str else ""))
        if not found and silent:
            raise search_failed(f"heard nothing from {', '.join(silent[:_NAMED])}")
        return list(found.values())[:limit]


def _read(answer: Fetched) -> tuple[list[Any], list[str]]:
    """The results, and the engines behind the server that did not respond."""
    try:
        told = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        told = None
    rows = told.get("results") if type(told) is dict else None
    if type(rows) is not list:
        raise search_failed("gave an answer that holds no list of results")
    silent = told.get("unresponsive_engines") if type(told) is dict else None
    names = [show(str(row[0]), 40) for row in silent if type(row) is list and row] if type(silent) is list else []
    return rows, names

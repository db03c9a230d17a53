"""The package `ddgs` as a search provider: many engines, tried in turn.

It brings its own HTTP stack, so neither the guard nor the limits of WebAccess hold for it; that is the choice of the
host who passes it in. It goes to fixed search engines, never to an address that a model chose.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import anyio.to_thread

from ptc.errors import ConfigError, ToolError
from ptc.values import show
from ptc.web.client import WebClient
from ptc.web.search import Found

__all__ = ["Ddgs"]


class Ddgs:
    """`ddgs` behind the provider's one method.

    backend: engines, as `ddgs` names them ("auto", "duckduckgo, brave"); timeout_s: seconds for one engine.

    Raises ConfigError `invalid_option` if the package is not installed.
    """

    name: Final = "ddgs"

    def __init__(self, backend: str = "auto", timeout_s: int = 10) -> None:
        if find_spec("ddgs") is None:
            raise ConfigError("invalid_option", "Ddgs needs the extra search: pip install 'ptc-sandbox[search]'.")
        self._backend = backend
        self._timeout_s = timeout_s

    async def search(self, query: str, limit: int, client: WebClient) -> list[Found]:
        rows = await anyio.to_thread.run_sync(partial(self._ask, query, limit), abandon_on_cancel=True)
        return [
            Found(str(row.get("title", "")), str(row.get("href", "")), str(row.get("body", "")))
            for row in rows
            if str(row.get("href", "")).startswith(("http://", "https://"))
        ]

    def _ask(self, query: str, limit: int) -> list[dict[str, Any]]:
        ddgs = import_module("ddgs")  # an extra
        try:
            return list(ddgs.DDGS(timeout=self._timeout_s).text(query, max_results=limit, backend=self._backend))
        except ddgs.exceptions.DDGSException as error:
            # "Nothing found" is the same exception, and only its text could tell it from a refusal.
            raise ToolError("web_search_failed", f"No search engine answered: {show(str(error), 200)}.") from None

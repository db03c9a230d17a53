"""web_search: its arguments, its answer, and that the provider is the host's choice."""

from __future__ import annotations

from typing import Any

import pytest

from ptc.errors import ToolError
from ptc.tooling import Tool
from ptc.tools._web import Web
from ptc.tools.web_search import MAX_QUERY_CHARS, web_search_tool
from ptc.web.access import WebAccess
from ptc.web.client import WebClient
from ptc.web.search import Found
from tests.tools.web_tools import call, refusal

pytestmark = pytest.mark.anyio


class Provider:
    """Gives `rows`, more than asked for if it has them, or raises."""

    name = "fixture"

    def __init__(self, rows: int = 30, error: ToolError | None = None) -> None:
        self.asked: list[tuple[str, int]] = []
        self._rows = [Found(f"Title {number}", f"https://r.test/{number}", "s" * 1_500) for number in range(rows)]
        self._error = error

    async def search(self, query: str, limit: int, client: WebClient) -> list[Found]:
        self.asked.append((query, limit))
        if self._error is not None:
            raise self._error
        return self._rows


def tool(provider: Provider) -> Tool:
    return web_search_tool(Web(WebAccess(search=provider)))


async def test_results_are_given_as_data_and_as_a_list_for_reading() -> None:
    provider = Provider(2)
    result = await call(tool(provider), query=" sqlite \n bm25 ")

    assert provider.asked == [("sqlite bm25", 5)]
    assert result.data["query"] == " sqlite \n bm25 "
    assert result.data["result_count"] == len(result.data["results"]) == 2
    assert result.data["results"][0] == {"title": "Title 0", "url": "https://r.test/0", "snippet": "s" * 1_000}
    assert "1. Title 0\n   https://r.test/0\n   s" in result.output
    assert result.output.startswith("[Web content ")


@pytest.mark.parametrize(
    ("given", "limit"), [({}, 5), ({"max_results": 0}, 1), ({"max_results": 99}, 20), ({"limit": 3}, 3)]
)
async def test_the_number_of_results_is_brought_within_its_bounds(given: dict[str, Any], limit: int) -> None:
    provider = Provider()
    result = await call(tool(provider), query="x", **given)

    assert provider.asked == [("x", limit)]
    assert result.data["result_count"] == limit, "a provider that gives more is cut"


async def test_nothing_found_is_said_in_words() -> None:
    result = await call(tool(Provider(0)), query="x")

    assert (result.data["results"], result.output) == ([], "fixture found nothing.")


@pytest.mark.promise("P4")
async def test_a_refusal_of_the_engine_is_an_error_and_no_empty_list() -> None:
    error = await refusal(tool(Provider(error=ToolError("web_search_failed", "It refused."))), query="x")

    assert (error.code, error.retryable) == ("web_search_failed", True)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({}, "web_query_required"),
        ({"query": ""}, "web_query_required"),
        ({"query": " \n"}, "web_query_required"),
        ({"query": 5}, "invalid_arguments"),
        ({"query": "x" * (MAX_QUERY_CHARS + 1)}, "invalid_arguments"),
        ({"query": "x", "engine": "http://127.0.0.1/"}, "invalid_arguments"),
        ({"query": "x", "max_results": 1.5}, "invalid_arguments"),
    ],
)
@pytest.mark.promise("P5")
async def test_arguments_that_are_refused_reach_no_engine(args: dict[str, Any], code: str) -> None:
    provider = Provider()
    error = await refusal(tool(provider), **args)

    assert (error.code, error.retryable) == (code, False)
    assert provider.asked == []

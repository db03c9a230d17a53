"""The provider over the package `ddgs`: what it takes from it, and what it says without it."""

from __future__ import annotations

import sys
import types
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import Any

import pytest

from ptc.errors import ConfigError, ToolError
from ptc.web.access import WebAccess
from ptc.web.client import WebClient
from ptc.web.search import Found
from ptc.web.search_ddgs import Ddgs

ROWS = [
    {"title": "A", "href": "https://a.test/", "body": "Snippet"},
    {"title": "B", "href": "javascript:alert(1)", "body": ""},
]


class DDGSException(Exception):
    pass


def install(monkeypatch: pytest.MonkeyPatch, answer: Any) -> list[Any]:
    """Stand in for the package, which is optional and would go to the network. Gives the list of what it was asked."""
    asked: list[Any] = []

    class DDGS:
        def __init__(self, **options: Any) -> None:
            asked.append(options)

        def text(self, query: str, **options: Any) -> Any:
            asked.append((query, options))
            if isinstance(answer, Exception):
                raise answer
            return answer

    module: Any = types.ModuleType("ddgs")
    module.__spec__ = ModuleSpec("ddgs", None)
    module.DDGS, module.exceptions = DDGS, types.SimpleNamespace(DDGSException=DDGSException)
    monkeypatch.setitem(sys.modules, "ddgs", module)
    return asked


@pytest.mark.anyio
async def test_rows_that_lead_to_pages_become_results(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = install(monkeypatch, ROWS)

    found = await Ddgs("brave", timeout_s=3).search("x", 4, WebClient(WebAccess()))

    assert found == [Found("A", "https://a.test/", "Snippet")]
    assert asked == [{"timeout": 3}, ("x", {"max_results": 4, "backend": "brave"})]


@pytest.mark.anyio
async def test_its_exception_is_a_failed_search(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, DDGSException("202 Ratelimit"))

    with pytest.raises(ToolError) as caught:
        await Ddgs().search("x", 5, WebClient(WebAccess()))

    assert caught.value.code == "web_search_failed"
    assert "202 Ratelimit" in caught.value.message


@pytest.mark.promise("P5")
def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptc.web.search_ddgs.find_spec", lambda name: None)

    with pytest.raises(ConfigError) as caught:
        Ddgs()

    assert "ptc-sandbox[search]" in caught.value.message


@pytest.mark.skipif(find_spec("ddgs") is None, reason="needs the package ddgs")
def test_the_package_has_the_names_that_are_used() -> None:
    ddgs = pytest.importorskip("ddgs")

    assert callable(ddgs.DDGS(timeout=1).text)
    assert issubclass(ddgs.exceptions.DDGSException, Exception)

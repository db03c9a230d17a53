"""The registry: one name, one tool; a clash names both sides."""

from __future__ import annotations

from typing import Any

import pytest

from ptc.errors import ConfigError
from ptc.registry import Registry
from ptc.tooling import Tool
from tests.program.host import ANY, tool


async def _run(_: Any, args: dict[str, Any]) -> str:
    return ""


def a_tool(name: str, source: str = "the host", **facts: Any) -> Tool:
    return tool(name, _run, source=source, **facts)


def test_tools_are_kept_by_name_in_the_order_in_which_they_came() -> None:
    first, second = a_tool("b"), a_tool("a")
    registry = Registry([first])
    registry.add(second)
    assert registry.names() == ["b", "a"]
    assert list(registry) == [first, second]
    assert len(registry) == 2
    assert registry.get("a") is second
    assert "a" in registry
    assert "c" not in registry
    assert registry.get("c") is None


@pytest.mark.promise("P5")
def test_a_second_tool_of_one_name_is_refused_with_both_sources_and_the_first_stays() -> None:
    first = a_tool("read", "built-in")
    registry = Registry([first])
    with pytest.raises(ConfigError) as caught:
        registry.add(a_tool("read", "the server files"))
    assert caught.value.code == "duplicate_tool"
    assert "built-in" in caught.value.message
    assert "the server files" in caught.value.message
    assert caught.value.details == {"tool": "read", "sources": ["built-in", "the server files"]}
    assert registry.get("read") is first


def test_the_same_tool_twice_is_a_clash_too() -> None:
    read = a_tool("read")
    with pytest.raises(ConfigError, match="two tools are named read"):
        Registry([read, read])


def test_names_that_differ_in_case_are_two_tools() -> None:
    assert Registry([a_tool("read"), a_tool("Read")]).names() == ["read", "Read"]


@pytest.mark.parametrize("thing", [None, "read", _run, {"name": "read"}, Tool])
def test_what_is_no_tool_is_refused(thing: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        Registry().add(thing)
    assert caught.value.code == "invalid_tool"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "nothing"}}},
        {"type": "object", "properties": {"a": {"$ref": "https://example.invalid/x.json"}}},
        {"type": "object", "required": "a"},
    ],
)
def test_a_schema_of_no_use_is_found_when_the_tool_is_added_and_not_at_its_first_call(schema: dict[str, Any]) -> None:
    registry = Registry()
    with pytest.raises(ConfigError) as caught:
        registry.add(a_tool("t", schema=schema))
    assert caught.value.code == "invalid_tool"
    assert len(registry) == 0


def test_a_removed_tool_is_gone_and_its_name_is_free() -> None:
    registry = Registry([a_tool("read")])
    registry.remove("read")
    registry.remove("read")
    assert registry.names() == []
    registry.add(a_tool("read", schema=ANY))


def test_a_registry_may_change_while_it_is_looked_through() -> None:
    registry = Registry([a_tool("a"), a_tool("b")])
    for each in registry:
        registry.remove(each.name)
        registry.add(a_tool(f"{each.name}2"))
    assert registry.names() == ["a2", "b2"]

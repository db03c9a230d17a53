"""The small tools behind a real kernel, called as a host calls them, on one event loop per module of tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import jsonschema

from ptc.codes import CODES
from ptc.errors import ToolError
from ptc.kernel.invoke import Kernel
from ptc.registry import Registry
from ptc.results import ErrorInfo, Origin, ToolResult
from ptc.tooling import Tool
from ptc.tools.calculator import calculator_tool
from ptc.tools.convert_temperature import convert_temperature_tool
from ptc.tools.echo import echo_tool
from ptc.tools.generate_password import generate_password_tool
from ptc.tools.generate_uuid import generate_uuid_tool
from ptc.tools.get_time import get_time_tool
from ptc.tools.hash_text import hash_text_tool
from ptc.tools.json_format import json_format_tool
from ptc.tools.string_stats import string_stats_tool
from ptc.tools.url_encode import url_encode_tool
from ptc.workspace.memory import MemoryWorkspace

__all__ = ["Caller", "caller", "outcome", "utility_tools"]

T = TypeVar("T")


def outcome(function: Callable[..., T], /, *args: Any) -> T | ToolError:
    """What `function` gives, or the typed error that it raises; anything else goes through."""
    try:
        return function(*args)
    except ToolError as error:
        return error


def utility_tools() -> list[Tool]:
    """All of them, as a session has them."""
    return [
        calculator_tool(),
        convert_temperature_tool(),
        echo_tool(),
        generate_password_tool(),
        generate_uuid_tool(),
        get_time_tool(),
        hash_text_tool(),
        json_format_tool(),
        string_stats_tool(),
        url_encode_tool(),
    ]


class Caller:
    """Calls tools of one kernel from plain functions, so that property tests can."""

    def __init__(self, runner: asyncio.Runner, tools: list[Tool]) -> None:
        self._runner = runner
        self.tools = {tool.name: tool for tool in tools}
        self.kernel = Kernel(Registry(tools), MemoryWorkspace({}))

    def result(self, name: str, /, origin: Origin = "host", cap_bytes: int = 4 * 1024**2, **args: Any) -> ToolResult:
        """The whole result; bounded in time, and its data fits the tool's schema."""

        async def made() -> ToolResult:
            async with asyncio.timeout(30):
                return await self.kernel.run(self.kernel.open(name, args, origin=origin, cap_bytes=cap_bytes))

        result = self._runner.run(made())
        schema = self.tools[name].output_schema
        if result.ok and schema is not None:
            jsonschema.validate(result.data, schema)
        return result

    def __call__(self, name: str, /, **args: Any) -> Any:
        """What a script is given: data if there is any, else the text."""
        result = self.result(name, **args)
        assert result.ok, result.output
        return result.output if result.data is None else result.data

    def refused(self, name: str, /, **args: Any) -> ErrorInfo:
        """The error of a call that must fail, which the table of codes and the description of the tool know."""
        result = self.result(name, **args)
        assert result.error is not None, result.output
        facts = CODES[result.error.code]
        assert result.output == f"{facts.marker} {result.error.message}"
        assert facts.marker == "[tool]" or facts.marker in self.tools[name].description
        assert (result.error.category, result.error.retryable) == ("invalid_input", False)
        assert len(result.error.message) < 600
        assert result.error.message.replace("\u00a0", " ").isprintable()
        return result.error


@contextmanager
def caller(tools: list[Tool] | None = None) -> Iterator[Caller]:
    with asyncio.Runner() as runner:
        made = Caller(runner, utility_tools() if tools is None else tools)
        try:
            yield made
        finally:
            made.kernel.close()

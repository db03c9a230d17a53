"""A fixture server and web tools that may reach it, called as the kernel would: arguments checked, a context given."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import anyio
import jsonschema

from ptc.codes import code_facts
from ptc.errors import ToolError
from ptc.results import ToolResult
from ptc.testing import MemoryWorkspace
from ptc.tooling import Tool
from ptc.tools._web import Web
from ptc.values import check_json
from ptc.web.access import WebAccess
from tests.attacks.server import serve
from tests.tools.file_tools import context


@dataclass
class Site:
    """A server on loopback. `url(path)` is an address on it, `requests` what it saw."""

    port: int
    requests: list[dict[str, Any]] = field(default_factory=list)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def tool(self, make: Callable[[Web], Tool], **access: Any) -> Tool:
        return make(Web(WebAccess(allow=(f"127.0.0.1:{self.port}",), **access)))


@contextmanager
def running() -> Iterator[Site]:
    listener = socket.create_server(("127.0.0.1", 0))
    web = Site(listener.getsockname()[1])
    threading.Thread(target=serve, args=(listener, web.requests.append), kwargs={"secret": "s"}, daemon=True).start()
    try:
        yield web
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


async def call(tool: Tool, *, caps: int = 4 * 1024 * 1024, **args: Any) -> ToolResult:
    """The result, checked against the tool's own schemas. Raises ToolError."""
    assert tool.validator is not None
    given = tool.validator(tool.canonical(args))
    jsonschema.validate(given, dict(tool.input_schema))
    with anyio.fail_after(30):
        result = await tool.run(context(MemoryWorkspace({}), caps=caps), given)
    assert isinstance(result, ToolResult)
    assert tool.output_schema is not None
    jsonschema.validate(result.data, dict(tool.output_schema))
    check_json([result.data, result.metadata], what="the result", max_nodes=10_000, max_depth=10)
    result.output.encode("utf-8")
    return result


async def refusal(tool: Tool, **args: Any) -> ToolError:
    """The ToolError of a call that must fail; its marker must be one that the description tells of."""
    try:
        result = await call(tool, **args)
    except ToolError as error:
        marker = code_facts(error.code).marker
        assert marker == "[tool]" or marker in tool.description
        return error
    return _answered(tool, result)


def _answered(tool: Tool, result: ToolResult) -> NoReturn:
    raise AssertionError(f"{tool.name} gave {result.output!r:.200}")

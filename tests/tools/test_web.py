"""What the web tools have in common: what the kernel is told about them, and that they cost nothing until they are used."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from ptc.kernel.permission import Policy
from ptc.tooling import Tool
from ptc.tools._web import Web
from ptc.tools.fetch_url import fetch_url_tool
from ptc.tools.read_webpage import read_webpage_tool
from ptc.tools.web_fetch import web_fetch_tool
from ptc.tools.web_search import web_search_tool
from ptc.web.access import WebAccess
from ptc.web.client import WebClient

REPOSITORY = Path(__file__).resolve().parents[2]
MAKERS = [web_fetch_tool, fetch_url_tool, read_webpage_tool, web_search_tool]


@pytest.mark.parametrize("make", MAKERS)
def test_the_kernel_is_told_how_to_treat_them(make: Callable[[Web], Tool]) -> None:
    tool = make(Web(WebAccess()))

    assert (tool.timeout_ms, tool.idempotent, tool.writes, tool.source) == (15_000, True, False, "built-in")
    assert tool.concurrency == (2 if tool.name == "web_search" else 8)
    assert tool.input_schema["additionalProperties"] is False
    assert 'Example: {"' in tool.description
    assert make(Web(WebAccess(timeout_s=2.5))).timeout_ms == 2_500


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.promise("P1")
def test_the_default_policy_asks_and_a_rule_allows(make: Callable[[Web], Tool]) -> None:
    tool = make(Web(WebAccess()))
    subject = "http://e.org/"

    assert Policy().decide(tool, subject).action == "ask"
    assert Policy(allow=[tool.name]).decide(tool, subject).action == "allow"
    assert Policy(allow=[f"{tool.name}(http://e.org/*)"]).decide(tool, subject).action == "allow"
    assert Policy(allow=[f"{tool.name}(http://e.org/*)"]).decide(tool, "http://e.org.evil.test/").action == "ask"


def test_making_the_tools_loads_neither_the_client_nor_the_parsers() -> None:
    modules = ", ".join(f"ptc.tools.{name}" for name in ("web_fetch", "fetch_url", "read_webpage", "web_search"))
    code = f"""
import sys, {modules}
from ptc.tools._web import Web
from ptc.web.access import WebAccess
ptc.tools.web_search.web_search_tool(Web(WebAccess()))
print([name for name in sys.modules if name in ("httpx2", "idna", "ipaddress", "ptc.web.client", "ptc.web.tree")])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.anyio
async def test_calls_that_come_at_once_share_one_client() -> None:
    web = Web(WebAccess())
    clients: list[WebClient] = []

    async def ask() -> None:
        clients.append(await web.client())

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(ask)

    assert len(set(map(id, clients))) == 1

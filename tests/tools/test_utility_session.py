"""The small tools as a session has them: what the kernel and a model are told, and scripts that call them."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

import ptc.tools
from ptc import MemoryWorkspace, Policy, Session
from ptc.testing import InProcessPool
from ptc.tooling import Tool
from tests.program.host import Ticker
from tests.tools.utility_tools import utility_tools

TOOLS = {tool.name: tool for tool in utility_tools()}
SECONDS = {
    "calculator": 5,
    "convert_temperature": 1,
    "echo": 2,
    "generate_password": 1,
    "generate_uuid": 1,
    "get_time": 2,
    "hash_text": 2,
    "json_format": 2,
    "string_stats": 1,
    "url_encode": 1,
}
FRESH = {"generate_uuid", "generate_password"}


@pytest.fixture(params=sorted(TOOLS))
def tool(request: pytest.FixtureRequest) -> Tool:
    return TOOLS[request.param]


def example(tool: Tool) -> dict[str, Any]:
    """The example of the description, which a model will imitate."""
    found = re.search(r"Example: (\{.*\})", tool.description)
    assert found is not None
    given: dict[str, Any] = json.loads(found[1])
    return given


def test_they_read_only_within_their_time_and_take_nothing_else(tool: Tool) -> None:
    assert tool.timeout_ms == SECONDS[tool.name] * 1000
    assert (tool.read_only, tool.writes, tool.permission, tool.source) == (True, False, None, "built-in")
    assert tool.idempotent is (tool.name not in FRESH)
    assert tool.input_schema["additionalProperties"] is False
    assert set(tool.positional) <= set(tool.input_schema["properties"])


def test_their_modules_open_no_file_and_no_connection() -> None:
    folder = Path(ptc.tools.__file__).parent
    reach = {"os", "socket", "subprocess", "pathlib", "shutil", "urllib", "http", "ssl", "io", "tempfile"}
    helpers = ("_calc", "_calc_tokens", "_rational", "_json_layout", "_text")
    found = {}
    for name in (*TOOLS, *helpers):
        tree = ast.parse((folder / f"{name}.py").read_text("utf-8"))
        modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        modules |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        calls = {
            node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        found[name] = sorted((modules & reach) | (calls & {"open", "eval", "exec", "compile", "__import__"}))
    # for os.urandom
    assert {name: uses for name, uses in found.items() if uses} == {
        "generate_uuid": ["os"],
        "generate_password": ["os"],
    }


@pytest.mark.anyio
@pytest.mark.promise("P1")
async def test_the_default_policy_allows_them_and_a_rule_denies_them(tool: Tool) -> None:
    async with Session(MemoryWorkspace({}), pool=InProcessPool()) as session:
        assert (await session.governed_tool(tool.name, example(tool))).ok
    async with Session(MemoryWorkspace({}), policy=Policy(deny=[tool.name]), pool=InProcessPool()) as session:
        refused = await session.governed_tool(tool.name, example(tool))
        assert refused.error is not None
        assert refused.error.code == "permission_denied"


@pytest.mark.anyio
async def test_the_example_of_each_description_works() -> None:
    expected = {
        "calculator": -20,
        "convert_temperature": {"value": 97.88, "unit": "F", "original_value": 36.6, "original_unit": "C"},
        "echo": "hello",
        "hash_text": {
            "hash": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
            "algorithm": "sha256",
        },
        "json_format": '{\n  "b": 1,\n  "a": [\n    1.10\n  ]\n}',
        "string_stats": {"characters": 10, "words": 2, "lines": 1},
        "url_encode": "a%20b%26c",
    }
    async with Session(MemoryWorkspace({}), pool=InProcessPool()) as session:
        for name, value in expected.items():
            result = await session.tool(name, example(TOOLS[name]))
            assert (result.output if result.data is None else result.data) == value
        assert len((await session.tool("generate_password", example(TOOLS["generate_password"]))).output) == 24
        assert (await session.tool("generate_uuid", example(TOOLS["generate_uuid"]))).ok
        assert (await session.tool("get_time", example(TOOLS["get_time"]))).ok


@pytest.mark.anyio
async def test_a_script_calls_them_by_position_and_by_name() -> None:
    source = """export default async (ctx) => {
      const refused = async (call) => { try { await call(); return 'no error'; } catch (e) { return [e.name, e.code, e.tool]; } };
      return {
        sum: await ctx.calculator('2*(3+4)'),
        exact: String(await ctx.calculator({expression: '9007199254740993 + 2'})),
        hot: (await ctx.convertTemperature(300, 'K', 'F')).value,
        echoed: await ctx.echo('é\\n'),
        hashed: (await ctx.hashText('hello', 'md5')).hash,
        laidOut: await ctx.json_format('[1.10]'),
        counted: await ctx.stringStats('Hello World\\nFoo bar'),
        encoded: await ctx.url_encode('a b'),
        decoded: await ctx.urlEncode('a+b', {decode: true}),
        times: [typeof await ctx.getTime(), typeof await ctx.generateUuid(), (await ctx.generatePassword(8)).length],
        division: await refused(() => ctx.calculator('1/0')),
        json: await refused(() => ctx.jsonFormat('{a:1}')),
        quiet: (await ctx.tool('calculator', {expression: '1/0'})).error.code,
      };
    }"""
    async with Session(MemoryWorkspace({})) as session:
        result = await session.program(source, allowed_tools=sorted(TOOLS))
    assert result.status == "completed", result.error
    assert result.value == {
        "sum": 14,
        "exact": "9007199254740995",
        "hot": 80.33,
        "echoed": "é\n",
        "hashed": "5d41402abc4b2a76b9719d911017c592",
        "laidOut": "[\n  1.10\n]",
        "counted": {"characters": 19, "words": 4, "lines": 2},
        "encoded": "a%20b",
        "decoded": "a b",
        "times": ["string", "string", 8],
        "division": ["ToolError", "division_by_zero", "calculator"],
        "json": ["ToolError", "invalid_json", "json_format"],
        "quiet": "division_by_zero",
    }
    assert len(result.calls) == 15
    assert [call.error_code for call in result.calls if call.state == "failed"] == [
        "division_by_zero",
        "invalid_json",
        "division_by_zero",
    ]


@pytest.mark.anyio
@pytest.mark.promise("P3")
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("json_format", {"json": "[" + "1," * 400_000 + "1]"}),
        ("url_encode", {"text": "é" * 400_000}),
        ("hash_text", {"text": "é" * 1_000_000}),
        ("string_stats", {"text": "a " * 500_000}),
        ("calculator", {"expression": "1e-400*" * 22 + "1" + "*1e400/1e400" * 320}),
    ],
    ids=["json_format", "url_encode", "hash_text", "string_stats", "calculator"],
)
async def test_the_event_loop_goes_on_while_a_large_text_is_worked_on(name: str, args: dict[str, Any]) -> None:
    async with Session(MemoryWorkspace({}), pool=InProcessPool()) as session:
        await session.tool(name, args)  # starts the thread
        async with Ticker() as ticker:
            result = await session.tool(name, args)
    assert result.ok or name == "calculator"
    assert ticker.longest_ms < 200

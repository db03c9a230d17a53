"""Each built-in tool once, as a person would reach it: `ptc run` on real files, a real repository, a real server, a real
process in the sandbox. The table is complete: a tool without a row fails the suite."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = (
    b"<!doctype html><title>A page</title><nav>menu</nav><main><h1>Head</h1><p>Body <a href='/x'>text</a>.</p></main>"
)
RESULTS = {"results": [{"title": "T", "url": "https://example.com/", "content": "C"}]}
# Tool -> a script that calls it once by its method, and what it must give. SITE is the address of the server.
SCRIPTS: dict[str, tuple[str, Any]] = {
    "read": ("(await ctx.read('a.txt')).output", "   1\tone\n   2\ttwo\n"),
    "ls": ("(await ctx.ls('sub')).map(entry => entry.name)", ["b.py"]),
    "glob": ("ctx.glob('**/*.py')", ["sub/b.py"]),
    "find": ("ctx.find('*.txt')", ["a.txt"]),
    "grep": ("ctx.grep('t.o')", "a.txt:2:two"),
    "write": ("(await ctx.write('new.txt', 'n\\n'), ctx.readFile('new.txt'))", "n\n"),
    "edit": ("(await ctx.edit({path: 'a.txt', edits: [{old: 'two', new: '2'}]}), ctx.readFile('a.txt'))", "one\n2\n"),
    "patch": ("(await ctx.patch('--- a/a.txt\\n+++ b/a.txt\\n@@ -1 +1 @@\\n-one\\n+1\\n')).files[0].action", "update"),
    "git": ("(await ctx.git('log')).commits.map(commit => commit.subject)", ["first"]),
    "bash": ("ctx.bash(['sh', '-c', 'cat a.txt | wc -l; cat /etc/shadow 2>/dev/null; true'])", "2\n"),
    "web_fetch": ("(await ctx.webFetch('SITE/page')).content", "# Head\n\nBody [text](SITE/x)."),
    "fetch_url": ("(await ctx.fetchUrl('SITE/missing')).status", 404),
    "read_webpage": ("(await ctx.readWebpage('SITE/page')).title", "A page"),
    "web_search": ("(await ctx.webSearch('anything')).results.map(result => result.url)", ["https://example.com/"]),
    "batch": (
        "(await ctx.batch([{tool: 'echo', args: {text: 'x'}, id: 'a'},"
        " {tool: 'echo', args: {text: {$ref: 'a.output'}}, step: 2}])).map(call => call.output)",
        ["x", "x"],
    ),
    "calculator": ("ctx.calculator('2*(3+4)')", 14),
    "get_time": ("/^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$/.test(await ctx.getTime())", True),
    "echo": ("ctx.echo('h\u00e9')", "h\u00e9"),
    "generate_uuid": ("/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab]/.test(await ctx.generateUuid())", True),
    "hash_text": ("(await ctx.hashText('abc', 'md5')).hash", "900150983cd24fb0d6963f7d28e17f72"),
    "generate_password": ("(await ctx.generatePassword(24)).length", 24),
    "string_stats": ("ctx.stringStats('one two\\nthree')", {"characters": 13, "words": 3, "lines": 2}),
    "json_format": ("ctx.jsonFormat('{\"a\":[1]}')", '{\n  "a": [\n    1\n  ]\n}'),
    "convert_temperature": ("(await ctx.convertTemperature(300, 'K', 'F')).value", 80.33),
    "url_encode": ("ctx.urlEncode('a b/\u00e9')", "a%20b%2F%C3%A9"),
    "remember_memory": ("(await ctx.rememberMemory('tea, not coffee')).content", "tea, not coffee"),
    "recall_memory": (
        "(await ctx.rememberMemory('tea, not coffee'), (await ctx.recallMemory('tea')).map(found => found.content))",
        ["tea, not coffee"],
    ),
    "search_history": ("ctx.searchHistory('anything')", []),
}


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """A server on loopback: a page, a search engine's answer, and 404 for the rest."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            body = {"/page": PAGE, "/search": json.dumps(RESULTS).encode()}.get(path, b"nothing here")
            self.send_response(200 if path in ("/page", "/search") else 404)
            self.send_header("Content-Type", "text/html" if path == "/page" else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("one\ntwo\n")
    (root / "sub" / "b.py").write_text("pass\n")
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], cwd=root, check=True, capture_output=True)
    return root


def ptc(*words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(
        [sys.executable, "-m", "ptc", *words], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.promise("P1")
@pytest.mark.parametrize("tool", SCRIPTS)
def test_the_tool_works_in_a_script_run_from_the_shell(tool: str, workspace: Path, site: str, tmp_path: Path) -> None:
    script, expected = SCRIPTS[tool]
    done = ptc(
        *("run", "--source", f"export default async (ctx) => {script.replace('SITE', site)};", "--json", "--quiet"),
        *("--workspace", str(workspace), "--memory", str(tmp_path / "memory.db"), "--allow", f"{tool},read,echo"),
        *("--allow", "remember_memory", "--allow-host", site.removeprefix("http://"), "--search", site),
    )
    assert done.stderr == ""
    result = json.loads(done.stdout)
    assert result["error"] is None
    assert result["value"] == json.loads(json.dumps(expected).replace("SITE", site))
    assert tool in {call["tool"] for call in result["calls"] if call["state"] == "done"}


def test_the_list_of_tools_is_complete_and_each_has_schemas_and_an_example() -> None:
    done = ptc("tools", "--json")
    definitions = {definition["name"]: definition for definition in json.loads(done.stdout)}
    assert set(definitions) == {*SCRIPTS, "program"}
    for name, definition in definitions.items():
        assert definition["input_schema"]["type"] == "object"
        assert definition["input_schema"].get("additionalProperties") is False, name
        properties = set(definition["input_schema"].get("properties", {}))
        assert _has_example(definition["description"], properties), f"{name} has no example of its arguments"


def _has_example(description: str, properties: set[str]) -> bool:
    for at in (found.start() for found in re.finditer(r"\{", description)):
        try:
            given, _ = json.JSONDecoder().raw_decode(description, at)
        except ValueError:
            continue
        if isinstance(given, dict) and set(given) <= properties and bool(given) == bool(properties):
            return True
    return False

"""The script of the design, word for word, over the source of large public packages, against `grep -rc`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections import Counter
from pathlib import Path

import anyio
import pytest

from ptc import Limits, Session

pytestmark = pytest.mark.anyio

QUERIES = ["raise", "async def", "Policy"]
# By name and not by size: what else an environment holds must not change how much the script gives back.
PACKAGES = ["pip", "pygments", "hypothesis", "rich", "pydantic", "_pytest", "anyio", "jsonschema", "click"]
LEAST_FILES = 300
SCRIPT = """\
// scripts/ptc/search-auth.js
export default async function run(ctx, inputs) {
  const files = await ctx.glob('src/**/*.py');
  const hits = await ctx.grep(inputs.query, { glob: '*.py' });
  const evidence = [];
  for (const file of files.slice(0, 20)) {
    const text = await ctx.readFile(file);
    if (text.includes(inputs.query)) evidence.push({ file, preview: text.slice(0, 1200) });
  }
  return { summary: `${evidence.length} files mention ${inputs.query}`, evidence, rawSearch: hits };
}
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the sources of some packages of this environment below `src/`, and the script."""
    root = tmp_path_factory.mktemp("big")
    site = Path(sysconfig.get_path("purelib"))
    copied = 0
    for file in (file for package in PACKAGES for file in sorted((site / package).rglob("*.py"))):
        target = root / "src" / file.relative_to(site)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        copied += 1
    if copied < LEAST_FILES:
        pytest.skip(f"this environment has {copied} Python source files in packages; {LEAST_FILES} are needed")
    script = root / "scripts" / "ptc" / "search-auth.js"
    script.parent.mkdir(parents=True)
    script.write_text(SCRIPT)
    return root


def counts_of_grep(tree: Path, query: str) -> Counter[str]:
    """File -> number of matching lines, by the system's grep."""
    command = ["grep", "-rc", "--include=*.py", "-F", "-e", query, "."]
    done = subprocess.run(
        command, cwd=tree, env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True, check=True
    )
    lines = (line.rpartition(":") for line in done.stdout.splitlines())
    return Counter({path.removeprefix("./"): int(count) for path, _, count in lines if int(count)})


@pytest.mark.skipif(shutil.which("grep") is None, reason="there is no grep on this machine")
@pytest.mark.parametrize("query", QUERIES)
async def test_the_script_of_the_design_agrees_with_grep_and_with_python(tree: Path, query: str) -> None:
    async with Session(tree) as session:
        with anyio.fail_after(60):
            result = await session.program(
                path="scripts/ptc/search-auth.js",
                inputs={"query": query},
                allowed_tools=["grep", "glob", "read"],
                limits=Limits(timeout_ms=30_000, max_tool_calls=30, max_output_bytes=65_536),
            )
            assert result.status == "completed", result.error
            per_file = await session.tool("grep", {"pattern": query, "glob": "*.py", "output_mode": "count"})

    expected = counts_of_grep(tree, query)
    assert expected
    lines = result.value["rawSearch"].splitlines()
    assert len(lines) == expected.total()
    assert Counter(line.split(":", 1)[0] for line in lines) == expected
    assert Counter({each["path"]: each["count"] for each in per_file.data}) == expected

    files = sorted((file.relative_to(tree).as_posix() for file in (tree / "src").rglob("*.py")), key=os.fsencode)
    texts = {file: (tree / file).read_bytes().decode() for file in files[:20]}
    evidence = [{"file": file, "preview": text[:1200]} for file, text in texts.items() if query in text]
    assert evidence or query != QUERIES[0]
    assert result.value["evidence"] == evidence
    assert result.value["summary"] == f"{len(evidence)} files mention {query}"

    assert [call.tool for call in result.calls] == ["glob", "grep", *["read"] * 20]
    assert {call.state for call in result.calls} == {"done"}
    assert result.warnings == []
    assert len(result.output.encode()) <= 65_536

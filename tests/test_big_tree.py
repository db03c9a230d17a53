"""The script of the design's first section, word for word, against the source of large public packages.

The packages are those that the environment has anyway; their Python sources are laid out below `src/`, and the answers
are compared with `grep -rc` and with plain Python.
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections import Counter
from pathlib import Path

import anyio
import pytest

from ptc import Limits, Session

pytestmark = pytest.mark.anyio

SCRIPT = """// scripts/ptc/search-auth.js
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
PACKAGES = ("pip", "mypy", "hypothesis", "pydantic", "anyio", "httpx2", "jsonschema", "click")
ENOUGH_FILES = 300
WORD = "Policy"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("big")
    installed = Path(sysconfig.get_path("purelib"))
    for package in PACKAGES:
        if (installed / package).is_dir():
            only_python = shutil.ignore_patterns("*.pyc", "__pycache__", "*.so", "*.pyd")
            shutil.copytree(installed / package, root / "src" / package, ignore=only_python)
    if len(list(root.rglob("*.py"))) < ENOUGH_FILES:
        pytest.skip(f"fewer than {ENOUGH_FILES} Python files are installed; a large public package is needed")
    (root / "scripts").mkdir()
    (root / "scripts" / "search-auth.js").write_text(SCRIPT)
    return root


@pytest.mark.parametrize("word", [WORD, "async def", "import os"])
async def test_the_script_of_the_design_agrees_with_grep(tree: Path, word: str) -> None:
    with anyio.fail_after(60):
        async with Session(tree) as session:
            result = await session.program(
                path="scripts/search-auth.js",
                inputs={"query": word},
                allowed_tools=["grep", "glob", "read"],
                limits=Limits(timeout_ms=30_000, max_tool_calls=30, max_output_bytes=65_536, value_bytes=8 * 1024**2),
            )
    assert result.status == "completed", result.error
    counted = subprocess.run(
        ["grep", "-rc", "--include=*.py", "-F", word, "."], cwd=tree, capture_output=True, text=True, timeout=60
    ).stdout
    theirs = {
        path.removeprefix("./"): int(count)
        for path, _, count in (line.rpartition(":") for line in counted.splitlines())
        if count != "0"
    }
    ours = Counter(line.split(":", 1)[0] for line in result.value["rawSearch"].splitlines())
    assert dict(ours) == theirs
    files = sorted((str(path.relative_to(tree)) for path in tree.glob("src/**/*.py")), key=str.encode)[:20]
    mentioning = [file for file in files if word in (tree / file).read_text("utf-8")]
    assert [found["file"] for found in result.value["evidence"]] == mentioning
    assert result.value["summary"] == f"{len(mentioning)} files mention {word}"
    assert [record.state for record in result.calls] == ["done"] * 22
    assert len(result.output.encode()) <= 65_536

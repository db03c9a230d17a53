"""What an import may load. Time is measured by scripts/bench; its cause, the modules, is fixed here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent

# Each costs between 5 and 150 ms, or belongs to an extra.
HEAVY = {
    "anyio", "asyncio", "bracex", "click", "h11", "httpcore2", "httpx2", "jsonschema", "logging", "mcp", "orjson",
    "pathspec", "pydantic", "pydantic_core", "re2", "referencing", "rich", "rpds", "ssl", "wcmatch",
    "_quickjs", "quickjs",
}  # fmt: skip
NEEDED_BY_FEW_PROGRAMS = {"click", "httpx2", "jsonschema", "mcp", "pydantic", "rich", "quickjs", "_quickjs"}

PLAIN_PROGRAM = """
import asyncio
from ptc import Session

async def main():
    async with Session(".") as session:
        result = await session.program("export default async (ctx) => (await ctx.ls('.')).length")
        assert result.status == "completed", result.output

asyncio.run(main())
"""


def loaded_by(code: str, folder: Path) -> set[str]:
    """Top-level names of the modules that a new process has loaded once it ran `code`."""
    report = f"{code}\nimport json, sys\nprint(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    done = subprocess.run(
        [sys.executable, "-c", report],
        cwd=folder,
        env={"PYTHONPATH": str(REPOSITORY), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_the_package_loads_nothing_heavy(tmp_path: Path) -> None:
    assert loaded_by("import ptc", tmp_path) & HEAVY == set()


def test_the_check_sees_a_heavy_import(tmp_path: Path) -> None:
    assert loaded_by("import ptc, asyncio", tmp_path) & HEAVY >= {"asyncio"}


def test_a_first_plain_program_loads_nothing_that_only_few_programs_need(tmp_path: Path) -> None:
    assert loaded_by(PLAIN_PROGRAM, tmp_path) & NEEDED_BY_FEW_PROGRAMS == set()

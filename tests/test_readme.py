"""README.md is run, not believed.

A fenced block whose info string is `python run` or `js run` is executed in a copy of the repository: Python as a
program of its own (top-level `await` and `async with` are allowed), JavaScript as a program whose status must be
`completed`. In `console` and `sh` blocks every `./...` command must exist, and every `ptc ...` command must name a
command and options that there are.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from ptc.cli.app import group

REPOSITORY = Path(__file__).resolve().parent.parent
README = REPOSITORY / "README.md"

FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUN_PYTHON = """
import ast, asyncio, inspect, sys
code = compile(sys.stdin.read(), "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
waiting = eval(code, {"__name__": "__main__"})
if inspect.iscoroutine(waiting):
    async def main(): await waiting
    asyncio.run(main())
"""


def blocks(*infos: str) -> list[str]:
    """The fenced blocks of the README whose info string is one of `infos`."""
    return [body for info, body in FENCE.findall(README.read_text("utf-8")) if info.strip() in infos]


def commands() -> list[str]:
    """The command lines in console blocks, without prompt, output and comments."""
    found = []
    for body in blocks("console", "sh", "bash"):
        prompted = "\n$ " in f"\n{body}"
        for line in body.replace("\\\n", " ").splitlines():
            if prompted and not line.startswith("$ "):
                continue
            text = line.removeprefix("$ ").partition(" #")[0].strip()
            if text and not text.startswith("#"):
                found.append(text)
    return found


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository that a block may write into."""
    target = tmp_path_factory.mktemp("readme") / "repository"
    junk = shutil.ignore_patterns(".*", "__pycache__", "*.lock")
    shutil.copytree(REPOSITORY, target, ignore=junk)
    return target


def run_in(copy: Path, command: list[str], text: str) -> None:
    done = subprocess.run(
        [sys.executable, *command],
        input=text,
        cwd=copy,
        env={"PYTHONPATH": str(copy), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"{text}\n--- stderr ---\n{done.stderr}"


@pytest.mark.parametrize("block", blocks("python run"))
def test_a_python_block_runs(block: str, copy: Path) -> None:
    run_in(copy, ["-c", RUN_PYTHON], block)


@pytest.mark.parametrize("block", blocks("js run"))
def test_a_javascript_block_runs_as_a_program(block: str, copy: Path) -> None:
    run_in(copy, ["-m", "ptc", "run", "-", "--input", "query=Policy"], block)


@pytest.mark.parametrize("language", ["python", "js"])
def test_there_is_something_to_run(language: str) -> None:
    assert blocks(f"{language} run"), f"README.md has no block marked `{language} run`"


def test_the_two_commands_of_a_fresh_machine_are_shown() -> None:
    assert {"./scripts/demo", "./scripts/test"} <= set(commands())


@pytest.mark.parametrize("command", [text for text in commands() if text.startswith("./")])
def test_a_script_that_is_shown_exists(command: str) -> None:
    script = REPOSITORY / shlex.split(command)[0]
    assert script.stat().st_mode & 0o111, f"{script.name} cannot be executed"


@pytest.mark.parametrize("command", [text for text in commands() if text.startswith("ptc ")])
def test_a_ptc_command_that_is_shown_has_the_options_that_are_shown(command: str) -> None:
    name, *words = shlex.split(command)[1:]
    assert name in group.commands
    known = {option for parameter in group.commands[name].params for option in parameter.opts}
    used = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert used <= known | {"--help"}
    assert isinstance(group.commands[name], click.Command)

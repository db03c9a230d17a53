"""The scripts of a fresh machine refuse clearly, and never touch a folder that is not theirs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
COMMANDS = ["check", "demo", "fix", "test"]


def run(name: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PTC_")}
    return subprocess.run(
        [REPOSITORY / "scripts" / name],
        cwd=cwd,
        env={**kept, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_a_script_is_executable_and_has_no_syntax_error(name: str) -> None:
    script = REPOSITORY / "scripts" / name
    assert os.access(script, os.X_OK)
    subprocess.run(["sh", "-n", script], check=True)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_python_that_is_too_old_or_none_is_named(name: str, tmp_path: Path) -> None:
    done = run(name, tmp_path, PTC_PYTHON="/bin/false")
    assert done.returncode == 1
    assert done.stderr == ("ptc: PTC_PYTHON=/bin/false is not a Python 3.11 or newer; name another, or unset it.\n")


def test_no_python_at_all_is_said_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "dirname").symlink_to("/usr/bin/dirname")
    done = run("test", tmp_path, PATH=str(tmp_path))
    assert done.returncode == 1
    assert "no Python 3.11 or newer was found" in done.stderr
    assert "PTC_PYTHON=" in done.stderr


def test_a_folder_that_is_no_environment_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    done = run("test", tmp_path, PTC_PYTHON=sys.executable, PTC_VENV="mine")
    assert done.returncode == 1
    assert "is no virtual environment; it is left alone" in done.stderr
    assert [file.name for file in folder.iterdir()] == ["thesis.txt"]


def test_an_index_that_cannot_be_reached_is_said_plainly(tmp_path: Path) -> None:
    """pip itself is not started: its words decide what is said."""
    code = (
        "import runpy, sys; sys.argv[1:] = ['test']\n"
        "env = runpy.run_path('scripts/_env.py', run_name='env')\n"
        "print(env['reason'](['x\\n', 'WARNING: NewConnectionError(...)\\n']))\n"
        "print(env['reason'](['ERROR: ResolutionImpossible\\n']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines() == [
        "the package index cannot be reached; check the network, or point pip at a mirror with PIP_INDEX_URL.",
        "pip could not install the packages; its last lines stand above.",
    ]


def test_the_bench_can_measure_every_part_that_it_names() -> None:
    code = "import asyncio, runpy; b = runpy.run_path('scripts/_bench.py'); print(asyncio.run(b['smallest_program']()))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "smallest program" in done.stdout

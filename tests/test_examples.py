"""Every example runs and does what its first line says. An example without a row here fails the suite."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
EXAMPLES = REPOSITORY / "examples"

PYTHON = {
    "own_tool.py": "completed 11 ['price', 'price', 'price']\n",
    "governed.py": ("completed {'notes': 'written', 'secret': 'permission_denied', 'other': 'approval_rejected'}\n"),
    "commands.py": (
        "completed {'counted': '2', 'written': 'nonzero_exit', 'harmful': 'bash_policy_rejected', "
        "'unclear': 'bash_not_checkable', 'unruled': 'approval_unanswered'}\n"
    ),
    "remember.py": ("project:one ['The parser is in src/parse.py; 实现并发']\n" * 2 + "project:two []\n" * 2),
    "blocking.py": (
        "['catch_errors.js', 'parallel_reads.js', 'search_auth.js']\n"
        "completed // Finds which files mention a word, reads them, and hands back evidence: "
        "glob, grep and up to 20 reads in one turn.\n"
    ),
}
JAVASCRIPT = {"search_auth.js", "parallel_reads.js", "catch_errors.js"}


def start(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=cwd,
        env={"PYTHONPATH": str(REPOSITORY), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def run_script(name: str, workspace: Path, **inputs: Any) -> Any:
    """The value that `ptc run` prints for one of the examples."""
    done = start("-m", "ptc", "run", str(EXAMPLES / name), "--inputs", json.dumps(inputs), cwd=workspace)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project: three Python files, two of which mention a Policy."""
    (tmp_path / "src" / "app").mkdir(parents=True)
    (tmp_path / "src" / "app" / "auth.py").write_text("class Policy:\n    pass\n")
    (tmp_path / "src" / "app" / "plain.py").write_text("x = 1\n")
    (tmp_path / "src" / "main.py").write_text("from app.auth import Policy\n")
    (tmp_path / "README.md").write_text("words\n")
    return tmp_path


def test_every_example_has_a_test() -> None:
    assert {file.name for file in EXAMPLES.iterdir() if file.is_file()} == JAVASCRIPT | set(PYTHON)


@pytest.mark.parametrize("name", PYTHON)
def test_a_python_example_prints_what_it_promises(name: str, tmp_path: Path) -> None:
    done = start(str(EXAMPLES / name), cwd=tmp_path)
    assert (done.stdout, done.returncode) == (PYTHON[name], 0), done.stderr


def test_search_auth_gives_evidence_and_the_raw_search(project: Path) -> None:
    value = run_script("search_auth.js", project, query="Policy")
    assert value["summary"] == "2 files mention Policy"
    assert value["evidence"][0] == {"file": "src/app/auth.py", "preview": "class Policy:\n    pass\n"}
    assert value["rawSearch"].splitlines() == [
        "src/app/auth.py:1:class Policy:",
        "src/main.py:1:from app.auth import Policy",
    ]


def test_parallel_reads_counts_lines_in_the_order_of_the_files(project: Path) -> None:
    value = run_script("parallel_reads.js", project, pattern="src/**/*.py")
    assert (value["files"], value["lines"]) == (3, 4)
    assert value["longest"][0] == {"file": "src/app/auth.py", "lines": 2}


@pytest.mark.promise("P4")
def test_catch_errors_names_the_code_of_each_failure(project: Path) -> None:
    value = run_script("catch_errors.js", project, files=["README.md", "missing.txt", "../outside"])
    assert value == {
        "found": {"README.md": 6},
        "failed": {"missing.txt": "file_not_found", "../outside": "workspace_parent_traversal"},
    }

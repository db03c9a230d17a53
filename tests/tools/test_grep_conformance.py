"""grep against ripgrep and GNU grep as second and third implementations: equal answers on one tree.

The documented differences are left out on purpose: ASCII classes (`\\w` and `\\b` in ripgrep are Unicode), UTF-16
(ripgrep decodes it, we report it as binary), NUL after the first 8,000 bytes.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptc.tools.grep import Searcher
from ptc.workspace.local import LocalWorkspace
from tests.tools.make_tree import make_tree

BESIDE_PYTHON = Path(sys.executable).with_name("rg")
RG = str(BESIDE_PYTHON) if BESIDE_PYTHON.exists() else shutil.which("rg")
GREP = shutil.which("grep")

PATTERNS = [
    "Policy",
    "class [A-Z][a-z]+",
    "^class",
    ":$",
    "(foo|bar|needle)",
    "(?i)NEEDLE",
    "é",
    "(?i)É",
    "caf.",
    "[äö]",
    "a.{3}b",
    "^$",
    "x*",
    "needle|^\\s*$",
    "\\.py",
    "z{2,}",
    "a$",
    "\\(B.*:$",
]


def never() -> bool:
    return False


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    make_tree(root, 120, seed=7)
    rng = random.Random(3)
    for number in range(60):
        folder = root / rng.choice(["plain", "plain/deep", "-dash", "sp ace", ".hidden", "cached"])
        folder.mkdir(parents=True, exist_ok=True)
        lines = [
            "".join(
                rng.choice(["a", "b", "z", "é", "É", "ö", " ", "needle", "Needle", "foo", ".py", ":", "\t"])
                for _ in range(9)
            )
            for _ in range(rng.randint(0, 40))
        ]
        end = rng.choice(["\n", "\r\n"])
        (folder / f"f{number}.{rng.choice(['py', 'txt'])}").write_bytes(
            (end.join(lines) + rng.choice(["", end])).encode()
        )
    (root / "latin.txt").write_bytes(b"caf\xe9 needle\nxx \xff caf\xc3\xa9\n")
    (root / "empty").write_bytes(b"")
    (root / "binary").write_bytes(b"needle\0needle\n")
    (root / os.fsdecode(b"n\xe4me")).write_text("needle\n")
    (root / ".gitignore").write_text("cached/\n*.md\n!keep.md\n")
    (root / "keep.md").write_text("needle\n")
    (root / "link").symlink_to(root / "plain")
    return root


@pytest.fixture(scope="module")
def workspace(tree: Path) -> Iterator[LocalWorkspace]:
    with LocalWorkspace(tree) as made:
        yield made


def counts(searcher: Searcher, workspace: LocalWorkspace, pattern: str, **args: object) -> dict[bytes, int]:
    result = searcher.search(workspace, {"pattern": pattern, "output_mode": "count", **args}, never)
    assert not result.truncated
    return {os.fsencode(row["path"]): row["count"] for row in result.data}


def run(program: str, *args: str, cwd: Path) -> dict[bytes, int]:
    done = subprocess.run([program, *args], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    rows = (line.rpartition(b"\0") for line in done.stdout.split(b"\n") if line)
    return {path.removeprefix(b"./"): int(count) for path, _, count in rows if int(count)}


@pytest.mark.skipif(RG is None, reason="no ripgrep on this machine; install the extra `rg`")
@pytest.mark.parametrize("pattern", PATTERNS)
def test_grep_and_ripgrep_count_the_same_lines_in_the_same_files(
    tree: Path, workspace: LocalWorkspace, pattern: str
) -> None:
    assert RG is not None
    flags = [
        "--no-config",
        "--no-messages",
        "--hidden",
        "--no-require-git",
        "--no-ignore-global",
        "--crlf",
        "-g",
        "!.git",
    ]
    expected = run(RG, *flags, "--encoding", "none", "-c", "-0", "-e", pattern, "--", ".", cwd=tree)
    searcher = Searcher()
    assert counts(searcher, workspace, pattern) == expected
    # The same again, now from memory.
    assert counts(searcher, workspace, pattern) == expected


@pytest.mark.skipif(RG is None, reason="no ripgrep on this machine; install the extra `rg`")
@pytest.mark.parametrize("context", [0, 1, 3])
def test_grep_and_ripgrep_show_the_same_lines(tree: Path, workspace: LocalWorkspace, context: int) -> None:
    assert RG is not None
    flags = [
        "--no-config",
        "--hidden",
        "--no-require-git",
        "--no-ignore-global",
        "--sort",
        "path",
        "-n",
        "--no-heading",
    ]
    done = subprocess.run(
        [RG, *flags, "-C", str(context), "--with-filename", "-e", "needle", "--", "plain", "-dash"],
        cwd=tree,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    expected = sorted(line.removesuffix("\r") for line in done.stdout.decode().split("\n") if line not in ("", "--"))
    shown: list[str] = []
    for path in ("plain", "-dash"):
        args = {"pattern": "needle", "path": path, "context_lines": context}
        output = Searcher().search(workspace, args, never).output
        shown += [line for line in output.split("\n") if line not in ("", "--")]
    assert sorted(shown) == expected


@pytest.mark.skipif(GREP is None, reason="no grep on this machine")
@pytest.mark.parametrize("literal", ["Policy", "needle", "class Policy(Base):", "z"])
def test_a_plain_text_search_counts_as_grep_rc_does(tree: Path, workspace: LocalWorkspace, literal: str) -> None:
    assert GREP is not None
    expected = run(GREP, "-rcFIZ", "--include=*.py", "-e", literal, ".", cwd=tree)
    found = counts(Searcher(), workspace, literal, fixed_strings=True, glob="*.py", include_ignored=True)
    assert found == expected

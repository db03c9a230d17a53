"""grep against the ripgrep binary, in the same run on the same tree: cold, second search, and a small folder.

"Cold" is a search with an empty cache of our own; the system's page cache is warm for both. Each pair is measured in
turns and the best of several is taken, so that a busy machine disturbs both alike.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ptc.tools.grep import Searcher  # noqa: E402 - the script runs without an installation too
from ptc.workspace.local import LocalWorkspace  # noqa: E402
from tests.tools.make_tree import make_tree  # noqa: E402

FILES = 7_000
ROUNDS = 7
FIRST, SECOND = "import", "Policy"
RG_FLAGS = ("--no-config", "--no-messages", "--no-heading", "-n", "--hidden", "--no-require-git", "-g", "!.git")


def find_rg() -> str | None:
    """The ripgrep binary beside this Python, or on PATH; None if there is none."""
    beside = Path(sys.executable).with_name("rg")
    return str(beside) if beside.exists() else shutil.which("rg")


def rows() -> list[tuple[str, float, float]]:
    """(what, our milliseconds, ripgrep's milliseconds); an empty list without an rg binary."""
    rg = find_rg()
    if rg is None:
        return []
    with tempfile.TemporaryDirectory() as folder:
        big, small = Path(folder, "big"), Path(folder, "small")
        make_tree(big, FILES)
        make_tree(small, 10)
        time.sleep(2.1)  # files written a moment ago are read again by every search; a real tree is older
        with LocalWorkspace(big) as tree, LocalWorkspace(small) as few:
            cold, second, same, ours_small = [], [], [], []
            rg_cold, rg_second, rg_small = [], [], []
            for _ in range(ROUNDS):
                searcher = Searcher()
                cold.append(_timed(partial(_search, searcher, tree, FIRST)))
                rg_cold.append(_timed(lambda: _ripgrep(rg, big, FIRST)))
                second.append(_timed(partial(_search, searcher, tree, SECOND)))
                rg_second.append(_timed(lambda: _ripgrep(rg, big, SECOND)))
                same.append(_timed(partial(_search, searcher, tree, SECOND)))
                ours_small.append(_timed(lambda: _search(Searcher(), few, SECOND)))
                rg_small.append(_timed(lambda: _ripgrep(rg, small, SECOND)))
    return [
        (f"grep, {FILES:,} files, cold", min(cold), min(rg_cold)),
        (f"grep, {FILES:,} files, second search, another pattern", min(second), min(rg_second)),
        (f"grep, {FILES:,} files, second search, same pattern", min(same), min(rg_second)),
        ("grep, 10 files, cold", min(ours_small), min(rg_small)),
    ]


def _timed(function: Callable[[], object]) -> float:
    started = time.perf_counter()
    function()
    return (time.perf_counter() - started) * 1_000


def _search(searcher: Searcher, workspace: LocalWorkspace, pattern: str) -> int:
    matches = searcher.search(workspace, {"pattern": pattern}, lambda: False).metadata["matches"]
    return int(matches)


def _ripgrep(rg: str, folder: Path, pattern: str) -> int:
    done = subprocess.run(
        [rg, *RG_FLAGS, "-e", pattern, "--", "."], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True
    )
    return done.stdout.count(b"\n")


if __name__ == "__main__":
    for what, ours, theirs in rows():
        print(f"{what:55} {ours:8.2f} ms   ripgrep {theirs:8.2f} ms   {ours / theirs:5.2f}x")

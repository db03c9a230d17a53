"""A host that is killed while it writes and edits leaves every file whole: the old content or the new.

PTC_KILLS sets how many are killed; 100 in an ordinary run.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent.parent
KILLS = int(os.environ.get("PTC_KILLS", "100"))


@pytest.mark.promise("P4")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.timeout(60 + KILLS)
def test_no_kill_leaves_a_torn_file(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "tests" / "crash" / "host.py"), str(tmp_path), str(KILLS)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=50 + KILLS,
        check=True,
    )
    report = ast.literal_eval(done.stdout)
    assert report["torn"] == []
    assert report["left"] == []
    assert report["kills"] == KILLS
    assert report["moments"] > 1  # they were killed at different points of their work

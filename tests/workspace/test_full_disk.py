"""A disk that is really full: the tools say so, the old file is whole, and afterwards everything works again."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from ptc.session import Session
from ptc.workspace.local import LocalWorkspace

pytestmark = pytest.mark.anyio

DISK = 256 * 1024
OLD = "old\n" + "o" * 60_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB in memory. Mounting one takes the rights of root."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)], capture_output=True, timeout=20
    )
    if mounted.returncode != 0:
        pytest.skip("no small file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=20)


@pytest.mark.promise("P4")
@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("write", {"path": "f", "content": "n" * 300_000}),
        ("write", {"path": "new", "content": "n" * 300_000}),
        ("write", {"path": "f", "content": "n" * 150_000, "mode": "append", "expected_offset": len(OLD)}),
        ("edit", {"path": "f", "old_string": "old", "new_string": "n" * 200_000}),
        ("patch", {"patch": "*** Begin Patch\n*** Add File: new\n+" + "n" * 250_000 + "\n*** End Patch\n"}),
    ],
)
async def test_a_full_disk_says_so_and_leaves_everything_as_it_was(
    disk: Path, tool: str, args: dict[str, object]
) -> None:
    (disk / "f").write_text(OLD)
    with LocalWorkspace(disk) as workspace:
        async with Session(workspace) as session:
            with anyio.fail_after(30):
                result = await session.tool(tool, args)
                assert result.error is not None
                assert result.error.code == "disk_full"
                assert result.output.startswith("[file] ")
                assert {file.name: file.read_text() for file in disk.iterdir()} == {"f": OLD}
                # What the refused call had begun takes no room any more.
                assert (await session.tool("write", {"path": "g", "content": "g" * 100_000})).ok

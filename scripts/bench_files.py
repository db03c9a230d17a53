"""edit and write of a file of 1 MB, without and with fsync, beside the bare system calls in the same run.

A call goes through the kernel of a session, as a host's or a model's does. The bare figure is what any tool must pay to
replace a file safely: write a temporary file, flush it and its folder if asked to, rename it. Each pair is measured in
turns and the best of several is taken, so that a busy machine disturbs both alike.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ptc.session import Session  # noqa: E402 - the script runs without an installation too
from ptc.workspace.local import LocalWorkspace  # noqa: E402

SIZE = 1_000_000
ROUNDS = 15
LINE = "the quick brown fox jumps over the lazy dog, line {:06d}\n"


def rows() -> list[tuple[str, float, float]]:
    """(what, our milliseconds, milliseconds of the bare system calls)."""
    return [row for fsync in (False, True) for row in asyncio.run(_measured(fsync))]


async def _measured(fsync: bool) -> list[tuple[str, float, float]]:
    text = "".join(LINE.format(number) for number in range(SIZE // len(LINE.format(0)) + 1))[:SIZE]
    middle = LINE.format(SIZE // len(LINE.format(0)) // 2)
    write, edit, bare = [], [], []
    with tempfile.TemporaryDirectory(dir=ROOT) as folder, LocalWorkspace(folder, fsync=fsync) as workspace:
        async with Session(workspace) as session:
            for number in range(ROUNDS):
                write.append(await _timed(session, "write", {"path": "f", "content": text}))
                change = {"path": "f", "old_string": middle, "new_string": f"{number}\n"}
                edit.append(await _timed(session, "edit", change))
                bare.append(_replace(Path(folder), text.encode(), fsync))
    how = f"fsync {'on' if fsync else 'off'}"
    return [(f"write of 1 MB, {how}", min(write), min(bare)), (f"edit in 1 MB, {how}", min(edit), min(bare))]


async def _timed(session: Session, tool: str, args: dict[str, str]) -> float:
    started = time.perf_counter()
    result = await session.tool(tool, args)
    took = time.perf_counter() - started
    assert result.error is None, result.output
    return took * 1_000


def _replace(folder: Path, data: bytes, fsync: bool) -> float:
    started = time.perf_counter()
    with open(folder / "temporary", "wb", buffering=0) as file:
        file.write(data)
        if fsync:
            os.fsync(file.fileno())
    os.replace(folder / "temporary", folder / "bare")
    if fsync:
        descriptor = os.open(folder, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
    return (time.perf_counter() - started) * 1_000


if __name__ == "__main__":
    for what, ours, bare in rows():
        print(f"{what:40} {ours:8.2f} ms   bare system calls {bare:8.2f} ms")

"""A host that writes and edits until it is killed; run as a file by `test_kills.py`, which forks it many times.

Each file says its number at its head and at its tail. A file whose head and tail differ, or that is cut short, is torn.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from pathlib import Path

from ptc.testing import MemoryWorkspace  # noqa: F401 - loads the workspace room before the forks
from ptc.tools.edit import edit_tool
from ptc.tools.write import write_tool
from ptc.workspace.local import LocalWorkspace
from tests.tools.file_tools import context

BODY = "x" * 60_000 + "\n"
LANES = 4


def content(number: int) -> str:
    return f"head {number}\n{BODY}tail {number}\n"


def number_in(text: str) -> int | None:
    """The number of a whole file; None for a torn one."""
    head, _, rest = text.partition("\n")
    number = head.removeprefix("head ")
    return int(number) if number.isdigit() and rest == f"{BODY}tail {number}\n" else None


async def write_and_edit(folder: Path, ready: int) -> None:
    write, edit = write_tool(), edit_tool()
    with LocalWorkspace(folder) as workspace:
        given = context(workspace)
        for number in range(10**9):
            await write.run(given, {"path": "f", "content": content(number)})
            if number == 0:
                os.write(ready, b"r")
            edits = [{"old": f"{end} {number}\n", "new": f"{end} {number + 1}\n"} for end in ("head", "tail")]
            await edit.run(given, {"path": "f", "edits": edits})
            await write.run(given, {"path": f"g{number % 3}", "content": content(number)})


def start(folder: Path) -> tuple[int, int]:
    """A host in a process of its own; gives its id once it has begun to write."""
    ready, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        asyncio.run(write_and_edit(folder, tell))
        os._exit(1)
    os.close(tell)
    return pid, ready


def main(root: Path, kills: int) -> None:
    """Kill `kills` hosts at random moments; print how many, and the files that were found torn."""
    torn: list[str] = []
    folders = [root / f"lane{lane}" for lane in range(LANES)]
    for folder in folders:
        folder.mkdir()
    seen: set[int] = set()
    left = kills
    while left > 0:
        hosts = [(folder, *start(folder)) for folder in folders[: min(LANES, left)]]
        for _, _, ready in hosts:
            os.read(ready, 1)
            os.close(ready)
        for _, pid, _ in hosts:
            time.sleep(random.uniform(0, 0.006))
            os.kill(pid, signal.SIGKILL)
        for folder, pid, _ in hosts:
            _, status = os.waitpid(pid, 0)
            assert os.WTERMSIG(status) == signal.SIGKILL
            left -= 1
            for file in folder.iterdir():
                if file.name.startswith(".ptc-tmp-"):
                    continue
                number = number_in(file.read_text())
                if number is None:
                    torn.append(str(file))
                else:
                    seen.add(number)
    for folder in folders:
        with LocalWorkspace(folder) as workspace:  # the next writer clears what the dead have left
            workspace.write_bytes(workspace.resolve("after", for_write=True), b"")
    rest = [str(file) for folder in folders for file in folder.iterdir() if file.name.startswith(".")]
    print({"kills": kills, "torn": torn, "left": rest, "moments": len(seen)})


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

"""Lay out the workspace of a case, and the race that changes it while the program runs."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.attacks.cases import CaseError

__all__ = ["Race", "build"]


def build(spec: Mapping[str, Any], workspace: Path, outside: Path) -> None:
    """Create `workspace` and `outside` as the case says; modes last, so that nothing is refused before.

    Raises CaseError for a kind of generated entry that is not known.
    """
    workspace.mkdir()
    outside.mkdir()
    for folder, files in ((outside, spec.get("outside", {})), (workspace, spec.get("files", {}))):
        for name, text in files.items():
            _write(folder / name, text.encode("utf-8", "surrogatepass"))
    for name, text in spec.get("files_base64", {}).items():
        _write(workspace / name, base64.b64decode(text))
    for entry in spec.get("generate", ()):
        _generate(entry, workspace)
    for name, size in spec.get("sparse", {}).items():
        _write(workspace / name, b"")
        os.truncate(workspace / name, size)
    for name, target in spec.get("symlinks", {}).items():
        _parent(workspace / name).symlink_to(target)
    for name, target in spec.get("hardlinks", {}).items():
        _parent(workspace / name).hardlink_to(outside / target)
    for name in spec.get("fifos", ()):
        os.mkfifo(_parent(workspace / name))
    for name in spec.get("sockets", ()):
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(_parent(workspace / name)))
    if spec.get("git_init"):
        subprocess.run(["git", "init", "-q"], cwd=workspace, check=True, stdin=subprocess.DEVNULL)
    for name, mode in spec.get("modes", {}).items():
        os.chmod(workspace / name, int(mode, 8))


def _parent(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _write(path: Path, data: bytes) -> None:
    _parent(path).write_bytes(data)


def _generate(entry: Mapping[str, Any], workspace: Path) -> None:
    if "path" in entry:
        _write(workspace / entry["path"], (entry["repeat"] * entry["times"] + entry.get("suffix", "")).encode())
    elif "dir" in entry:
        (workspace / entry["dir"]).mkdir(parents=True)
        content = entry.get("content", "").encode()
        for number in range(entry["count"]):
            (workspace / entry["dir"] / (entry["name"] % number)).write_bytes(content)
    elif "nest" in entry:
        _nest(workspace, entry["nest"], entry["levels"])
    else:
        raise CaseError(f"generate entry with the keys {sorted(entry)} is unknown")


def _nest(workspace: Path, name: str, levels: int) -> None:
    """Folders inside one another; by descriptors, because the path becomes longer than the system takes."""
    at = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=at)
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)


class Race:
    """A thread that swaps one path between states, or lets it grow, for as long as the context lasts.

    swaps: how often it has acted; a race that never acted has tested nothing.
    """

    def __init__(self, spec: Mapping[str, Any], workspace: Path) -> None:
        self.swaps = 0
        self._path = workspace / spec["path"]
        self._workspace = workspace
        self._states: list[Mapping[str, str]] = list(spec.get("alternate", ()))
        self._append = spec.get("append", "").encode()
        self._most = spec.get("max_bytes", 64 * 1024**2)
        self._period = spec.get("period_us", 1_000) / 1_000_000
        self._stop = threading.Event()
        unknown = {key for state in self._states for key in state} - {"rename_dir", "symlink", "file"}
        if unknown or not (self._states or self._append):
            raise CaseError(f"race with the states {sorted(unknown)} is unknown")

    @contextmanager
    def running(self) -> Iterator[Race]:
        """Race until the block ends; the thread is gone afterwards."""
        thread = threading.Thread(target=self._grow if self._append else self._swap, name="race")
        thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            thread.join()

    def _grow(self) -> None:
        with self._path.open("ab", buffering=0) as file:
            while not self._stop.wait(self._period):
                if file.tell() < self._most:
                    file.write(self._append)
                    self.swaps += 1

    def _swap(self) -> None:
        entered: Mapping[str, str] | None = None
        turn = 0
        while not self._stop.wait(self._period):
            if entered is not None:
                self._leave(entered)
            entered = self._states[turn % len(self._states)]
            turn += 1
            self._enter(entered)
            self.swaps += 1
        if entered is not None:
            self._leave(entered)

    def _enter(self, state: Mapping[str, str]) -> None:
        if os.path.lexists(self._path):  # the program put something of its own there in between
            os.rename(self._path, self._path.with_name(f"{self._path.name}.raced-{self.swaps}"))
        if "rename_dir" in state:
            os.rename(self._workspace / state["rename_dir"], self._path)
        elif "symlink" in state:
            os.symlink(state["symlink"], self._path)
        else:
            self._path.write_text(state["file"])

    def _leave(self, state: Mapping[str, str]) -> None:
        if "rename_dir" in state:
            os.rename(self._path, self._workspace / state["rename_dir"])
        else:
            os.unlink(self._path)

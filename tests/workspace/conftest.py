"""Workspaces of every kind, over the same folder layout."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptc.workspace._openat2 import Opener, find_opener, open_by_openat2, open_by_walk
from ptc.workspace.base import Workspace
from ptc.workspace.local import LocalWorkspace
from ptc.workspace.memory import MemoryWorkspace


def openers() -> list[object]:
    """Both openers; openat2 only where the kernel has it."""
    fd = os.open("/", os.O_RDONLY)
    try:
        has_openat2 = find_opener(fd) is open_by_openat2
    finally:
        os.close(fd)
    skip = pytest.mark.skipif(not has_openat2, reason="no openat2 here")
    return [pytest.param(open_by_openat2, id="openat2", marks=skip), pytest.param(open_by_walk, id="walk")]


@pytest.fixture(params=openers())
def opener(request: pytest.FixtureRequest) -> Opener:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("outside")
    return folder


@pytest.fixture
def local(root: Path, opener: Opener) -> Iterator[LocalWorkspace]:
    with LocalWorkspace(root, opener=opener, fsync=False) as workspace:
        yield workspace


@pytest.fixture(params=[*openers(), pytest.param(None, id="memory")])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workspace]:
    if request.param is None:
        yield MemoryWorkspace()
        return
    folder = tmp_path / "ws"
    folder.mkdir()
    with LocalWorkspace(folder, opener=request.param) as made:
        yield made

"""Workspaces of every kind, over the same folder layout."""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from ptc.workspace._openat2 import Opener, find_opener, open_by_openat2, open_by_walk
from ptc.workspace.base import Workspace
from ptc.workspace.local import LocalWorkspace
from ptc.workspace.memory import MemoryWorkspace
from ptc.workspace.remote import RemoteWorkspace


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


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The address of a real S3 service on loopback with one bucket, `bucket`."""
    moto = pytest.importorskip("moto.server", reason="moto is not installed")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    httpx2.put(f"http://{host}:{port}/bucket").raise_for_status()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3: str) -> Iterator[RemoteWorkspace]:
    """A folder of its own in the bucket, as a workspace."""
    s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed")
    options = {"key": "key", "secret": "s3cr3t-of-the-bucket", "client_kwargs": {"region_name": "us-east-1"}}
    fs = s3fs.S3FileSystem(endpoint_url=s3, skip_instance_cache=True, **options)
    yield RemoteWorkspace(fs, f"bucket/{uuid.uuid4().hex}")
    fs.clear_instance_cache()


@pytest.fixture
def in_memory_fs() -> RemoteWorkspace:
    """fsspec's filesystem in memory, a folder of its own."""
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    fs = fsspec.filesystem("memory", skip_instance_cache=True)
    root = f"/{uuid.uuid4().hex}"
    fs.makedirs(root)
    return RemoteWorkspace(fs, root)


@pytest.fixture(params=[*openers(), "memory", "remote memory", "remote s3"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workspace]:
    """Every kind of workspace, empty."""
    remote = {"remote memory": "in_memory_fs", "remote s3": "bucket"}.get(str(request.param))
    if remote is not None:
        yield request.getfixturevalue(remote)
        return
    if request.param == "memory":
        yield MemoryWorkspace()
        return
    folder = tmp_path / "ws"
    folder.mkdir()
    with LocalWorkspace(folder, opener=request.param) as made:
        yield made

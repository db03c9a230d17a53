"""RemoteWorkspace: what it can do is what the backend can, what it cannot is absent and says so, secrets stay inside."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from ptc.errors import ConfigError, ToolError
from ptc.kernel.permission import Policy
from ptc.session import Session
from ptc.workspace.base import ABSENT
from ptc.workspace.remote import RemoteWorkspace

pytestmark = pytest.mark.anyio


@pytest.mark.promise("P5")
@pytest.mark.parametrize("kind", ["in_memory_fs", "bucket"])
async def test_what_it_cannot_do_is_absent_and_says_so(kind: str, request: pytest.FixtureRequest) -> None:
    async with Session(request.getfixturevalue(kind)) as session:
        assert {"bash", "git"}.isdisjoint(session.tool_names())
        with anyio.fail_after(30):
            result = await session.tool("bash", {"argv": ["ls"]})
            program = await session.program(
                "export default async ctx => { try { await ctx.git('status') } catch (e) { return e.code } }",
                allowed_tools=["git", "read"],
            )
    assert result.error is not None
    assert result.error.code == "tool_unavailable"
    assert "cannot be reached by other programs" in result.error.message
    assert program.value == "tool_unavailable"
    assert any("git" in warning.message for warning in program.warnings)


@pytest.mark.promise("P5")
async def test_a_method_of_a_tool_that_is_absent_says_why_in_a_script(in_memory_fs: RemoteWorkspace) -> None:
    source = (
        "export default async ctx => { try { await ctx.recallMemory('x') } catch (e) { return [e.code, e.message] } }"
    )
    async with Session(in_memory_fs) as session:
        with anyio.fail_after(30):
            code, message = (await session.program(source)).value
    assert code == "tool_unavailable"
    assert "memory='memory.db'" in message


async def test_a_read_only_workspace_has_no_tools_that_write(in_memory_fs: RemoteWorkspace) -> None:
    fs = fsspec.filesystem("memory")
    fs.pipe_file("/ro/a", b"1")
    async with Session(RemoteWorkspace(fs, "/ro", read_only=True)) as session:
        assert {"write", "edit", "patch"}.isdisjoint(session.tool_names())
        with anyio.fail_after(30):
            refused = await session.tool("write", {"path": "b", "content": ""})
    assert refused.error is not None
    assert refused.error.code == "tool_unavailable"


def test_capabilities_are_those_of_the_backend(in_memory_fs: RemoteWorkspace, bucket: RemoteWorkspace) -> None:
    assert in_memory_fs.capabilities == {"read", "write", "atomic"}
    assert bucket.capabilities == {"read", "write", "atomic", "compare-and-swap"}


@pytest.mark.promise("P4")
def test_of_two_who_replace_what_they_read_one_is_refused_by_the_store_itself(bucket: RemoteWorkspace) -> None:
    at = bucket.resolve("a", for_write=True)
    version = bucket.write_bytes(at, b"old", expected=ABSENT).version
    other = RemoteWorkspace(bucket._backend.fs, bucket._backend.root)
    codes: list[str | None] = []
    start = threading.Barrier(2)

    def replace(workspace: RemoteWorkspace, data: bytes) -> None:
        start.wait(10)
        try:
            workspace.write_bytes(at, data, expected=version)
            codes.append(None)
        except ToolError as error:
            codes.append(error.code)

    threads = [threading.Thread(target=replace, args=pair) for pair in ((bucket, b"one"), (other, b"two"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(codes, key=str) == [None, "file_changed"]
    with pytest.raises(ToolError) as caught:
        other.write_bytes(at, b"new", expected=ABSENT)
    assert caught.value.code == "file_changed"


@pytest.mark.parametrize("path", ["a?versionId=1", "a#12", "a\\b", "d/x?VERSIONID=null"])
def test_a_name_that_means_another_file_to_a_backend_is_refused(in_memory_fs: RemoteWorkspace, path: str) -> None:
    with pytest.raises(ToolError) as caught:
        in_memory_fs.resolve(path)
    assert caught.value.code == "workspace_unknown"


class Broken(MemoryFileSystem):  # type: ignore[misc]
    """A backend that fails with a message full of secrets."""

    protocol = "broken"
    error: Exception = OSError("https://user:hunter2-secret@host/bucket?X-Amz-Signature=abc")

    def cat_file(self, *args: Any, **options: Any) -> bytes:
        raise self.error

    def pipe_file(self, *args: Any, **options: Any) -> None:
        raise self.error


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError("https://user:hunter2-secret@host/x"), "io_error"),
        (PermissionError("hunter2-secret"), "file_access_denied"),
        (TimeoutError("hunter2-secret"), "io_error"),
        (ValueError("hunter2-secret"), "io_error"),
        (NotImplementedError("hunter2-secret"), "workspace_read_only"),
        (FileNotFoundError("hunter2-secret"), "file_not_found"),
    ],
)
def test_every_failure_has_a_code_and_tells_no_secret(error: Exception, code: str) -> None:
    fs = Broken(skip_instance_cache=True)
    MemoryFileSystem.pipe_file(fs, "/broken/a", b"1")
    fs.error = error
    workspace = RemoteWorkspace(fs, "/broken")
    for call in (
        lambda: workspace.read_bytes(workspace.resolve("a"), max_bytes=10),
        lambda: workspace.write_bytes(workspace.resolve("b", for_write=True), b""),
    ):
        with pytest.raises(ToolError) as caught:
            call()
        assert "hunter2-secret" not in f"{caught.value.message} {caught.value.details} {caught.value.__cause__}"
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: RemoteWorkspace("s3://bucket"), "an fsspec filesystem"),
        (lambda: RemoteWorkspace(fsspec.filesystem("memory"), "/none/there"), "does not exist"),
        (lambda: RemoteWorkspace.from_url("nosuch://x"), "cannot be opened"),
    ],
)
def test_what_is_no_filesystem_is_refused_with_what_would_be(make: Any, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make()
    assert caught.value.code == "invalid_workspace"
    assert says in caught.value.message


def test_a_url_opens_a_workspace_and_its_password_is_never_told(tmp_path: Path) -> None:
    workspace = RemoteWorkspace.from_url(f"file://{tmp_path}")
    workspace.write_bytes(workspace.resolve("a", for_write=True), b"1")
    assert (tmp_path / "a").read_bytes() == b"1"
    with pytest.raises(ConfigError) as caught:
        RemoteWorkspace.from_url("nosuch://user:hunter2-secret@host/x")
    assert "hunter2-secret" not in caught.value.message


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(ConfigError) as caught:
        RemoteWorkspace.from_url("memory://x")
    assert "ptc-sandbox[remote]" in caught.value.message


async def test_rules_judge_its_paths_like_any_other(in_memory_fs: RemoteWorkspace) -> None:
    at = in_memory_fs.resolve("secret/key", for_write=True)
    in_memory_fs.write_bytes(at, b"k", create_dirs=True)
    async with Session(in_memory_fs, policy=Policy(deny=["read(secret/**)"])) as session:
        with anyio.fail_after(30):
            denied = await session.governed_tool("read", {"path": "secret/key"})
            hidden = await session.governed_tool("grep", {"pattern": "k"})
    assert denied.error is not None
    assert denied.error.code == "permission_denied"
    assert "key" not in hidden.output


@pytest.mark.promise("P3")
@pytest.mark.parametrize(
    ("blocked", "call"),
    [
        ("cat_file", "ctx.readFile('a')"),
        ("ls", "ctx.ls('.')"),
        ("pipe_file", "ctx.write({path: 'b', content: 'x'})"),
    ],
)
async def test_a_program_ends_in_its_time_although_the_backend_never_answers(
    in_memory_fs: RemoteWorkspace, blocked: str, call: str
) -> None:
    in_memory_fs.write_bytes(in_memory_fs.resolve("a", for_write=True), b"text")
    entered, release = threading.Event(), threading.Event()

    def hanging(*args: Any, **options: Any) -> Any:
        entered.set()
        release.wait(30)
        raise TimeoutError

    setattr(in_memory_fs._backend.fs, blocked, hanging)
    try:
        async with Session(in_memory_fs) as session:
            started = time.monotonic()
            with anyio.fail_after(20):
                result = await session.program(
                    f"export default async ctx => {{ await {call} }}", limits={"timeout_ms": 500}
                )
            took = time.monotonic() - started
            release.set()
    finally:
        release.set()
        delattr(in_memory_fs._backend.fs, blocked)
    assert entered.is_set()
    assert result.status == "timed_out"
    assert took < 2.0
    assert [record.state for record in result.calls] == ["unknown" if blocked == "pipe_file" else "failed"]


async def test_a_slow_backend_does_not_hold_up_the_event_loop(in_memory_fs: RemoteWorkspace) -> None:
    entered, release = threading.Event(), threading.Event()
    fs = in_memory_fs._backend.fs
    original = fs.cat_file

    def slow(*args: Any, **options: Any) -> Any:
        entered.set()
        release.wait(20)
        return original(*args, **options)

    in_memory_fs.write_bytes(in_memory_fs.resolve("a", for_write=True), b"text")
    fs.cat_file = slow
    try:
        async with Session(in_memory_fs) as session:
            with anyio.fail_after(30):
                async with anyio.create_task_group() as group:
                    group.start_soon(session.tool, "read", {"path": "a"})
                    while not entered.is_set():
                        await anyio.sleep(0.005)
                    # The loop turns while the backend does not answer.
                    assert (await session.tool("echo", {"text": "here"})).output == "here"
                    release.set()
    finally:
        release.set()
        del fs.cat_file

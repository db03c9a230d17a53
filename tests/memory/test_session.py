"""The option `memory` of a session: absent, a file of its own, or a store of the host."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from ptc.errors import ConfigError
from ptc.memory import MemoryStore
from ptc.session import Session
from ptc.testing import InProcessPool, MemoryWorkspace
from ptc.tools._memory_tools import MEMORY_TOOLS

pytestmark = pytest.mark.anyio
SECRET = "hunter2-canary"


@pytest.mark.promise("P5")
async def test_without_memory_the_tools_are_absent_and_the_option_is_named() -> None:
    async with Session(MemoryWorkspace({}), pool=InProcessPool()) as session:
        assert session.memory is None
        assert not set(MEMORY_TOOLS) & set(session.tool_names())
        for name in MEMORY_TOOLS:
            result = await session.tool(name, {"query": "x"})
            assert result.error is not None
            assert result.error.code == "tool_unavailable"
            assert "Session(memory=" in result.error.message


async def test_what_one_session_remembers_the_next_recalls_without_its_secrets(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    options: dict[str, Any] = {"memory": path, "pool": InProcessPool(), "secrets": [SECRET]}
    async with Session(MemoryWorkspace({}), **options) as session:
        assert session.memory is not None
        await session.tool("remember_memory", {"content": f"the pool uses {SECRET}"})
        await session.memory.add_message("s1", "user", f"said {SECRET}")
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ptc-memory")]
    assert SECRET.encode() not in path.read_bytes()
    async with Session(MemoryWorkspace({}), **options) as session:
        result = await session.program("export default async (ctx) => (await ctx.recallMemory('pool'))[0].content;")
        assert result.value == "the pool uses [secret removed]"


async def test_a_store_of_the_host_keeps_its_scope_and_stays_open(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "memory.db", scope="user:ada") as store:
        async with Session(MemoryWorkspace({}), memory=store, pool=InProcessPool(), secrets=[SECRET]) as session:
            result = await session.tool("remember_memory", {"content": f"hers, {SECRET}"})
            assert result.data["scope"] == "user:ada"
        assert [memory.content for memory in await store.memories()] == ["hers, [secret removed]"]


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("memory", "code"), [(5, "invalid_option"), ("", "invalid_option"), ("/proc/none/m.db", "memory_unavailable")]
)
async def test_a_memory_that_cannot_be_used_is_refused_before_anything_runs(memory: object, code: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Session(MemoryWorkspace({}), memory=memory, pool=InProcessPool())  # type: ignore[arg-type]
    assert raised.value.code == code


async def test_a_session_that_cannot_be_made_leaves_no_database_open(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        Session(MemoryWorkspace({}), memory=tmp_path / "m.db", tools=["no tool"], pool=InProcessPool())  # type: ignore[list-item]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ptc-memory")]
    assert not (tmp_path / "m.db-wal").exists()


def test_a_session_without_memory_loads_no_database() -> None:
    code = (
        "import sys; from ptc import Session; from ptc.testing import InProcessPool, MemoryWorkspace\n"
        "Session(MemoryWorkspace({}), pool=InProcessPool()); print('sqlite3' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("False\n", "")

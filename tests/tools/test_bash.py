"""bash: real commands in the sandbox, judged before they run, ended with all that they started."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from ptc.errors import ConfigError, ToolError
from ptc.events import Audit, CallEnded, OutputDelta
from ptc.kernel.permission import Policy
from ptc.results import ToolResult
from ptc.sandbox.probe import probe
from ptc.session import Session
from ptc.shell.policy import BashPolicy
from ptc.workspace.local import LocalWorkspace
from tests.sandbox.conftest import processes

pytestmark = pytest.mark.anyio

try:
    probe()
except ToolError as error:  # the reason stands in the report of the run
    pytestmark = [pytest.mark.anyio, pytest.mark.skip(reason=f"no sandbox here: {error.message}")]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("one\ntwo\n")
    return folder


@asynccontextmanager
async def opened(root: Path, **options: Any) -> AsyncIterator[Session]:
    async with Session(root, **options) as session:
        with anyio.fail_after(60):
            yield session


async def bash(
    root: Path, asked: list[str] | str, session_options: dict[str, Any] | None = None, **args: Any
) -> ToolResult:
    key = "argv" if isinstance(asked, list) else "command"
    async with opened(root, **(session_options or {})) as session:
        return await session.tool("bash", {key: asked, **args})


# --- what it gives ---------------------------------------------------------------------------------------------------


async def test_argv_runs_as_it_is_and_no_shell_reads_it(root: Path) -> None:
    result = await bash(root, ["printf", "%s\\n", "$HOME; *"])
    assert result.data["stdout"] == "$HOME; *\n"
    assert (result.exit_code, result.error, result.output) == (0, None, "$HOME; *")
    assert {key: result.metadata[key] for key in ("policy", "risk", "sandbox_denied")} == {
        "policy": "coder", "risk": "low", "sandbox_denied": False
    }  # fmt: skip


async def test_a_line_is_run_by_bash(root: Path) -> None:
    result = await bash(root, 'for f in *.txt; do wc -l < "$f"; done | sort; cd sub && pwd')
    assert result.data["stdout"] == f"2\n{root}/sub\n"


async def test_another_exit_code_is_an_answer_and_no_error(root: Path) -> None:
    result = await bash(root, "echo out; echo err >&2; exit 3")
    assert (result.error, result.exit_code, result.data["exit_code"]) == (None, 3, 3)
    assert result.output == "out\n[stderr]\nerr\n[exit code 3]"


async def test_cwd_stdin_and_the_environment_of_the_policy(root: Path) -> None:
    policy = BashPolicy("ci", environment={"CI": "1"})
    result = await bash(root, "pwd; cat; echo $CI", {"bash_policy": policy}, cwd="sub", stdin="text\n")
    assert result.data["stdout"] == f"{root}/sub\ntext\n1\n"
    assert result.metadata["policy"] == "ci"


async def test_output_is_capped_cleaned_and_says_what_is_missing(root: Path) -> None:
    result = await bash(root, "printf '\\033[31mred\\033[0m\\n'; seq 100000")
    assert result.data["stdout"].startswith("red\n1\n2\n")
    assert result.data["truncated"]
    assert result.truncated
    assert result.data["stdout_omitted_bytes"] > 500_000
    assert "lines left out]" in result.output
    assert result.data["stdout"].endswith("\n99999\n100000\n")  # what went wrong is usually said last


async def test_a_script_gets_stdout_and_catches_another_exit_code(root: Path) -> None:
    source = """export default async (ctx) => {
      const text = await ctx.bash(['cat', 'a.txt']);
      const line = await ctx.bash('grep -c o a.txt');
      let caught; try { await ctx.bash('echo o; echo e >&2; exit 4'); } catch (error) { caught = error; }
      const whole = await ctx.tool('bash', {command: 'exit 5'});
      return [text, line, caught.code, caught.details, whole.exitCode, whole.error];
    }"""
    async with opened(root) as session:
        result = await session.program(source)
    assert result.error is None
    text, line, code, details, exit_code, error = result.value
    assert (text, line, code) == ("one\ntwo\n", "2\n", "nonzero_exit")
    assert details == {"exitCode": 4, "stdout": "o\n", "stderr": "e\n"}
    assert (exit_code, error) == (5, None)


async def test_a_host_gets_text_and_typed_errors(root: Path) -> None:
    async with opened(root) as session:
        assert await session.bash(["cat", "a.txt"]) == "one\ntwo\n"
        assert await session.bash("cat; pwd", cwd="sub", stdin="in\n") == f"in\n{root}/sub\n"
        with pytest.raises(ToolError) as caught:
            await session.bash("echo o; exit 6", timeout=10)
        assert (caught.value.code, caught.value.details["exitCode"]) == ("nonzero_exit", 6)
        with pytest.raises(ToolError) as refused:
            await session.bash(["sudo", "ls"])
        assert refused.value.code == "bash_policy_rejected"
        (root / "b.txt").write_text("b\n")
        patched = await session.patch_file("@@ -1 +1 @@\n-b\n+B\n", path="b.txt")
        assert patched.data["files"][0]["path"] == "b.txt"
        assert (await session.git("status")).error.code == "git_not_a_repository"  # type: ignore[union-attr]


async def test_output_is_streamed_as_it_comes(root: Path) -> None:
    async with opened(root) as session:
        events = session.events()
        await session.tool("bash", {"command": "echo first; echo second"})
        events.close()
        pieces = [event.text async for event in events if isinstance(event, OutputDelta)]
    assert "".join(pieces) == "first\nsecond\n"


# --- the policies, enforced by the system ----------------------------------------------------------------------------


@pytest.mark.promise("P2")
@pytest.mark.parametrize(("policy", "writes"), [("coder", True), ("read-only", False), ("read-only-no-net", False)])
async def test_a_policy_decides_whether_the_workspace_can_be_written(root: Path, policy: str, writes: bool) -> None:
    result = await bash(root, ["python3", "-c", "open('made', 'w')"], {"bash_policy": policy})
    assert (root / "made").exists() == writes
    assert (result.exit_code == 0) == writes
    assert result.metadata["sandbox_denied"] == (not writes)


@pytest.mark.promise("P2")
async def test_without_network_there_is_none(root: Path) -> None:
    code = "import socket; socket.create_connection(('192.0.2.1', 9), 2)"
    result = await bash(root, ["python3", "-c", code], {"bash_policy": "read-only-no-net"})
    assert result.exit_code == 1
    assert any(word in result.data["stderr"] for word in ("nreachable", "ermission", "Address family"))


@pytest.mark.parametrize(
    ("policy", "argv", "says"),
    [
        ("read-only", ["touch", "x"], "only reads"),
        ("read-only-no-net", ["curl", "x"], "needs the network"),
        ("read-only-no-net", ["git", "clone", "https://example.com/x"], "address of the network"),
        ("read-only-no-net", ["tee", "x"], "only reads"),
    ],
)
async def test_a_policy_teaches_before_the_system_refuses(root: Path, policy: str, argv: list[str], says: str) -> None:
    result = await bash(root, argv, {"bash_policy": policy})
    assert result.error is not None
    assert result.error.code == "bash_policy_rejected"
    assert says in result.error.message
    assert json.dumps(argv, separators=(",", ":")) in result.error.message
    assert policy in result.error.message


async def test_a_filter_of_the_host_decides_and_one_that_raises_refuses(root: Path) -> None:
    def only_ls(words: tuple[str, ...]) -> str | None:
        if words[0] == "boom":
            raise RuntimeError("broken")
        return None if words[0] == "ls" else "only ls may run; use ls"

    options = {"bash_policy": BashPolicy("mine", only_ls)}
    assert (await bash(root, "ls | ls", options)).ok
    for line, says in (("ls | wc -l", "only ls may run"), ("boom", "RuntimeError"), ("ls $(cat x)", "only ls")):
        refused = (await bash(root, line, options)).error
        assert refused is not None
        assert refused.code == "bash_policy_rejected"
        assert says in refused.message


@pytest.mark.promise("P7")
async def test_processor_time_and_memory_are_those_of_the_policy(root: Path) -> None:
    small = BashPolicy("small", cpu_s=1, memory_bytes=64 * 1024**2)
    spin = await bash(root, "while :; do :; done", {"bash_policy": small})
    assert spin.exit_code > 128
    fat = await bash(root, ["python3", "-c", "x = bytearray(200 * 1024**2); print('fat')"], {"bash_policy": small})
    assert "fat" not in fat.data["stdout"]


@pytest.mark.promise("P2")
async def test_what_the_host_hides_or_denies_to_read_is_hidden_from_commands_too(root: Path) -> None:
    (root / ".env").write_text("KEY=1\n")
    (root / "secret").mkdir()
    (root / "secret" / "key").write_text("k3y\n")
    with LocalWorkspace(root, hidden=[".env"]) as workspace:
        async with opened(workspace, policy=Policy(deny=["read(secret)"])) as session:  # type: ignore[arg-type]
            result = await session.tool("bash", {"command": "cat .env secret/key; grep -r k3y .; ls secret"})
    assert "KEY" not in result.output
    if probe().level == "landlock":  # it cannot hide a file in a folder that can be read, and then nothing runs
        assert result.error is not None
        assert result.error.code == "sandbox_unavailable"
        return
    assert "k3y" not in result.data["stdout"]


async def test_the_description_names_the_policy_and_the_confinement_in_force(root: Path) -> None:
    async with opened(root, bash_policy="read-only") as session:
        (text,) = [each["description"] for each in session.tool_definitions() if each["name"] == "bash"]
    assert "Policy read-only: the workspace can only be read" in text
    assert probe().explain in text


async def test_a_policy_without_a_sandbox_is_the_hosts_own_word_and_only_with_all_rights(root: Path) -> None:
    result = await bash(root, ["true"], {"bash_policy": BashPolicy("free", sandbox="off")})
    assert result.metadata["sandbox"] == "none"
    with pytest.raises(ConfigError) as caught:
        BashPolicy("x", sandbox="off", allow_write=False)
    assert caught.value.code == "invalid_option"


@pytest.mark.parametrize(
    "options",
    [{"name": ""}, {"name": "x", "cpu_s": 0}, {"name": "x", "memory_bytes": 1}, {"name": "x", "filter": 3},
     {"name": "x", "visible": ("usr",)}, {"name": "x", "environment": {"A=B": "c"}}, {"name": "x", "sandbox": "maybe"}],
)  # fmt: skip
def test_a_policy_that_makes_no_sense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        BashPolicy(**options)


async def test_an_unknown_policy_is_refused_with_the_names_that_there_are(root: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        Session(root, bash_policy="yolo")
    assert "coder, read-only, read-only-no-net" in caught.value.message


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({}, "bash_argv_invalid"),
        ({"argv": ["ls"], "command": "ls"}, "bash_argv_invalid"),
        ({"argv": []}, "bash_argv_invalid"),
        ({"argv": [""]}, "bash_argv_invalid"),
        ({"argv": ["ls\0"]}, "bash_argv_invalid"),
        ({"argv": ["ls", "\ud800"]}, "bash_argv_invalid"),
        ({"argv": ["x"] * 4_097}, "bash_argv_invalid"),
        ({"argv": ["echo", "x" * 140_000]}, "bash_argv_invalid"),
        ({"argv": ["echo", *["x" * 1_000] * 2_000]}, "bash_argv_invalid"),
        ({"argv": "ls"}, "invalid_arguments"),
        ({"argv": [1]}, "invalid_arguments"),
        ({"argv": ["ls"], "timeout": 0}, "invalid_arguments"),
        ({"argv": ["ls"], "timeout": 601}, "invalid_arguments"),
        ({"argv": ["ls"], "env": {}}, "invalid_arguments"),
        ({"argv": ["no-such-program-anywhere"]}, "bash_program_not_found"),
        ({"argv": ["ls"], "cwd": ".."}, "workspace_parent_traversal"),
        ({"argv": ["ls"], "cwd": "a.txt"}, "not_a_directory"),
        ({"argv": ["ls"], "cwd": "none"}, "file_not_found"),
        ({"command": "ls ("}, "bash_not_checkable"),
        ({"command": "$x"}, "bash_not_checkable"),
        ({"command": "rm -rf /"}, "bash_policy_rejected"),
    ],
)
async def test_what_cannot_be_run_has_a_code(root: Path, args: dict[str, Any], code: str) -> None:
    async with opened(root) as session:
        result = await session.tool("bash", args)
    assert result.error is not None
    assert result.error.code == code, result.error.message


@pytest.mark.promise("P3")
async def test_a_command_over_its_time_is_ended_and_what_it_printed_is_kept(root: Path) -> None:
    marker = f"8{os.getpid()}1"
    result = await bash(root, f"echo begun; (setsid sleep {marker} &); sleep {marker}", timeout=0.5)
    assert result.error is not None
    assert (result.error.code, result.error.retryable, result.exit_code) == ("timeout", False, 124)
    assert result.data["stdout"] == "begun\n"
    assert "begun" in result.output
    with anyio.fail_after(5):
        while processes(marker):
            await anyio.sleep(0.02)


@pytest.mark.promise("P3")
async def test_the_time_of_the_program_bounds_its_commands(root: Path) -> None:
    marker = f"8{os.getpid()}2"
    async with opened(root) as session:
        result = await session.program(
            f"export default ctx => ctx.bash('sleep {marker}')", limits={"timeout_ms": 1_500}
        )
    assert result.status in ("failed", "timed_out")
    with anyio.fail_after(5):
        while processes(marker):
            await anyio.sleep(0.02)


@pytest.mark.promise("P3")
async def test_a_cancelled_call_leaves_nothing_behind(root: Path) -> None:
    marker = f"8{os.getpid()}3"
    async with opened(root) as session:
        task = asyncio.ensure_future(session.tool("bash", {"command": f"sleep {marker}"}))
        while not processes(f"sleep {marker}"):
            await anyio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while processes(f"sleep {marker}"):
            await anyio.sleep(0.02)


@pytest.mark.promise("P3")
async def test_a_call_cancelled_at_any_step_of_its_start_leaves_nothing_behind(root: Path) -> None:
    marker = f"9{os.getpid()}7"
    async with opened(root) as session:
        with anyio.fail_after(60):
            for steps in range(0, 24, 2):
                task = asyncio.ensure_future(session.tool("bash", {"command": f"sleep {marker}"}))
                while not processes(f"sleep {marker}"):
                    await asyncio.sleep(0)
                for _ in range(steps):
                    await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            while processes(f"sleep {marker}"):
                await anyio.sleep(0.02)


# --- rules, approval, audit ------------------------------------------------------------------------------------------


@pytest.mark.promise("P1")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("git log", None),
        ("git log --oneline | wc -l", None),
        ("git status", "approval_unanswered"),
        ("git log | sh", "approval_unanswered"),
        ("git log > out.txt", "approval_unanswered"),
        ("git log $(touch x)", "permission_denied"),
        ("env touch x", "permission_denied"),
        ("/usr/bin/touch x", "permission_denied"),
        ("sh -c 'touch x'", "permission_denied"),
        ("find . -exec touch {} +", "permission_denied"),
        ("git log && touch x", "permission_denied"),
    ],
)
async def test_every_command_of_a_line_meets_the_rules(root: Path, line: str, code: str | None) -> None:
    policy = Policy(allow=["bash(git log:*)", "bash(wc:*)"], deny=["bash(touch)"])
    async with opened(root, policy=policy) as session:
        result = await session.governed_tool("bash", {"command": line})
    assert (None if result.error is None else result.error.code) == code
    assert not (root / "x").exists()


async def test_by_itself_it_asks_whatever_the_default_allows(root: Path) -> None:
    async with opened(root, policy=Policy(default="allow")) as session:
        result = await session.governed_tool("bash", {"argv": ["ls"]})
    assert result.error is not None
    assert result.error.code == "approval_unanswered"
    async with opened(root, policy=Policy(allow=["bash"])) as session:
        assert (await session.governed_tool("bash", {"argv": ["ls"]})).ok


async def test_an_approver_sees_the_exact_words(root: Path) -> None:
    asked: list[Any] = []

    def approve(request: Any) -> bool:
        asked.append(request)
        return True

    async with opened(root, approver=approve) as session:
        assert (await session.governed_tool("bash", {"argv": ["echo", "a b"]})).ok
    (request,) = asked
    assert request.args == {"argv": ["echo", "a b"]}
    assert request.subject == "echo 'a b'"


async def test_a_refused_command_is_on_the_record_too(root: Path) -> None:
    async with opened(root) as session:
        events = session.events()
        await session.tool("bash", {"argv": ["sudo", "ls"]})
        await session.tool("bash", {"command": "exit 3"})
        events.close()
        seen = [event async for event in events]
    ended = [(event.tool, event.error_code) for event in seen if isinstance(event, CallEnded)]
    assert ended == [("bash", "bash_policy_rejected"), ("bash", None)]
    refused, invoked, completed = [event for event in seen if isinstance(event, Audit)]
    assert (refused.kind, refused.facts["rules"], refused.facts["risk"]) == (
        "bash_rejected", ["priv.escalate"], "critical"
    )  # fmt: skip
    assert (invoked.kind, invoked.facts["argv"], invoked.facts["risk"]) == (
        "bash_invoked", ["bash", "-c", "exit 3"], "medium"
    )  # fmt: skip
    assert (completed.kind, completed.facts["exit_code"]) == ("bash_completed", 3)

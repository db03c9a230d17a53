"""Real VM processes: hardened, one program each, gone when they should be."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptc.protocol.codec import encode_frame
from ptc.protocol.machine import START
from ptc.protocol.messages import parse_done, parse_ready
from ptc.vm.harden import LAYERS
from ptc.vm.process import Child, Zygote, acquire_zygote, release_zygote

WAIT_S = 10


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    zygote = Zygote()
    yield zygote
    zygote.close()


def read_frame(child: Child) -> bytes:
    """The next frame's payload, or b"" at the end of the child."""
    return read_message(child)[1]


def read_message(child: Child) -> tuple[str, bytes]:
    """The kind and payload of the next frame; both empty at the end of the child."""
    data = b""
    end = time.monotonic() + WAIT_S
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        assert select.select([child.sock], [], [], max(0, end - time.monotonic()))[0], "the child said nothing in time"
        with contextlib.suppress(BlockingIOError):
            piece = child.sock.recv(65536)
            if not piece:
                return "", b""
            data += piece
    return chr(data[4]), data[5:]


def ready(zygote: Zygote) -> Child:
    child = zygote.fork()
    assert select.select([child.sock], [], [], WAIT_S)[0]
    assert child.receive_introduction()
    child.pid = parse_ready(read_frame(child)).pid
    return child


def start(child: Child, source: str, **limits: int) -> None:
    numbers = {
        "memory_bytes": 64 * 1024**2,
        "stack_bytes": 1024**2,
        "cpu_ms": 5_000,
        "log_bytes": 1000,
        "max_tool_calls": 10,
        "args_bytes": 10_000,
        "value_bytes": 10_000,
        "max_nodes": 1000,
        "max_depth": 10,
        **limits,
    }
    world = {"methods": [], "tools": [], "seed": [1, 2, 3, 4], "now": 0, "left": 1000, "inputs": "{}", "big": False}
    setup = json.dumps({"limits": numbers, **world})
    child.sock.send(encode_frame(START, json.dumps({"source": source, "limits": numbers, "setup": setup}).encode()))


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def gone(pid: int) -> bool:
    end = time.monotonic() + WAIT_S
    while alive(pid) and time.monotonic() < end:
        select.select([], [], [], 0.01)
    return not alive(pid)


def test_a_child_serves_one_program_and_exits(zygote: Zygote) -> None:
    child = ready(zygote)
    start(child, "export default () => [1, new Date().getTimezoneOffset()]")
    assert parse_done(read_frame(child)).value == [1, 0]
    assert read_frame(child) == b""
    assert child.exit_code() == 0
    child.close()


def test_the_layers_of_this_platform_are_on(zygote: Zygote) -> None:
    child = zygote.fork()
    assert select.select([child.sock], [], [], WAIT_S)[0]
    child.receive_introduction()
    said = parse_ready(read_frame(child))
    assert set(said.layers) | set(said.missing) == set(LAYERS)
    assert {"rlimits", "uid"} <= set(said.layers)
    if sys.platform == "linux":
        assert "no_new_privs" in said.layers
        status = Path(f"/proc/{said.pid}/status").read_text()
        assert "NoNewPrivs:\t1" in status
        if "seccomp" in said.layers:
            assert "Seccomp:\t2" in status
    child.close()


@pytest.mark.promise("P2")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_child_has_an_empty_environment_and_no_descriptor_of_the_host(zygote: Zygote) -> None:
    secret = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(secret, True)
    child = ready(zygote)
    assert Path(f"/proc/{child.pid}/environ").read_bytes() == b""
    opened = {name: os.readlink(f"/proc/{child.pid}/fd/{name}") for name in os.listdir(f"/proc/{child.pid}/fd")}
    assert sum(target.startswith("socket:") for target in opened.values()) == 1
    assert set(opened.values()) <= {"/dev/null"} | {
        target for target in opened.values() if target.startswith("socket:")
    }
    os.close(secret)
    child.close()


@pytest.mark.promise("P2")
def test_the_worker_imports_neither_the_kernel_nor_a_tool(zygote: Zygote) -> None:
    engine = subprocess.run(
        [sys.executable, "-c", "import importlib.util as u; print(u.find_spec('_quickjs').origin)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    ).stdout.strip()
    code = textwrap.dedent(
        f"""
        import sys
        sys.path.append({str(Path(__file__).parents[2])!r})
        from ptc.vm.zygote import _load_engine
        _load_engine({engine!r})
        import ptc.vm.child
        print([m for m in sys.modules if m.startswith(('ptc.kernel', 'ptc.tool', 'ptc.program', 'ptc.workspace', 'asyncio'))])
        """
    )
    out = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert out.stdout.strip() == "[]"


BROKEN_OUT = textwrap.dedent(
    """
    import ctypes, os, socket, sys
    sys.path.append(sys.argv[1])
    from ptc.vm.harden import Lockdown
    libc = ctypes.CDLL(None, use_errno=True)
    target, parent = sys.argv[2], os.getppid()
    attempts = {
        "open": lambda: os.open(target, os.O_RDONLY),
        "write": lambda: os.open(target + ".new", os.O_WRONLY | os.O_CREAT),
        "socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).connect(("127.0.0.1", 9)),
        "fork": os.fork,
        "exec": lambda: os.execv("/bin/true", ["true"]),
        "kill": lambda: os.kill(parent, 0),
        "ptrace": lambda: 1 / int(libc.ptrace(16, parent, 0, 0) == 0),
        "executable memory": lambda: 1 / int(libc.syscall(9 if os.uname().machine == "x86_64" else 222, 0, 4096, 7, 34, -1, 0) > 0),
    }
    lock = Lockdown(frozenset(sys.argv[4].split(",")))
    on, _ = lock.apply()
    try:
        attempts[sys.argv[3]]()
    except BaseException as error:
        os.write(1, b"refused " + type(error).__name__.encode())
    else:
        os.write(1, b"done")
    os._exit(0)
    """
)
ATTEMPTS = ["open", "write", "socket", "fork", "exec", "kill", "ptrace", "executable memory"]


def broken_worker(tmp_path: Path, attempt: str, skip: str = "") -> tuple[int, str]:
    """What a process gets that was taken over after it was locked down."""
    tmp_path.chmod(0o777)
    secret = tmp_path / "secret.txt"
    secret.write_text("canary")
    root = str(Path(__file__).parents[2])
    out = subprocess.run(
        [sys.executable, "-c", BROKEN_OUT, root, str(secret), attempt, skip], capture_output=True, text=True, timeout=30
    )
    return out.returncode, out.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's layers are Linux ones")
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_worker_that_was_taken_over_can_reach_nothing(tmp_path: Path, attempt: str) -> None:
    """Reliability G4: raw system calls from a deliberately broken worker."""
    code, out = broken_worker(tmp_path, attempt)
    assert code == -signal.SIGSYS or out.startswith("refused")
    assert not (tmp_path / "secret.txt.new").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock is Linux's")
@pytest.mark.parametrize("attempt", ["open", "write"])
def test_landlock_alone_keeps_files_closed(tmp_path: Path, attempt: str) -> None:
    _, out = broken_worker(tmp_path, attempt, "seccomp,uid,rlimits")
    assert out.startswith("refused")


def test_the_attempts_would_succeed_in_a_process_that_is_not_locked_down(tmp_path: Path) -> None:
    everything = ",".join(LAYERS)
    assert broken_worker(tmp_path, "open", everything)[1] == "done"
    assert broken_worker(tmp_path, "write", everything)[1] == "done"
    assert broken_worker(tmp_path, "kill", everything)[1] == "done"


def test_a_native_loop_that_no_interrupt_reaches_dies_of_its_cpu_limit(zygote: Zygote) -> None:
    child = ready(zygote)
    start(child, "export default () => (new Array(2 ** 32 - 1)).reverse()", cpu_ms=100)
    frame = read_frame(child)
    assert frame == b"" or b'"kind"' in frame
    if frame == b"":
        assert child.exit_code() in (-signal.SIGXCPU, -signal.SIGKILL)
    child.close()


def test_closing_the_socket_ends_an_idle_child(zygote: Zygote) -> None:
    child = ready(zygote)
    assert child.pid is not None
    child.sock.close()
    assert gone(child.pid)


def test_a_child_that_is_sent_garbage_exits(zygote: Zygote) -> None:
    child = ready(zygote)
    child.sock.send(b"\xff" * 64)
    assert read_frame(child) == b""
    assert child.exit_code() == 73
    child.close()


def test_kill_is_safe_at_any_time_and_more_than_once(zygote: Zygote) -> None:
    child = ready(zygote)
    child.kill()
    child.kill()
    assert child.exit_code() == -signal.SIGKILL
    child.close()
    child.kill()


def test_statuses_are_given_once_and_unknown_ones_are_none(zygote: Zygote) -> None:
    child = ready(zygote)
    child.kill()
    assert child.exit_code() == -signal.SIGKILL
    assert child.exit_code(0) is None
    child.close()


def test_a_zygote_that_was_killed_is_replaced() -> None:
    zygote = Zygote()
    try:
        os.kill(zygote.pid, signal.SIGKILL)
        assert gone(zygote.pid)
        child = ready(zygote)
        start(child, "export default () => 7")
        assert parse_done(read_frame(child)).value == 7
        child.close()
    finally:
        zygote.close()


def test_one_zygote_serves_the_process_and_ends_with_its_last_user() -> None:
    first, second = acquire_zygote(), acquire_zygote()
    pid = first.pid
    assert first is second
    release_zygote(first)
    assert alive(pid)
    release_zygote(second)
    assert not alive(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nothing_outlives_a_host_that_was_killed() -> None:
    """Reliability F9: SIGKILL of the host; the closed sockets end the zygote and its children."""
    code = textwrap.dedent(
        f"""
        import sys, time
        sys.path.append({str(Path(__file__).parents[2])!r})
        from tests.vm.test_child import ready, Zygote
        z = Zygote(); children = [ready(z) for _ in range(3)]
        print(z.pid, *[c.pid for c in children], flush=True)
        sys.stdin.read()
        """
    )
    host = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    assert host.stdin is not None
    pids = [int(pid) for pid in host.stdout.readline().split()]
    assert len(pids) == 4
    host.kill()
    host.wait(WAIT_S)
    host.stdout.close()
    host.stdin.close()
    assert all(gone(pid) for pid in pids)

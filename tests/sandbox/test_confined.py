"""What the system enforces, tried with real programs: each way to write, to look outside and to connect.

Every way is tried without a sandbox too, because a way that does not work anywhere proves nothing.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from ptc.errors import ToolError
from ptc.sandbox.environment import PATH
from ptc.sandbox.probe import Sandbox, unsandboxed
from ptc.sandbox.spec import Command, Profile
from tests.sandbox.conftest import Run

pytestmark = pytest.mark.anyio

# Program that the way needs -> shell text. Each changes the workspace if it is let.
WRITES = {
    "redirection": ("sh", "echo x > made"),
    "append": ("sh", "echo x >> file"),
    "here-document": ("sh", "cat > made <<E\nx\nE"),
    "touch": ("touch", "touch made"),
    "times": ("touch", "touch -d @1 file"),
    "env wrapper": ("env", "env rm file"),
    "timeout wrapper": ("timeout", "timeout 5 rm file"),
    "nice wrapper": ("nice", "nice rm file"),
    "setsid wrapper": ("setsid", "setsid -w rm file"),
    "xargs": ("xargs", "echo file | xargs rm"),
    "shell in a shell": ("sh", "sh -c 'rm file'"),
    "variable": ("sh", "r=r; m=m; $r$m file"),
    "find -delete": ("find", "find . -name file -delete"),
    "find -exec": ("find", "find . -name file -exec rm {} ';'"),
    "find -fprintf": ("find", "find . -fprintf made x"),
    "sort -o": ("sort", "sort -o made file"),
    "sed w": ("sed", "sed 'w made' file"),
    "sed -i": ("sed", "sed -i s/c/d/ file"),
    "sed e": ("sed", "sed '1e touch made' file"),
    "awk print": ("awk", "awk '{print > \"made\"}' file"),
    "awk system": ("awk", "awk 'BEGIN {system(\"touch made\")}'"),
    "tee": ("tee", "tee made < file"),
    "split": ("split", "split file made"),
    "uniq": ("uniq", "uniq file made"),
    "dd": ("dd", "dd if=file of=made"),
    "cp": ("cp", "cp file made"),
    "mv": ("mv", "mv file made"),
    "symbolic link": ("ln", "ln -s file made"),
    "hard link": ("ln", "ln file made"),
    "gzip": ("gzip", "gzip file"),
    "tar": ("tar", "tar cf made.tar file"),
    "tar --to-command": ("tar", "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='touch made' file"),
    "mkdir": ("mkdir", "mkdir made"),
    "mkfifo": ("mkfifo", "mkfifo made"),
    "rmdir": ("rm", "rm -r folder"),
    "truncate": ("truncate", "truncate -s 0 file"),
    "chmod": ("chmod", "chmod 600 file"),
    "python": ("python3", 'python3 -c \'open("made","w")\''),
    "perl": ("perl", "perl -e 'unlink \"file\"'"),
    "own program": ("sh", "./script.sh"),
    "program found by PATH": ("sh", "PATH=. script.sh"),
    "BASH_ENV": ("bash", "env BASH_ENV=script.sh bash -c :"),
    "through /proc/self/root": ("sh", 'echo x > "/proc/self/root$PWD/made"'),
    "through /proc/self/cwd": ("sh", "echo x > /proc/self/cwd/made"),
    "through the link": ("sh", "echo x > link"),
    "loader": (
        "sh",
        "for l in /lib64/ld-linux-*.so.2 /lib/ld-linux-*.so.1; do [ -e $l ] && $l $(command -v rm) file; done",
    ),
    "child that outlives": ("sh", "(setsid sh -c 'sleep 0.2; touch made' &) ; sleep 0.5"),
}
# What exists outside and a command must not learn.
READS = {
    "absolute path": "cat OUTSIDE/secret",
    "parent folder": "cat ../outside/secret",
    "link in the workspace": "cat out/secret",
    "cd": "cd .. && cat outside/secret",
    "tar -C": "tar cf - -C OUTSIDE secret",
    "grep -r": "grep -r . OUTSIDE",
    "git -C": "git hash-object --no-filters OUTSIDE/secret && cat OUTSIDE/secret",
    "/proc/self/root": "cat /proc/self/rootOUTSIDE/secret",
    "/proc/1/root": "cat /proc/1/rootOUTSIDE/secret",
    "environment of others": "cat /proc/[0-9]*/environ",
}
CANARY = "canary-5b1c7e"


def snapshot(root: Path) -> dict[str, tuple[int, int, bytes]]:
    found = {}
    for path in [root, *sorted(root.rglob("*"))]:
        facts = path.lstat()
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path.relative_to(root))] = (facts.st_mode, int(facts.st_mtime), data)
    return found


@pytest.mark.promise("P2")
@pytest.mark.parametrize("way", WRITES)
async def test_a_read_only_view_cannot_be_changed(run: Run, workspace: Path, way: str) -> None:
    program, text = WRITES[way]
    if shutil.which(program, path=":".join(PATH)) is None:
        pytest.skip(f"{program} is not installed")
    before = snapshot(workspace)
    await run(text)
    assert snapshot(workspace) == before


@pytest.mark.parametrize("way", WRITES)
def test_each_way_to_write_works_where_nothing_stops_it(workspace: Path, way: str) -> None:
    program, text = WRITES[way]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    before = snapshot(workspace)
    subprocess.run(["sh", "-c", text], cwd=workspace, capture_output=True, timeout=30, check=False)
    assert snapshot(workspace) != before


@pytest.fixture
def outside(workspace: Path) -> Path:
    folder = workspace.parent / "outside"
    folder.mkdir()
    (folder / "secret").write_text(CANARY)
    (workspace / "out").symlink_to(folder)
    return folder


@pytest.mark.promise("P2")
@pytest.mark.parametrize("way", READS)
async def test_nothing_outside_can_be_read(
    run: Run, workspace: Path, outside: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PTC_CANARY", CANARY)
    # Only what a process was started with shows in its /proc, so there is one that was started with it.
    with subprocess.Popen(["sleep", "60"], env={"PTC_CANARY": CANARY, "PATH": os.environ["PATH"]}) as carrier:
        try:
            ran = await run(READS[way].replace("OUTSIDE", str(outside)), write=True)
        finally:
            carrier.kill()
    assert CANARY not in ran.stdout.text + ran.stderr.text


@pytest.mark.parametrize("way", READS)
def test_each_way_to_look_outside_works_where_nothing_stops_it(workspace: Path, outside: Path, way: str) -> None:
    if "/proc/1" in READS[way] and not os.access("/proc/1/root/.", os.R_OK):
        pytest.skip("this machine lets nobody look into process 1")
    with subprocess.Popen(["sleep", "60"], env={"PTC_CANARY": CANARY, "PATH": os.environ["PATH"]}) as carrier:
        try:
            text = READS[way].replace("OUTSIDE", str(outside))
            done = subprocess.run(["sh", "-c", text], cwd=workspace, capture_output=True, timeout=30, check=False)
        finally:
            carrier.kill()
    assert CANARY.encode() in done.stdout


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        yield server


TALKS = {
    "tcp": "s=socket.socket(); s.connect(('127.0.0.1',PORT))",
    "multipath tcp": "s=socket.socket(socket.AF_INET,socket.SOCK_STREAM,262); s.connect(('127.0.0.1',PORT))",
    "udp": "s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.sendto(b'x',('127.0.0.1',PORT)); s.getsockname()",
    "abstract unix": "s=socket.socket(socket.AF_UNIX); s.connect('\\0ptc-NAME')",
    "vsock": "s=socket.socket(40,socket.SOCK_STREAM)",
}


@pytest.mark.promise("P2")
@pytest.mark.parametrize("way", TALKS)
async def test_nothing_can_be_reached_without_network(run: Run, way: str, listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    with (
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
    ):
        abstract.bind(f"\0ptc-{port}")
        abstract.listen()
        datagrams.bind(("127.0.0.1", port))
        datagrams.settimeout(0.2)
        code = TALKS[way].replace("PORT", str(port)).replace("NAME", str(port))
        ran = await run("python3", "-c", f"import socket; {code}; print('talked')")
        if way == "udp":
            with pytest.raises(TimeoutError):
                datagrams.recv(10)
        else:
            assert "talked" not in ran.stdout.text
            assert ran.exit_code != 0
        with pytest.raises(TimeoutError):
            listener.accept()


async def test_with_network_a_server_of_this_machine_is_reached(run: Run, listener: socket.socket) -> None:
    code = f"import socket; socket.create_connection(('127.0.0.1',{listener.getsockname()[1]}), 5); print('talked')"
    ran = await run("python3", "-c", code, write=True, network=True)
    assert ran.stdout.text == "talked\n"


async def test_a_writable_view_can_be_written_and_nothing_beside_it(run: Run, workspace: Path) -> None:
    ran = await run("echo x > made && echo y > ../beside; echo z > /usr/z; echo h > $HOME/h && cat $HOME/h", write=True)
    assert (workspace / "made").read_text() == "x\n"
    assert not (workspace.parent / "beside").exists()
    assert not Path("/usr/z").exists()
    assert ran.stdout.text == "h\n"
    assert "cannot create /usr/z" in ran.stderr.text


@pytest.mark.promise("P2")
async def test_the_environment_is_built_from_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "LD_PRELOAD", "BASH_ENV", "PYTHONPATH", "DATABASE_URL", "GIT_SSH_COMMAND"):
        monkeypatch.setenv(name, CANARY)
    ran = await run("env", "-0", env={"APPROVED": "yes"})
    names = {line.partition("=")[0] for line in ran.stdout.text.split("\u2400") if line}
    assert CANARY not in ran.stdout.text
    assert "APPROVED" in names
    assert names <= {
        "APPROVED", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_PAGER", "GIT_TERMINAL_PROMPT", "HOME", "LANG",
        "LOGNAME", "PAGER", "PATH", "PWD", "PYTHONDONTWRITEBYTECODE", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
    }  # fmt: skip


async def test_no_descriptor_of_the_host_is_passed_on(run: Run) -> None:
    ran = await run(
        "python3", "-c", "import os\nfor n in range(256):\n try: os.fstat(n); print(n)\n except OSError: pass"
    )
    assert ran.stdout.text.split() == ["0", "1", "2"]


async def test_what_git_runs_by_itself_stays_as_it_is(run: Run, sandbox: Sandbox, workspace: Path) -> None:
    if sandbox.level == "landlock":
        pytest.skip("Landlock alone cannot take rights away below a folder that is writable; its explanation says so")
    subprocess.run(["git", "init", "-q", workspace], check=True)
    before = (workspace / ".git" / "config").read_bytes()
    await run("echo '[core] fsmonitor = ./x' >> .git/config; echo x > .git/hooks/pre-commit; touch .git/ok", write=True)
    assert (workspace / ".git" / "config").read_bytes() == before
    assert not (workspace / ".git" / "hooks" / "pre-commit").exists()
    assert (workspace / ".git" / "ok").exists()


async def test_hidden_paths_seem_empty(run: Run, sandbox: Sandbox, workspace: Path) -> None:
    hidden = (str(workspace / "file"), str(workspace / "folder"), str(workspace / "absent"))
    if sandbox.level == "landlock":
        with pytest.raises(ToolError) as caught:
            await run("ls", "-a", hidden=hidden)
        assert caught.value.code == "sandbox_unavailable"
        return
    ran = await run("cat file; ls -A folder; echo x > folder/y; echo x > file", write=True, hidden=hidden)
    assert ran.stdout.text == ""
    assert (workspace / "file").read_text() == "content\n"
    assert not (workspace / "folder" / "y").exists()


async def test_a_payload_gains_nothing_by_being_root_somewhere(run: Run, workspace: Path) -> None:
    before = snapshot(workspace)
    await run(
        "unshare -Ur sh -c 'mount -o remount,rw . ; touch made'; mount -o remount,rw $PWD; touch made; chroot / true"
    )
    assert snapshot(workspace) == before


@pytest.mark.promise("P5")
async def test_what_cannot_be_enforced_is_refused_and_never_runs_weaker(workspace: Path) -> None:
    plain = unsandboxed()
    for profile in (Profile(write=False, network=True), Profile(write=True, network=False)):
        with anyio.fail_after(20), pytest.raises(ToolError) as caught:
            await plain.run(Command(("touch", "made"), str(workspace), (str(workspace),), profile, 5))
        assert caught.value.code == "sandbox_unavailable"
    assert not (workspace / "made").exists()


async def test_without_a_sandbox_a_command_runs_only_where_the_host_says_so(workspace: Path) -> None:
    profile = Profile(write=True, network=True)
    with anyio.fail_after(20):
        ran = await unsandboxed().run(Command(("touch", "made"), str(workspace), (str(workspace),), profile, 5))
    assert (ran.exit_code, ran.level) == (0, "none")
    assert (workspace / "made").exists()


async def test_the_whole_file_system_is_no_workspace(sandbox: Sandbox) -> None:
    with pytest.raises(ToolError) as caught:
        await sandbox.run(Command(("true",), "/", ("/",), Profile(write=False, network=False), 5))
    assert caught.value.code == "sandbox_unavailable"

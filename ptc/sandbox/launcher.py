"""Runs as a file of its own, `python -I -S launcher.py FD`: locks itself down, then becomes the command.

This is what stands in for bubblewrap where that is missing. A threaded host must not run Python between fork and exec,
so everything is done in this small single-threaded process. With name spaces: an ordinary user without capabilities,
in a process tree of its own that dies with its first process, in mounts of its own, in a network of its own. In every
case: Landlock, so that nothing but the named folders can be read or written; a system call filter; resource limits.

It reads its orders as JSON from FD until that ends. What fails is written to the report descriptor as one line, and the
command does not run; that descriptor closes by itself when the command starts.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import struct
import sys
from collections.abc import Callable

CLONE = {
    "user": 0x1000_0000, "mount": 0x0002_0000, "pid": 0x2000_0000, "ipc": 0x0800_0000, "uts": 0x0400_0000,
    "cgroup": 0x0200_0000, "net": 0x4000_0000,
}  # fmt: skip
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = (
    1,
    2,
    4,
    8,
    32,
    4096,
    16384,
    1 << 18,
)
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_CHILD_SUBREAPER = 1, 4, 24, 38, 36
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE, IOCTL_DEV = 1, 2, 4, 8, 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
USER = 1000
LAST_CAPABILITY = 63

libc = ctypes.CDLL(None, use_errno=True)


class Failed(Exception):
    """A step that could not be done."""


def check(what: str, result: int) -> int:
    if result < 0:
        raise Failed(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def main() -> None:
    fd = int(sys.argv[1])
    with os.fdopen(fd, "rb") as file:
        orders = json.loads(file.read())
    report, control = orders["report_fd"], orders["control_fd"]
    os.set_inheritable(report, False)
    os.set_inheritable(control, False)
    try:
        if orders["namespaces"]:
            code = in_namespaces(orders, control)
        else:
            libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            code = watched(os_fork(lambda: become(orders)), control)
            end_children()
    except (Failed, OSError) as error:
        os.write(report, str(error).encode())
        code = 1
    os._exit(code)


def os_fork(child: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        child()
        os._exit(1)
    return pid


def in_namespaces(orders: dict, control: int) -> int:  # type: ignore[type-arg]
    flags = sum(CLONE[name] for name in ("user", "mount", "pid", "ipc", "uts", "cgroup"))
    if not orders["network"]:
        flags |= CLONE["net"]
    user, group = os.geteuid(), os.getegid()
    check("unshare", libc.unshare(flags))
    for path, text in (("setgroups", "deny"), ("uid_map", f"{USER} {user} 1"), ("gid_map", f"{USER} {group} 1")):
        with open(f"/proc/self/{path}", "w") as file:
            file.write(text)
    return watched(os_fork(lambda: first(orders)), control)


def first(orders: dict) -> None:  # type: ignore[type-arg]
    """The first process of the new tree: makes the mounts, starts the command, reaps, takes all along when it ends."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    try:
        mounts(orders)
        main_child = os_fork(lambda: become(orders))
    except (Failed, OSError) as error:
        os.write(orders["report_fd"], str(error).encode())
        os._exit(1)
    os.close(orders["report_fd"])
    while True:
        pid, status = os.wait()
        if pid == main_child:
            os._exit(exit_code(status))


def mounts(orders: dict) -> None:  # type: ignore[type-arg]
    check("private mounts", mount(None, "/", None, MS_REC | MS_PRIVATE))
    for path in orders["fixed"]:
        # The flags of the original mount are locked in a new user name space and must be kept.
        kept = os.statvfs(path).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC | 0x400 | 0x800)
        locked = kept & 7 | (1 << 10 if kept & 0x400 else 0) | (1 << 11 if kept & 0x800 else 0)
        check(f"bind {path}", mount(path, path, None, MS_BIND | MS_REC))
        check(f"read-only {path}", mount(None, path, None, MS_REMOUNT | MS_BIND | MS_RDONLY | locked))
    for path in orders["hidden"]:
        if os.path.isdir(path):
            check(f"hide {path}", mount("none", path, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV))
        else:
            check(f"hide {path}", mount("/dev/null", path, None, MS_BIND))
    # Where a container masks parts of /proc, a new one is refused; then the command has none.
    if mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC) < 0:
        orders["read"] = [path for path in orders["read"] if path != "/proc"]


def mount(source: str | None, target: str, kind: str | None, flags: int) -> int:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    return int(libc.mount(*words, ctypes.c_ulong(flags), None))


def become(orders: dict) -> None:  # type: ignore[type-arg]
    try:
        for name, value in orders["limits"].items():
            limit = getattr(resource, name)
            _, most = resource.getrlimit(limit)
            most = value if most == resource.RLIM_INFINITY else min(value, most)
            resource.setrlimit(limit, (most, most + 1 if name == "RLIMIT_CPU" and most < value + 1 else most))
        os.umask(0o022)
        os.chdir(orders["cwd"])
        landlock = ruleset(orders)
        for capability in range(LAST_CAPABILITY + 1):
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        header, nothing = struct.pack("Ii", 0x2008_0522, 0), struct.pack("IIIIII", 0, 0, 0, 0, 0, 0)
        libc.capset(header, nothing)
        check("no_new_privs", libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        if landlock is not None:
            check("landlock", libc.syscall(LANDLOCK_RESTRICT, landlock, 0))
            os.close(landlock)
        program = bytes.fromhex(orders["seccomp"])
        if program:
            code = ctypes.create_string_buffer(program, len(program))
            head = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
            check("seccomp", libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, head, 0, 0))
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execve(orders["program"], orders["argv"], orders["env"])  # noqa: S606
    except (Failed, OSError) as error:
        os.write(orders["report_fd"], str(error).encode())
    os._exit(126)


def ruleset(orders: dict) -> int | None:  # type: ignore[type-arg]
    abi = libc.syscall(LANDLOCK_CREATE, None, 0, 1)
    if abi < 1:
        if orders["landlock"]:
            raise Failed("this kernel has no Landlock")
        return None
    everything = (1 << (13 if abi == 1 else 14 if abi == 2 else 15 if abi < 5 else 16)) - 1
    net = 3 if abi >= 4 and not orders["network"] else 0
    scoped = 3 if abi >= 6 else 0
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    fd = check("landlock", libc.syscall(LANDLOCK_CREATE, struct.pack("QQQ", everything, net, scoped)[:size], size, 0))
    for paths, rights in ((orders["read"], READ), (orders["write"], everything), (orders["devices"], everything)):
        for path in paths:
            try:
                parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue  # not there, so not needed
            allowed = rights & everything if os.path.isdir(path) else rights & everything & OF_FILES
            rule = struct.pack("=Qi", allowed, parent)
            check(f"landlock {path}", libc.syscall(LANDLOCK_ADD, fd, 1, rule, 0))
            os.close(parent)
    return fd


def watched(pid: int, control: int) -> int:
    """Wait for the process; if the host goes away, end everything."""
    handle = os.pidfd_open(pid)
    ready, _, _ = select.select([handle, control], [], [])
    if handle not in ready:
        os.kill(pid, signal.SIGKILL)
        end_children()
        return 137
    _, status = os.waitpid(pid, 0)
    return exit_code(status)


def end_children() -> None:
    """Kill what is left below; children of children come to this process, which is their subreaper."""
    while True:
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    mine = int(file.read().rpartition(b")")[2].split()[1]) == os.getpid()
                if mine:
                    os.kill(int(name), signal.SIGKILL)
            except (OSError, ValueError, IndexError):
                pass
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def exit_code(status: int) -> int:
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


if __name__ == "__main__":
    main()

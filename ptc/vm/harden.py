"""Locking down the VM process, in layers, each useful when all the others fail.

A script is held by the engine; these layers hold an engine that has been broken into. In the order of application:

    uid         a root host's child becomes an ordinary user without groups
    rlimits     no core, no new descriptors, no file growth, no new processes, a bound on address space
    no_new_privs
    landlock    the kernel refuses every path, TCP port, abstract socket and signal (Linux 5.13 and newer)
    seccomp     the kernel refuses every system call outside a short list (Linux, x86-64 and aarch64)

All are made without libraries, by ctypes, because the packages that wrap them cost 30 ms to import or need a system
library. What must be computed is computed in the zygote (`Lockdown`); the child only applies it. A layer that the
platform lacks is reported as missing, never silently. This file runs in the VM process: it must stay light.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
import sys

__all__ = ["LAYERS", "Lockdown"]

LAYERS = ("uid", "rlimits", "no_new_privs", "landlock", "seccomp")

NOBODY = 65534
MAX_DESCRIPTOR = 16
ADDRESS_SPACE_SLACK = 768 * 1024**2

PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 4, 38, 22
SECCOMP_MODE_FILTER = 2
KILL_PROCESS, ERRNO, ALLOW = 0x8000_0000, 0x0005_0000, 0x7FFF_0000
EPERM, ENOSYS = 1, 38
PROT_EXEC = 4

# Allowed outright: moving bytes on the one socket, memory, time, ending.
CALLS = {
    "x86_64": {
        "arch": 0xC000_003E,
        "allow": {
            "read": 0, "write": 1, "close": 3, "poll": 7, "munmap": 11, "brk": 12, "rt_sigaction": 13,
            "rt_sigprocmask": 14, "rt_sigreturn": 15, "sched_yield": 24, "mremap": 25, "madvise": 28, "getpid": 39,
            "exit": 60, "getrusage": 98, "times": 100, "sigaltstack": 131, "gettid": 186, "futex": 202,
            "restart_syscall": 219, "clock_gettime": 228, "clock_getres": 229, "exit_group": 231, "getrandom": 318,
            "gettimeofday": 96,
        },
        # Refused without ending the process: libraries try them and cope.
        "errno": {"open": 2, "stat": 4, "fstat": 5, "ioctl": 16, "readlink": 89, "openat": 257, "newfstatat": 262,
                  "readlinkat": 267, "statx": 332, "rseq": 334, "access": 21, "sysinfo": 99, "uname": 63},
        "memory": {"mmap": 9, "mprotect": 10},
        "prlimit64": 302,
    },
    "aarch64": {
        "arch": 0xC000_00B7,
        "allow": {
            "read": 63, "write": 64, "close": 57, "ppoll": 73, "munmap": 215, "brk": 214, "rt_sigaction": 134,
            "rt_sigprocmask": 135, "rt_sigreturn": 139, "sched_yield": 124, "mremap": 216, "madvise": 233,
            "getpid": 172, "exit": 93, "getrusage": 165, "times": 153, "sigaltstack": 132, "gettid": 178,
            "futex": 98, "restart_syscall": 128, "clock_gettime": 113, "clock_getres": 114, "exit_group": 94,
            "getrandom": 278, "gettimeofday": 169,
        },
        "errno": {"openat": 56, "fstat": 80, "ioctl": 29, "readlinkat": 78, "newfstatat": 79, "statx": 291,
                  "rseq": 293, "faccessat": 48, "sysinfo": 179, "uname": 160},
        "memory": {"mmap": 222, "mprotect": 226},
        "prlimit64": 261,
    },
}  # fmt: skip

LANDLOCK_CREATE, LANDLOCK_RESTRICT = 444, 446
LANDLOCK_CREATE_VERSION = 1


class Lockdown:
    """Everything about locking a child down that can be computed before the fork. Linux only; elsewhere only rlimits.

    skip: names of layers that are not to be applied (after a failed self-test, or by the host's choice).
    """

    def __init__(self, skip: frozenset[str] = frozenset()) -> None:
        self.skip = skip
        self.linux = sys.platform == "linux"
        self._libc = ctypes.CDLL(None, use_errno=True) if self.linux else None
        self._program: ctypes.Array[ctypes.c_char] | None = None
        self._filter = b""
        self.landlock_fd = -1
        if self.linux and "seccomp" not in skip and os.uname().machine in CALLS and sys.maxsize > 2**32:
            self._filter = _bpf(CALLS[os.uname().machine])
            self._program = ctypes.create_string_buffer(self._filter)
        if self.linux and "landlock" not in skip:
            self.landlock_fd = self._landlock_ruleset()

    def apply(self) -> tuple[list[str], list[str]]:
        """Lock this process down for good. Gives the layers that are on and those that are missing.

        Call it when everything that needs a path, a descriptor or memory beyond the bound has been done.
        """
        on: list[str] = []
        steps = {
            "uid": self._uid,
            "rlimits": self._rlimits,
            "no_new_privs": self._no_new_privs,
            "landlock": self._landlock,
            "seccomp": self._seccomp,
        }
        for name in LAYERS:
            if name not in self.skip and steps[name]():
                on.append(name)
        return on, [name for name in LAYERS if name not in on]

    def _uid(self) -> bool:
        if os.getuid() != 0:
            return True
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
        except OSError:
            return False
        return True

    def _rlimits(self) -> bool:
        bounds = [
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_NPROC, 0),
            (resource.RLIMIT_NOFILE, MAX_DESCRIPTOR),
        ]
        try:
            for what, value in bounds:
                resource.setrlimit(what, (value, value))
        except (OSError, ValueError):
            return False
        return True

    def bound_program(self, memory_bytes: int, cpu_ms: int) -> None:
        """The fences that depend on the program: address space and CPU seconds, a little above the engine's own."""
        cpu = cpu_ms // 1000 + 3
        bounds = [(resource.RLIMIT_CPU, cpu, cpu + 1)]
        if self.linux:
            most = memory_bytes + ADDRESS_SPACE_SLACK
            bounds.append((resource.RLIMIT_AS, most, most))
        for what, soft, hard in bounds:
            try:
                resource.setrlimit(what, (soft, hard))
            except (OSError, ValueError):
                pass  # a tighter limit is already in force

    def _no_new_privs(self) -> bool:
        if self._libc is None:
            return False
        self._libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
        return bool(self._libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)

    def _landlock_ruleset(self) -> int:
        assert self._libc is not None
        abi = self._libc.syscall(LANDLOCK_CREATE, None, 0, LANDLOCK_CREATE_VERSION)
        if abi < 1:
            return -1
        # Every right that this kernel knows is handled and none is granted; unknown bits would make the call fail.
        files = (1 << (13 if abi == 1 else 14 if abi == 2 else 15 if abi < 5 else 16)) - 1
        net = 3 if abi >= 4 else 0
        scoped = 3 if abi >= 6 else 0
        size = 8 if abi < 4 else 16 if abi < 6 else 24
        attributes = ctypes.create_string_buffer(struct.pack("QQQ", files, net, scoped)[:size], size)
        fd = self._libc.syscall(LANDLOCK_CREATE, attributes, size, 0)
        return int(fd)

    def _landlock(self) -> bool:
        if self._libc is None or self.landlock_fd < 0:
            return False
        done = self._libc.syscall(LANDLOCK_RESTRICT, self.landlock_fd, 0) == 0
        os.close(self.landlock_fd)
        return bool(done)

    def _seccomp(self) -> bool:
        if self._libc is None or self._program is None:
            return False
        head = ctypes.create_string_buffer(
            struct.pack("HxxxxxxQ", len(self._filter) // 8, ctypes.addressof(self._program))
        )
        return bool(self._libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, head, 0, 0) == 0)


def _bpf(calls: dict) -> bytes:  # type: ignore[type-arg]
    """The classic BPF program: check the architecture, then one comparison per call, then kill.

    Memory calls are allowed without PROT_EXEC; prlimit64 only on this process itself, where it can only lower.
    """
    load, equal, bit, back = 0x20, 0x15, 0x45, 0x06
    nr, arch, arguments = 0, 4, 16
    code: list[tuple[int, int, int, int]] = [
        (load, 0, 0, arch),
        (equal, 1, 0, calls["arch"]),
        (back, 0, 0, KILL_PROCESS),
        (load, 0, 0, nr),
    ]
    for number in calls["allow"].values():
        code += [(equal, 0, 1, number), (back, 0, 0, ALLOW)]
    for number in calls["errno"].values():
        code += [(equal, 0, 1, number), (back, 0, 0, ERRNO | EPERM)]
    for number in calls["memory"].values():
        code += [
            (equal, 0, 4, number),
            (load, 0, 0, arguments + 8 * 2),
            (bit, 0, 1, PROT_EXEC),
            (back, 0, 0, ERRNO | EPERM),
            (back, 0, 0, ALLOW),
        ]
    code += [
        (equal, 0, 4, calls["prlimit64"]),
        (load, 0, 0, arguments),
        (equal, 0, 1, 0),
        (back, 0, 0, ALLOW),
        (back, 0, 0, ERRNO | EPERM),
        (back, 0, 0, KILL_PROCESS),
    ]
    return b"".join(struct.pack("HBBI", op, yes, no, value) for op, yes, no, value in code)

"""System calls that no command needs, refused by the kernel: a filter in classic BPF, made without libraries.

It is a list of what is refused, not of what is allowed: a compiler, a test runner and git must run. Refused are the
ways to other processes, to the kernel's own machinery, to new name spaces (where a process would be root again), to
keystrokes of a terminal; without network, sockets of every family that no name space holds (vsock among them); and for
a read-only view, where no mount enforces it, changing modes, owners, times and attributes, which Landlock leaves open.
"""

from __future__ import annotations

import os
import struct
import sys
from typing import Any, Final

__all__ = ["filter_program"]

_KILL, _ERRNO, _ALLOW = 0x8000_0000, 0x0005_0000, 0x7FFF_0000
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NR, _ARCH, _ARGUMENTS = 0, 4, 16
_X32: Final = 0x4000_0000
_NEW_NAMESPACES: Final = 0x7E02_0000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16

# The same numbers on every architecture.
_COMMON: Final = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442, "quotactl_fd": 443,
    "open_tree_attr": 467,
}  # fmt: skip
_TABLE: Final[dict[str, dict[str, Any]]] = {
    "x86_64": {
        "arch": 0xC000_003E,
        "clone": 56, "clone3": 435, "socket": 41, "ioctl": 16,
        "refuse": {
            "ptrace": 101, "pivot_root": 155, "adjtimex": 159, "chroot": 161, "acct": 163, "settimeofday": 164,
            "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170,
            "setdomainname": 171, "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176, "quotactl": 179,
            "syslog": 103, "clock_settime": 227, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250,
            "unshare": 272, "perf_event_open": 298, "fanotify_init": 300, "name_to_handle_at": 303,
            "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308, "process_vm_readv": 310,
            "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "kexec_file_load": 320, "bpf": 321,
            "userfaultfd": 323, "vhangup": 153, "modify_ldt": 154,
        },
        "metadata": {
            "chmod": 90, "fchmod": 91, "chown": 92, "fchown": 93, "lchown": 94, "utime": 132, "utimes": 235,
            "fchownat": 260, "futimesat": 261, "fchmodat": 268, "utimensat": 280, "setxattr": 188, "lsetxattr": 189,
            "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199, "fchmodat2": 452,
            "setxattrat": 463, "removexattrat": 466,
        },
    },
    "aarch64": {
        "arch": 0xC000_00B7,
        "clone": 220, "clone3": 435, "socket": 198, "ioctl": 29,
        "refuse": {
            "ptrace": 117, "pivot_root": 41, "adjtimex": 171, "chroot": 51, "acct": 89, "settimeofday": 170,
            "mount": 40, "umount2": 39, "swapon": 224, "swapoff": 225, "reboot": 142, "sethostname": 161,
            "setdomainname": 162, "init_module": 105, "delete_module": 106, "quotactl": 60, "syslog": 116,
            "clock_settime": 112, "kexec_load": 104, "add_key": 217, "request_key": 218, "keyctl": 219, "unshare": 97,
            "perf_event_open": 241, "fanotify_init": 262, "name_to_handle_at": 264, "open_by_handle_at": 265,
            "clock_adjtime": 266, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272,
            "finit_module": 273, "kexec_file_load": 294, "bpf": 280, "userfaultfd": 282, "vhangup": 58,
        },
        "metadata": {
            "fchmod": 52, "fchmodat": 53, "fchownat": 54, "fchown": 55, "utimensat": 88, "setxattr": 5, "lsetxattr": 6,
            "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16, "fchmodat2": 452,
            "setxattrat": 463, "removexattrat": 466,
        },
    },
}  # fmt: skip


def filter_program(*, no_network: bool, no_sockets: bool = False, fixed_metadata: bool = False) -> bytes | None:
    """The filter for this machine, or None if there is none for it.

    no_network: only the socket families that a name space holds, which is empty then. no_sockets: where there is no
    such name space, no socket at all. fixed_metadata: modes, owners, times and attributes cannot be changed.
    """
    table = _TABLE.get(os.uname().machine) if sys.platform == "linux" and sys.maxsize > 2**32 else None
    if table is None:
        return None
    numbers: dict[str, int] = table["refuse"] | _COMMON
    if fixed_metadata:
        numbers = numbers | table["metadata"]
    code: list[tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, table["arch"]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NR),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _ERRNO | _ENOSYS),
    ]
    for number in numbers.values():
        code += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | _EPERM)]
    # clone3 hides its flags in memory, where a filter cannot look; libraries fall back to clone.
    code += [(_EQUAL, 0, 1, table["clone3"]), (_RETURN, 0, 0, _ERRNO | _ENOSYS)]
    code += _on_argument(table["clone"], 0, [(_ANY_BIT, _NEW_NAMESPACES)], _EPERM)
    code += _on_argument(table["ioctl"], 1, [(_EQUAL, _TIOCSTI), (_EQUAL, _TIOCLINUX)], _EPERM)
    if no_sockets:
        code += [(_EQUAL, 0, 1, table["socket"]), (_RETURN, 0, 0, _ERRNO | _EAFNOSUPPORT)]
    elif no_network:
        families = [(_EQUAL, family) for family in (_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK)]
        code += _on_argument(table["socket"], 0, families, _EAFNOSUPPORT, refuse_others=True)
    code.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", op, yes, no, value) for op, yes, no, value in code)


def _on_argument(
    number: object, index: int, tests: list[tuple[int, int]], errno: int, *, refuse_others: bool = False
) -> list[tuple[int, int, int, int]]:
    """For one call: refuse it if a test of an argument is met (or, with `refuse_others`, if none is)."""
    assert isinstance(number, int)
    met, otherwise = (_ALLOW, _ERRNO | errno) if refuse_others else (_ERRNO | errno, _ALLOW)
    body: list[tuple[int, int, int, int]] = [(_LOAD, 0, 0, _ARGUMENTS + 8 * index)]
    for op, value in tests:
        body += [(op, 0, 1, value), (_RETURN, 0, 0, met)]
    body.append((_RETURN, 0, 0, otherwise))
    return [(_EQUAL, 0, len(body), number), *body]

"""The view that a command has of the machine, as arguments of bubblewrap.

Nothing is there that is not named here: programs and libraries read-only, a handful of files of /etc that programs
cannot do without, devices that hold nothing, a /proc of its own, and the workspace at its own path. The command is an
ordinary user without capabilities, so it cannot mount anything over anything.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from ptc.sandbox.spec import Command

__all__ = ["GIT", "HOME", "maskable", "view"]

HOME: Final = "/tmp"  # noqa: S108 - the sandbox's own, an empty file system in memory
_USER: Final = "1000"
_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt")
_CONFIGURATION: Final = (
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime", "/etc/timezone",
    "/etc/mime.types", "/etc/protocols", "/etc/services", "/etc/nsswitch.conf", "/etc/terminfo", "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki", "/etc/crypto-policies", "/etc/java-17-openjdk",
    "/etc/python3",
)  # fmt: skip
_NETWORK: Final = ("/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf")
GIT: Final = ("config", "config.worktree", "hooks", "modules", "commondir", "info/attributes")


def view(
    command: Command, *, passwd_fd: int, group_fd: int, visible: Sequence[str] = (), temporary_bytes: int = 1024**3
) -> list[str]:
    """The arguments after `bwrap` that make the view; the two descriptors hold /etc/passwd and /etc/group.

    visible: further absolute folders that can be read. temporary_bytes: size of /tmp.
    """
    profile = command.profile
    words = ["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"]
    if not profile.network:
        words.append("--unshare-net")
    words += ["--die-with-parent", "--new-session", "--uid", _USER, "--gid", _USER, "--hostname", "sandbox"]
    words += ["--cap-drop", "ALL"]
    for path in _SYSTEM:
        words += _as_it_is(path)
    for path in _CONFIGURATION + (_NETWORK if profile.network else ()):
        words += ["--ro-bind-try", path, path]
    words += ["--perms", "0444", "--file", str(passwd_fd), "/etc/passwd"]
    words += ["--perms", "0444", "--file", str(group_fd), "/etc/group"]
    words += ["--proc", "/proc", "--dev", "/dev", "--size", str(temporary_bytes), "--tmpfs", HOME]
    words += ["--dir", "/var", "--symlink", "../tmp", "/var/tmp"]  # noqa: S108
    for path in visible:
        words += ["--ro-bind-try", path, path]
    for root in command.roots:
        words += ["--bind" if profile.write else "--ro-bind", root, root]
    if profile.write and profile.protect_git:
        for path in maskable([os.path.join(root, ".git", name) for root in command.roots for name in GIT]):
            words += ["--ro-bind", path, path]
    for path in maskable(command.hidden):
        words += ["--tmpfs", path, "--remount-ro", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
    # The root itself is in memory: whatever is written there would be lost without a word, so it cannot be.
    return [*words, "--remount-ro", "/", "--chdir", command.cwd]


def _as_it_is(path: str) -> list[str]:
    """A system folder read-only, or the link that stands for it (/bin -> usr/bin)."""
    if os.path.islink(path):
        return ["--symlink", os.readlink(path), path]
    return ["--ro-bind-try", path, path]


def maskable(paths: Sequence[str]) -> list[str]:
    """Those that exist and are no links: over them something else can be mounted."""
    return [path for path in paths if os.path.lexists(path) and not os.path.islink(path)]

"""Which paths a command must not harm: the system's folders, the home, the workspace's root and what lies above it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ptc.shell.words import UNKNOWN

__all__ = ["Places"]

SYSTEM: Final = (
    "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/root", "/run", "/sbin",
    "/srv", "/sys", "/usr", "/var",
)  # fmt: skip
_BLOCK: Final = ("sd", "hd", "vd", "xvd", "nvme", "mmcblk", "loop", "dm-", "md", "disk", "mapper", "ram", "zram")


@dataclass(frozen=True, slots=True)
class Places:
    """roots: absolute folders of the workspace. cwd: where the command starts. home: what "~" stands for."""

    roots: tuple[str, ...]
    cwd: str
    home: str = field(default_factory=lambda: os.path.expanduser("~"))

    def absolute(self, operand: str) -> str:
        """The path that an operand names, `..`, `~` and a trailing `/*` resolved by their text."""
        if operand == "~" or operand.startswith("~/"):
            operand = self.home + operand[1:]
        while operand.endswith(("/*", "/.")):
            operand = operand[:-2] or "/"
        path = os.path.normpath(os.path.join(self.cwd, operand))
        return path[1:] if path.startswith("//") else path

    def protected(self, operand: str) -> bool:
        """Whether harm to the operand would reach beyond what the workspace holds, or take the workspace as a whole."""
        if operand in {"*", "./*"}:
            operand = "."
        if not operand or UNKNOWN in operand:
            return False
        path = self.absolute(operand)
        if any(path == root or (root + "/").startswith(path.rstrip("/") + "/") for root in (*self.roots, self.home)):
            return True
        if any(path.startswith(root + "/") for root in self.roots):
            return False
        return any(path == place or path.startswith(place + "/") for place in SYSTEM)

    def system(self, operand: str) -> bool:
        """Whether the operand is a system folder, or one above the workspace."""
        return self.protected(operand) and self.absolute(operand) not in self.roots

    def any_protected(self, operands: Sequence[str]) -> bool:
        return any(self.protected(operand) for operand in operands)

    def block_device(self, operand: str) -> bool:
        """Whether the operand names a disk."""
        path = self.absolute(operand) if UNKNOWN not in operand else operand
        return path.startswith("/dev/") and path[5:].startswith(_BLOCK)

"""Says which optional components are missing here and what therefore does not run. Nothing of it is an error."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
SYS_LANDLOCK_CREATE_RULESET = 444


def has_ripgrep() -> bool:
    return shutil.which("rg") is not None or Path(sys.executable).with_name("rg").exists()


def has_landlock() -> bool:
    """True if the kernel answers the version question of landlock_create_ruleset."""
    if sys.platform != "linux":
        return False
    version_flag = 1
    return ctypes.CDLL(None, use_errno=True).syscall(SYS_LANDLOCK_CREATE_RULESET, None, 0, version_flag) > 0


def has_attacks() -> bool:
    return Path(os.environ.get("PTC_ATTACKS") or REPOSITORY.parent / "shared" / "attacks").is_dir()


COMPONENTS = (
    ("rg", has_ripgrep, "the ripgrep half of the grep conformance suite"),
    ("rich", lambda: find_spec("rich") is not None, "the coloured progress of `ptc run`"),
    ("Linux", lambda: sys.platform == "linux", "openat2, seccomp and Landlock tests"),
    ("Landlock", has_landlock, "the tests of that layer; seccomp and rlimits hold without it"),
    ("attack cases", has_attacks, "tests/attacks (PTC_ATTACKS names another folder)"),
)


def main() -> None:
    missing = [(name, lost) for name, present, lost in COMPONENTS if not present()]
    for name, lost in missing:
        print(f"optional component missing: {name}; not run: {lost}", flush=True)
    if not missing:
        print("optional components: all present", flush=True)


if __name__ == "__main__":
    main()

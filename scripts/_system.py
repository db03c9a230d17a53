"""System packages that make the suite and the demo whole: installed when we may, named when we may not.

Nothing here is needed to use ptc, and nothing of it fails: what is missing is said, and the tests that need it are
skipped by name.
"""

from __future__ import annotations

import os
import shutil
import sys

from _env import apt_install

# program -> Debian package, and what it is for
PACKAGES = {"bwrap": ("bubblewrap", "the strongest of the sandboxes that `bash` and `git` run in")}


def main() -> None:
    if sys.platform != "linux":
        return
    for program, (package, purpose) in PACKAGES.items():
        if shutil.which(program) is not None:
            continue
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            print(f"ptc: {program} is not installed: {purpose}. With root: apt-get install {package}", file=sys.stderr)
            continue
        print(f"ptc: installing the system package {package} with apt-get: {purpose}", file=sys.stderr, flush=True)
        if apt_install(package) is not None:
            print(f"ptc: {package} could not be installed; what needs it is skipped by name", file=sys.stderr)


if __name__ == "__main__":
    main()

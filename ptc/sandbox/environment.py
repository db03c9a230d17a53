"""The environment of a command, built from nothing.

Names cannot tell which variables hold a secret (DATABASE_URL, PGPASSFILE, NETRC) or run code (LD_PRELOAD, BASH_ENV,
PYTHONPATH, GIT_SSH_COMMAND), so none is passed on. What a command finds is fixed here; the host may add names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

__all__ = ["PATH", "clean"]

# Absolute folders only: an empty, `.` or relative entry would run what lies in the workspace.
PATH: Final = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9_.@-]{1,64}")
_ZONE: Final = re.compile(r"[A-Za-z0-9_+/-]{1,64}")


def clean(*, home: str, cwd: str, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of a command. `home`: its private folder, for temporary files too. `extra`: what the host adds;
    it wins."""
    language = os.environ.get("LC_ALL") or os.environ.get("LANG") or ""
    zone = os.environ.get("TZ", "")
    found = {
        "PATH": ":".join(PATH),
        "HOME": home,
        "TMPDIR": home,
        "PWD": cwd,
        "USER": "user",
        "LOGNAME": "user",
        "SHELL": "/bin/sh",
        "TERM": "dumb",
        "LANG": language if _LANGUAGE.fullmatch(language) else "C.UTF-8",
        # Git reads no configuration but that of the repository, asks nothing and starts no pager.
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "PAGER": "cat",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if _ZONE.fullmatch(zone) and ".." not in zone:
        found["TZ"] = zone
    found.update(extra or {})
    return found

"""The command line: one file per command; `app.py` holds the group and the guard around it.

The exit code is part of the interface: 0 completed, 1 failed, 2 wrong use, 3 suspended, 124 timed out, 130 cancelled.
"""

from __future__ import annotations

from ptc.cli.app import main

__all__ = ["main"]

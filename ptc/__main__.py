"""`python -m ptc` is the command `ptc`."""

from __future__ import annotations

import sys

from ptc.cli import main

if __name__ == "__main__":
    sys.exit(main())

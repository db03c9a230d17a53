"""The small tools against `echo`, in the same run: what a call of each costs beyond a call that does nothing.

The calls go through `Session.tool`, so that the kernel is in every figure; what is left after `echo` is the tool's own.
Each pair is measured in turns and the best of several rounds is taken, so that a busy machine disturbs both alike.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from ptc import Session  # noqa: E402 - the script runs without an installation too
from ptc.testing import InProcessPool, MemoryWorkspace  # noqa: E402

CALLS: Final = 300
ROUNDS: Final = 15
ASKED_US: Final = 50.0
ECHO: Final[dict[str, Any]] = {"text": "2 * (3 + 4)"}
TOOLS: Final[dict[str, dict[str, Any]]] = {
    "calculator": {"expression": "2 * (3 + 4)"},
    "convert_temperature": {"value": 36.6},
    "generate_password": {},
    "generate_uuid": {},
    "get_time": {},
    "hash_text": {"text": "hello"},
    "json_format": {"json": '{"b":1,"a":[1.10]}'},
    "string_stats": {"text": "Hello World\nFoo bar"},
    "url_encode": {"text": "a b&c"},
}


async def rows() -> list[tuple[str, float, float]]:
    """(tool, microseconds of one call, microseconds of one call of `echo` measured beside it)."""
    found = []
    async with Session(MemoryWorkspace({}), pool=InProcessPool()) as session:
        for name, args in TOOLS.items():
            ours, plain = [], []
            for _ in range(ROUNDS):
                plain.append(await _each(session, "echo", ECHO))
                ours.append(await _each(session, name, args))
            found.append((name, min(ours), min(plain)))
    return found


async def _each(session: Session, name: str, args: Mapping[str, Any]) -> float:
    begun = time.perf_counter()
    for _ in range(CALLS):
        await session.tool(name, args)
    return (time.perf_counter() - begun) / CALLS * 1e6


def main() -> None:
    for name, ours, plain in asyncio.run(rows()):
        print(
            f"{name:20} {ours:7.1f} us   echo {plain:6.1f} us   {ours / plain:5.2f}x   "
            f"{ours - plain:+7.1f} us of {ASKED_US:.0f} asked"
        )


if __name__ == "__main__":
    main()

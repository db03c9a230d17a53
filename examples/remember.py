"""What one session remembers another finds again; whose memories they are is the host's choice."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from ptc import MemoryStore, MemoryWorkspace, Session

STORE = "export default (ctx) => ctx.rememberMemory('The parser is in src/parse.py; \u5b9e\u73b0\u5e76\u53d1')"
FIND = "export default async (ctx, inputs) => (await ctx.recallMemory(inputs.query)).map((found) => found.content)"


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "memory.db")
        with MemoryStore(file, scope="project:one") as store:
            async with Session(MemoryWorkspace(), memory=store) as session:
                await session.program(STORE)
        for scope in ("project:one", "project:two"):
            with MemoryStore(file, scope=scope) as store:
                async with Session(MemoryWorkspace(), memory=store) as session:
                    for query in ("parser", "\u5e76\u53d1"):
                        print(scope, (await session.program(FIND, inputs={"query": query})).value)


asyncio.run(main())

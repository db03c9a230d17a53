"""The same session from code that is not asynchronous."""

from __future__ import annotations

from pathlib import Path

from ptc import Limits, SyncSession

with SyncSession(Path(__file__).parent) as session:
    print(session.glob("*.js"))
    result = session.program(
        "export default async (ctx, inputs) => (await ctx.readFile(inputs.file)).split('\\n')[0]",
        inputs={"file": "search_auth.js"},
        allowed_tools=["read"],
        limits=Limits(timeout_ms=5_000, max_tool_calls=1),
    )
    print(result.status, result.value)

"""A registered secret leaves a session in no result, log, record, event, error or line of the host's log."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from ptc import Session, ToolContext
from tests.program.host import tool as a_tool

pytestmark = pytest.mark.anyio

SECRET = "hunter2-hunter2-hunter2"


@pytest.mark.promise("P4")
@pytest.mark.parametrize("ending", ["return", "throw"])
async def test_a_secret_leaves_the_session_nowhere(
    tmp_path: Path, ending: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "key.txt").write_text(f"token={SECRET}\n")

    async def leaky(context: ToolContext, args: dict[str, Any]) -> Any:
        context.progress(f"with {SECRET}", None)
        context.delta(SECRET[:10])
        context.delta(SECRET[10:])
        return {"key": SECRET, SECRET: 1}

    async def failing(context: ToolContext, args: dict[str, Any]) -> Any:
        raise ValueError(f"bad {SECRET}")

    source = """export default async (ctx, {secret, ending}) => {
      console.log('log', secret);
      ctx.progress('progress ' + secret);
      const seen = [await ctx.readFile('key.txt'), await ctx.leaky({note: secret}), secret];
      try { await ctx.failing() } catch (e) { seen.push(e.message) }
      try { await ctx.tool(secret, {}) } catch (e) { seen.push(e.message) }
      try { await ctx.readFile(secret + '.txt') } catch (e) { seen.push(e.message) }
      seen.push({[secret]: () => 1});
      if (ending === 'throw') throw new Error('sorry ' + secret);
      return seen;
    }"""
    tools = [a_tool("leaky", leaky), a_tool("failing", failing)]
    async with Session(tmp_path, secrets=[SECRET], tools=tools) as s:
        subscription = s.events()
        with caplog.at_level(logging.DEBUG, logger="ptc"):
            result = await s.program(source, inputs={"secret": SECRET, "ending": ending})
            direct = await s.tool("leaky", {"note": SECRET})
    events = [event async for event in subscription]
    assert result.status == ("completed" if ending == "return" else "failed")
    everything = json.dumps([result.to_dict(), direct.to_dict(), [event.to_dict() for event in events]])
    assert SECRET not in everything
    assert SECRET not in caplog.text
    assert SECRET not in repr(result)
    assert everything.count("[secret removed]") > 10
    if ending == "return":
        assert result.value[0] == "token=[secret removed]\n"
        assert result.value[2] == "[secret removed]"
    else:
        assert result.error is not None
        assert result.error.message == "Error: sorry [secret removed]"
    deltas = "".join(event.text for event in events if event.type == "output_delta")  # type: ignore[attr-defined]
    assert deltas.count("[secret removed]") == 2

"""The full gate: with `governed=True` a program is judged as a model's own calls are, by policy and approver."""

from __future__ import annotations

import asyncio
import tempfile

from ptc import ApprovalRequest, Policy, Session

SCRIPT = """
export default async function run(ctx) {
  const attempt = async (path) => {
    try {
      await ctx.write({ path, content: 'hello' });
      return 'written';
    } catch (error) {
      return error.code;
    }
  };
  return { notes: await attempt('notes.txt'), secret: await attempt('secret.env'), other: await attempt('other.txt') };
}
"""


async def approve(request: ApprovalRequest) -> bool:
    """Stands in for a person: yes to the notes, no to all else."""
    return request.args["path"] == "notes.txt"


async def main() -> None:
    policy = Policy(ask=["write"], deny=["write(*.env)"])
    with tempfile.TemporaryDirectory() as folder:
        async with Session(folder, policy=policy, approver=approve) as session:
            result = await session.program(SCRIPT, governed=True)
            print(result.status, result.value)


asyncio.run(main())

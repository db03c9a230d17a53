"""Commands under a policy: the rules teach, the system enforces, and a script gets what a command printed."""

from __future__ import annotations

import asyncio
import tempfile

from ptc import Policy, Session

SCRIPT = """
export default async function run(ctx) {
  const attempt = async (work) => { try { return (await work()).trim(); } catch (error) { return error.code; } };
  return {
    counted: await attempt(() => ctx.bash("cat *.txt | wc -l")),
    written: await attempt(() => ctx.bash(["python3", "-c", "open('made', 'w')"])),
    harmful: await attempt(() => ctx.bash("env rm -rf ..")),
    unclear: await attempt(() => ctx.bash("$TOOL --version")),
    unruled: await attempt(() => ctx.bash("head -1 a.txt")),
  };
}
"""


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        policy = Policy(allow=["bash(cat:*)", "bash(wc:*)", "bash(python3:*)", "bash(env:*)", "bash(rm:*)"])
        async with Session(folder, policy=policy, bash_policy="read-only") as session:
            await session.write_file("a.txt", "one\ntwo\n")
            result = await session.program(SCRIPT, allowed_tools=["bash"], governed=True)
            print(result.status, result.value)


asyncio.run(main())

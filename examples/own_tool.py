"""A typed Python function becomes a tool; a script calls it beside the built-in ones."""

from __future__ import annotations

import asyncio

from ptc import Session, ToolError, tool

PRICES = {"tea": 3, "cake": 5}


@tool(read_only=True)
def price(item: str) -> int:
    """The price of one item, in whole euros."""
    if item not in PRICES:
        raise ToolError("unknown_item", f"there is no {item}; there is {', '.join(PRICES)}.")
    return PRICES[item]


SCRIPT = """
export default async function run(ctx, inputs) {
  const prices = await Promise.all(inputs.order.map((item) => ctx.price(item)));
  return prices.reduce((sum, each) => sum + each, 0);
}
"""


async def main() -> None:
    async with Session(".", tools=[price]) as session:
        result = await session.program(SCRIPT, inputs={"order": ["tea", "tea", "cake"]})
        print(result.status, result.value, [call.tool for call in result.calls])


asyncio.run(main())

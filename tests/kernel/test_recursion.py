"""An orchestrating tool may not call itself, at any depth."""

from __future__ import annotations

import pytest

from tests.kernel.rig import a_kernel, batch, echo, make

pytestmark = pytest.mark.anyio


def wrapped(name: str, args: dict[str, object], *around: str) -> tuple[str, dict[str, object]]:
    """The call `name(args)` inside one call of each orchestrator of `around`, innermost first."""
    for outer in around:
        name, args = outer, {"calls": [{"tool": name, "args": args}]}
    return name, args


@pytest.mark.parametrize("around", [("batch",), ("other", "batch"), ("third", "other", "batch")])
async def test_an_orchestrator_is_refused_inside_itself_at_any_depth(around: tuple[str, ...]) -> None:
    kernel = a_kernel(batch(), batch("other"), batch("third"), echo())
    name, args = wrapped("batch", {"calls": []}, *around)
    outcome = await make(kernel, name, args)
    assert "recursive_call" in outcome.result.output
    assert "may not call itself" in outcome.result.output


async def test_different_orchestrators_may_nest_and_plain_tools_may_repeat() -> None:
    kernel = a_kernel(batch(), batch("other"), echo())
    name, args = wrapped("echo", {"text": "deep"}, "other", "batch")
    assert "deep" in (await make(kernel, name, args)).result.output

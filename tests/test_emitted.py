"""Looks back at the run: every code of the table was brought about, and every tool had announced its markers."""

from __future__ import annotations

import pytest

from ptc.codes import CODES
from ptc.tooling import Tool
from tests.emitted import CODES_SEEN, MARKERS_SEEN
from tests.everything import builtin_records

# The kernel speaks for all tools with these, and a batch for the calls that it does not make; a description of one tool
# need not repeat them.
KERNEL: frozenset[str] = frozenset(
    {"[tool]", "[hook]", "[permission]", "[approval]", "[budget]", "[cancelled]", "[session]", "[limits]", "[program]"}
)


def of_batch(tool: Tool) -> frozenset[str]:
    return frozenset() if tool.name == "batch" else frozenset({CODES["batch_skipped"].marker})


@pytest.mark.promise("P5")
def test_every_code_of_the_table_was_brought_about_by_a_test() -> None:
    assert sorted(set(CODES) - CODES_SEEN) == []


@pytest.mark.promise("P5")
def test_the_description_of_every_tool_names_the_markers_of_its_errors() -> None:
    unsaid = {
        tool.name: sorted(unsaid)
        for tool in builtin_records()
        if (
            unsaid := {
                marker for marker in MARKERS_SEEN[tool.name] - KERNEL - of_batch(tool) if marker not in tool.description
            }
        )
    }
    assert unsaid == {}

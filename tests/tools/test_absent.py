"""A missing path or pattern has a code of its own, in a program and directly."""

from __future__ import annotations

import pytest

from tests.program.host import session

pytestmark = pytest.mark.anyio

ABSENT = [
    ("read", {}, "workspace_path_required"),
    ("write", {"content": "x"}, "workspace_path_required"),
    ("edit", {"edits": [{"old": "a", "new": "b"}]}, "workspace_path_required"),
    ("glob", {}, "pattern_required"),
    ("find", {}, "pattern_required"),
    ("grep", {}, "pattern_required"),
    ("read", {"path": ""}, "workspace_path_required"),
    ("glob", {"pattern": ""}, "pattern_required"),
    ("grep", {"pattern": ""}, "pattern_required"),
    ("read", {"file": "a.txt"}, "invalid_arguments"),
]


@pytest.mark.promise("P5")
@pytest.mark.parametrize(("tool", "args", "code"), ABSENT)
async def test_what_is_missing_is_named_by_its_own_code(tool: str, args: dict[str, object], code: str) -> None:
    async with session({"a.txt": "A"}) as s:
        error = (await s.tool(tool, args)).error
        assert error is not None
        assert error.code == code
        assert error.message

"""Fixtures of the whole suite: asyncio is the promised backend, and every test is bounded by pytest-timeout."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import emitted

HERE = Path(__file__).parent
# These look back at the run, so they come last, and say so if the run was not of the whole suite.
AT_THE_END = "test_emitted.py"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def pytest_configure(config: pytest.Config) -> None:
    emitted.watch()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    collected = {item.path for item in items}
    items.sort(key=lambda item: item.path.name == AT_THE_END)
    everything = set(HERE.rglob("test_*.py")) <= collected and not config.option.keyword and not config.option.markexpr
    for item in items:
        if item.path.name == AT_THE_END and not everything:
            item.add_marker(pytest.mark.skip(reason="only a run of the whole suite can tell"))

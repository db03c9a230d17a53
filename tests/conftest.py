"""Fixtures of the whole suite: asyncio is the promised backend, and every test is bounded by pytest-timeout."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"

"""The error tree: stable facts, bounded messages, and errors that survive a process boundary."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from ptc import errors
from ptc.codes import CODES
from ptc.errors import MESSAGE_CAP, ConfigError, ProtocolError, PtcError, SessionClosed, ToolError, WorkerError

EXAMPLES: list[PtcError] = [
    PtcError("io_error", "disk"),
    ConfigError("invalid_limits", "wrong", details={"limit": "cpu_ms"}),
    ToolError("timeout", "late", details={"n": [1, {"a": None}]}, retryable=True),
    ToolError("my_own_code", "mine", category="external_failure", retryable=True),
    WorkerError("sandbox_unavailable", "no process"),
    ProtocolError("a bad frame"),
    SessionClosed(),
    SessionClosed("closed by the host"),
]


def facts(error: PtcError) -> tuple[Any, ...]:
    return (type(error), str(error), error.code, error.message, error.details, error.retryable, error.category)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_is_the_same_after_pickling_and_copying(error: PtcError) -> None:
    assert facts(pickle.loads(pickle.dumps(error))) == facts(error)
    assert facts(copy.deepcopy(error)) == facts(error)


def test_every_error_is_one_of_the_tree_and_the_tree_is_drawn_in_the_header() -> None:
    tree = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, PtcError)]
    assert sorted(kind.__name__ for kind in tree) == sorted(errors.__all__)
    for kind in tree:
        assert kind.__name__ in (errors.__doc__ or "")


@pytest.mark.parametrize("code", CODES)
def test_category_and_retryable_come_from_the_table(code: str) -> None:
    error = ToolError(code, "m")
    assert (error.category, error.retryable, error.details) == (CODES[code].category, CODES[code].retryable, {})


def test_category_and_retryable_may_be_given_for_one_error() -> None:
    error = ToolError("io_error", "m", retryable=False, category="internal")
    assert (error.category, error.retryable) == ("internal", False)


def test_a_code_of_a_tool_author_is_an_external_failure_that_is_not_retryable() -> None:
    error = ToolError("quota_of_my_service", "m")
    assert (error.code, error.category, error.retryable) == ("quota_of_my_service", "external_failure", False)


@pytest.mark.promise("P7")
@pytest.mark.parametrize("length", [MESSAGE_CAP, MESSAGE_CAP + 1, 10**6])
def test_a_message_is_capped_and_the_cut_says_how_long_it_was(length: int) -> None:
    message = ToolError("tool_failed", "x" * length).message
    assert len(message) <= MESSAGE_CAP
    assert ("characters in all" in message) == (length > MESSAGE_CAP)
    assert length <= MESSAGE_CAP or str(length) in message


def test_details_are_a_copy() -> None:
    details = {"a": 1}
    error = ToolError("tool_failed", "m", details=details)
    details["a"] = 2
    assert error.details == {"a": 1}


def test_an_error_of_configuration_is_a_value_error() -> None:
    with pytest.raises(ValueError):
        raise ConfigError("invalid_limits", "m")


def test_the_text_of_an_error_is_its_message() -> None:
    assert str(ToolError("tool_failed", "what happened")) == "what happened"

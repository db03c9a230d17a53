"""The public surface is a decision: a name comes or goes here first."""

from __future__ import annotations

import importlib.metadata
import inspect

import pytest

import ptc

SURFACE = [
    "Approval",
    "ApprovalRequest",
    "BashPolicy",
    "Block",
    "Budget",
    "CallRecord",
    "Condition",
    "ConfigError",
    "Content",
    "Event",
    "Hook",
    "Limits",
    "LocalWorkspace",
    "MemoryStore",
    "MemoryWorkspace",
    "Policy",
    "ProgramError",
    "ProgramResult",
    "PtcError",
    "RemoteWorkspace",
    "Replace",
    "RetryLater",
    "Roles",
    "Session",
    "SessionClosed",
    "SyncSession",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "WebAccess",
    "tool",
]
SESSION_OPTIONS = [
    "workspace", "policy", "approver", "hooks", "budget", "limits", "ceilings", "secrets", "bash_policy", "web",
    "memory", "roles", "tools", "warm", "pool",
]  # fmt: skip
PROGRAM_OPTIONS = ["source", "path", "inputs", "allowed_tools", "limits", "language", "governed"]
SESSION_METHODS = [
    "active_tools", "bash", "cancel", "close", "edit_file", "events", "git", "glob", "governed_tool", "grep", "ls",
    "patch_file", "program", "read_file", "register", "tool", "tool_definitions", "tool_names", "write_file",
]  # fmt: skip


def test_the_surface_is_exactly_this_list() -> None:
    assert list(ptc.__all__) == SURFACE


@pytest.mark.parametrize("name", SURFACE)
def test_a_public_name_loads_and_has_a_docstring_of_its_own(name: str) -> None:
    value = getattr(ptc, name)
    docstring = inspect.cleandoc(value.__doc__ or "")
    generated = docstring.startswith(f"{name}(")  # what @dataclass writes when nobody did
    assert docstring, f"ptc.{name} has no docstring"
    assert not generated, f"ptc.{name} has only the docstring that a dataclass generates"


def test_a_session_takes_exactly_these_options() -> None:
    assert list(inspect.signature(ptc.Session).parameters) == SESSION_OPTIONS


def test_a_program_takes_exactly_these_options() -> None:
    assert list(inspect.signature(ptc.Session.program).parameters) == ["self", *PROGRAM_OPTIONS]


def test_a_session_has_exactly_these_methods_and_each_has_a_docstring() -> None:
    methods = {name: value for name, value in vars(ptc.Session).items() if name[0] != "_" and callable(value)}
    assert sorted(methods) == SESSION_METHODS
    assert [name for name, value in methods.items() if not value.__doc__] == []


def test_a_blocking_session_has_the_methods_of_a_session() -> None:
    with ptc.SyncSession() as session:
        assert [name for name in SESSION_METHODS if not callable(getattr(session, name, None))] == []


def test_an_unknown_name_says_what_there_is() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'Sesion'; it has .*\bSession\b"):
        ptc.Sesion  # noqa: B018 - the access is the test


def test_dir_lists_the_surface() -> None:
    assert set(SURFACE) <= set(dir(ptc))


def test_the_version_is_that_of_the_distribution() -> None:
    try:
        installed = importlib.metadata.version("ptc-sandbox")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("ptc-sandbox is not installed in this environment; the sources are used directly")
    assert ptc.__version__ == installed

"""The guard around the commands: every way to go wrong is a line and an exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click
import pytest

from ptc.cli.app import group, main
from ptc.errors import ConfigError, ToolError, WorkerError


@pytest.fixture
def failing() -> Iterator[Callable[[BaseException], list[str]]]:
    """Adds a command that raises what it is given; returns the arguments that run it."""

    def add(error: BaseException) -> list[str]:
        @click.command("fail")
        def fail() -> None:
            raise error

        group.add_command(fail)
        return ["fail"]

    yield add
    group.commands.pop("fail", None)


Failing = Callable[[BaseException], list[str]]


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ConfigError("invalid_limits", "limit x"), 2, "error[invalid_limits] limit x\n"),
        (ToolError("file_not_found", "no\nfile\x1b"), 1, "error[file_not_found] no\n    file\\u001b\n"),
        (WorkerError("sandbox_unavailable", "no fork"), 1, "error[sandbox_unavailable] no fork\n"),
        (click.UsageError("two\nlines"), 2, "error[usage] two lines See: ptc fail --help\n"),
        (KeyboardInterrupt(), 130, "\nerror[cancelled] interrupted\n"),
        (
            RuntimeError("odd\x1b"),
            1,
            "error[internal] RuntimeError: odd\\u001b (run with PTC_DEBUG=1 for the traceback)\n",
        ),
    ],
)
def test_an_error_is_a_line_and_an_exit_code(
    failing: Failing, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, said: str
) -> None:
    assert main(failing(error)) == code
    assert capsys.readouterr() == ("", said)


def test_an_unexpected_error_shows_its_traceback_when_asked(
    failing: Failing, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PTC_DEBUG", "1")
    assert main(failing(RuntimeError("odd"))) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--help"], ["run", "-h"]])
def test_help_is_no_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("Usage: ptc")


def test_help_names_the_exit_codes_and_the_safe_default(capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "--help"])
    words = " ".join(capsys.readouterr().out.split())
    assert "0 completed, 1 failed, 2 wrong use, 3 suspended, 124 timed out, 130 cancelled" in words
    assert "Default: all that change nothing." in words


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("ptc 0.")

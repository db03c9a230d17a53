"""On a terminal: colours and a live line on stderr, none with NO_COLOR, and stdout as plain as ever."""

from __future__ import annotations

import os
import pty
import select
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(find_spec("rich") is None, reason="rich is not installed (extra `pretty`)")

SCRIPT = """
export default async function run(ctx) {
  await ctx.ls('.');
  console.log('[bold red]markup[/]\\u001b[2J');
  return { a: 1 };
}
"""
GREEN = "\x1b[32m"


def on_terminal(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[str, str]:
    """stdout, and what a terminal on stderr receives."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [*command, "run", "--source", SCRIPT], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=theirs
        )
    finally:
        os.close(theirs)
    received = bytearray()
    try:
        while select.select([ours], [], [], 30)[0]:
            try:
                piece = os.read(ours, 65_536)
            except OSError:  # Linux says EIO when the last writer has closed
                break
            if not piece:
                break
            received += piece
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
        os.close(ours)
    assert process.returncode == 0, received
    return out.decode(), received.decode()


def test_a_terminal_gets_colours_and_stdout_stays_plain(
    command: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    out, shown = on_terminal(command, tmp_path, environment)
    assert out == '{\n  "a": 1\n}\n'
    assert GREEN in shown
    assert "ls '.'" in shown


def test_a_script_s_text_is_neither_markup_nor_control(
    command: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    _, shown = on_terminal(command, tmp_path, environment)
    assert "[bold red]markup[/]\\u001b[2J" in shown
    assert "\x1b[2J" not in shown


def test_no_color_takes_the_colours_away(command: list[str], environment: dict[str, str], tmp_path: Path) -> None:
    _, shown = on_terminal(command, tmp_path, {**environment, "NO_COLOR": "1"})
    assert GREEN not in shown
    assert "✓ ls '.'" in shown


def test_a_dumb_terminal_gets_plain_lines(command: list[str], environment: dict[str, str], tmp_path: Path) -> None:
    _, shown = on_terminal(command, tmp_path, {**environment, "TERM": "dumb"})
    assert "\x1b" not in shown
    assert "✓ ls '.'" in shown

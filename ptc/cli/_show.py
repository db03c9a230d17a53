"""A ProgramResult as a person reads it: the answer on stdout, everything about it on stderr."""

from __future__ import annotations

import click

from ptc.cli._terminal import ascii_json, block, line, pretty_json, word
from ptc.results import ErrorInfo, ProgramError, ProgramResult

__all__ = ["answer", "error_lines", "show_answer", "show_trouble"]


def answer(result: ProgramResult) -> str:
    """What `run` returned: a text as it is, anything else as JSON, nothing ("") for no value."""
    if result.value is None:
        return ""
    return block(result.value) if isinstance(result.value, str) else pretty_json(result.value)


def error_lines(error: ErrorInfo) -> list[str]:
    """`error[kind] line 3:14: message`, then the hint, if there is one; the code says more of a refused program."""
    if not isinstance(error, ProgramError) or error.kind == "denied":
        return [f"error[{word(error.code)}] {line(error.message)}"]
    column = "" if error.column is None else f":{error.column}"
    place = "" if error.line is None else f" line {error.line}{column}:"
    lines = [f"error[{word(error.kind)}]{place} {line(error.message)}"]
    if error.hint:
        lines.append(f"hint: {line(error.hint)}")
    return lines


def show_answer(result: ProgramResult, *, as_json: bool) -> None:
    """Print the result on stdout: whole as one JSON object, or only the value."""
    text = ascii_json(result.to_dict()) if as_json else answer(result)
    if text:
        click.echo(text, nl=not text.endswith("\n"))


def show_trouble(result: ProgramResult) -> None:
    """Print warnings and the error on stderr."""
    for warning in result.warnings:
        place = "" if warning.line is None else f" line {warning.line}:"
        where = "" if warning.path is None else f" (at {line(warning.path)})"
        click.echo(f"warning[{word(warning.code)}]{place} {line(warning.message)}{where}", err=True)
    if result.error is not None:
        for text in error_lines(result.error):
            click.echo(text, err=True)

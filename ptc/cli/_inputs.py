"""What a person typed, made into a script text and inputs; every misuse is one line that says what to write instead."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import click

from ptc.limits import HARD_MAXIMUM
from ptc.values import loads, show

__all__ = ["read_inputs", "read_script", "split_names"]

_SOURCE_CAP: Final = HARD_MAXIMUM["source_bytes"]
_INPUTS_CAP: Final = HARD_MAXIMUM["inputs_bytes"]


def read_script(file: str | None, source: str | None) -> str:
    """The text of the script: `file` is a path or `-` for standard input, `source` the text itself.

    Raises click.UsageError if not exactly one is given, or if the script cannot be read, is empty or is not UTF-8.
    """
    if (file is None) == (source is None):
        given = "nothing was given" if file is None else "both FILE and --source were given"
        raise click.UsageError(f"{given}; name one script: a FILE, `-` for standard input, or --source TEXT.")
    if source is not None:
        text, name = source, "--source"
    elif file == "-":
        if sys.stdin is None:
            raise click.UsageError("standard input is closed; name a FILE or give --source TEXT.")
        text, name = _decode(sys.stdin.buffer.read(_SOURCE_CAP + 1), "standard input", _SOURCE_CAP), "standard input"
    else:
        assert file is not None
        name = show(file)
        text = _decode(_read_file(file, _SOURCE_CAP), name, _SOURCE_CAP)
    if not text.strip():
        raise click.UsageError(f"{name} is empty; a script is needed, e.g. `export default async (ctx) => 1`.")
    return text


def read_inputs(pairs: tuple[str, ...], whole: str | None) -> dict[str, Any]:
    """The inputs object: `--inputs` (JSON text or @file) first, then each `--input key=value` on top of it.

    A value is JSON if it parses as JSON, else text. Raises click.UsageError for what is no object or has no `=`.
    """
    inputs = {} if whole is None else _read_object(whole)
    seen: set[str] = set()
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise click.UsageError(f"--input {show(pair)} has no key; write --input key=value.")
        if key in seen:
            raise click.UsageError(f"--input {show(key)} was given twice; for a list write --input '{key[:40]}=[1,2]'.")
        seen.add(key)
        try:
            inputs[key] = loads(text.encode("utf-8", "surrogatepass"))
        except ValueError:
            inputs[key] = text
    return inputs


def split_names(lists: tuple[str, ...]) -> list[str] | None:
    """The names in `--allow a,b --allow c`; None if the option was not given, [] for `--allow ''`."""
    if not lists:
        return None
    return list(dict.fromkeys(name.strip() for part in lists for name in part.split(",") if name.strip()))


def _read_object(whole: str) -> dict[str, Any]:
    if whole.startswith("@"):
        name = show(whole[1:])
        text = _decode(_read_file(whole[1:], _INPUTS_CAP), name, _INPUTS_CAP)
    else:
        name, text = "--inputs", whole
    try:
        value = loads(text.encode("utf-8", "surrogatepass"))
    except ValueError as error:
        raise click.UsageError(f'{name} is not JSON ({error}); write --inputs \'{{"key": "value"}}\'.') from None
    if not isinstance(value, dict):
        kind = {list: "an array", str: "a text", bool: "a boolean", type(None): "null"}.get(type(value), "a number")
        raise click.UsageError(f'{name} holds {kind}; inputs must be one JSON object, e.g. \'{{"key": "value"}}\'.')
    return value


def _read_file(path: str, cap: int) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(cap + 1)
    except IsADirectoryError:
        raise click.UsageError(f"{show(path)} is a directory; name a file in it.") from None
    except FileNotFoundError:
        raise click.UsageError(f"{show(path)} does not exist (seen from {show(str(Path.cwd()))}).") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or "not a usable path"
        raise click.UsageError(f"{show(path)} cannot be read: {reason}.") from None


def _decode(data: bytes, name: str, cap: int) -> str:
    if len(data) > cap:
        raise click.UsageError(f"{name} is larger than {cap:,} bytes, the most that can be read.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{name} is not UTF-8: byte {error.start:,} is 0x{data[error.start]:02x}.") from None

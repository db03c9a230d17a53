"""The options of a command, told apart from its operands: `-fr` is `-f` and `-r`, `--recursive` is itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Split", "split"]


class Split(NamedTuple):
    """flags: single letters without dash, long names with theirs (a value after `=` is cut off). operands: the rest."""

    flags: frozenset[str]
    operands: tuple[str, ...]

    def has(self, *names: str) -> bool:
        return any(name in self.flags for name in names)


def split(args: Sequence[str]) -> Split:
    flags: set[str] = set()
    operands: list[str] = []
    only_operands = False
    for word in args:
        if only_operands or not word.startswith("-") or word == "-":
            operands.append(word)
        elif word == "--":
            only_operands = True
        elif word.startswith("--"):
            flags.add(word.partition("=")[0])
        else:
            flags.update(word[1:])
    return Split(frozenset(flags), tuple(operands))

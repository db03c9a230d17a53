"""A simple command as the rules see it: words, assignments, redirections, and whose output it is.

A word whose value only the shell will know (a variable, the output of a command) is UNKNOWN. Rules that allow never
match it, rules that deny always do.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Final, NamedTuple

__all__ = ["UNKNOWN", "Redirect", "Simple", "joined"]

# A character that stands for "anything", also in what permission rules are matched against; whoever writes it himself
# is judged as strictly.
UNKNOWN: Final = "\ufffc"


class Redirect(NamedTuple):
    """op: `>`, `>>`, `<`, ... as written, without a number. target: the file; UNKNOWN if only the shell will know."""

    op: str
    target: str

    @property
    def writes(self) -> bool:
        """Whether it makes or changes a file."""
        return ">" in self.op and self.target not in {"/dev/null", "/dev/stdout", "/dev/stderr"}


@dataclass(frozen=True, slots=True, eq=False)
class Simple:
    """One simple command.

    words        the program first; empty if there are only assignments or redirections
    assigned     variables that are set for it or by it
    redirects    of it, or of the group that it stands in
    line         where it begins, from 1
    piped_from   the command whose output it reads, or None
    inside       the command of which it is an argument, as a substitution, or None
    """

    words: tuple[str, ...]
    assigned: tuple[tuple[str, str], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    line: int = 1
    piped_from: Simple | None = None
    inside: Simple | None = None
    wrapped: bool = field(default=False)

    @property
    def program(self) -> str:
        """The program's name without its folder, "" if there is none."""
        return self.words[0].rsplit("/", 1)[-1] if self.words else ""

    @property
    def args(self) -> tuple[str, ...]:
        return self.words[1:]


def joined(words: tuple[str, ...] | list[str]) -> str:
    """The words as permission rules match them."""
    return shlex.join(words)

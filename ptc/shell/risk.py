"""How much a command could harm, as a word for a person who is asked for approval and for the audit.

It is advice. The highest level of all commands counts, those that others start included; what nobody knows is medium.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from ptc.shell import git_rules
from ptc.shell.flags import split
from ptc.shell.rules import INTERPRETERS, Hit
from ptc.shell.unwrap import SHELLS
from ptc.shell.words import Simple

__all__ = ["Risk", "risk_of"]

Risk: TypeAlias = Literal["low", "medium", "high", "critical"]
_LEVELS: Final[tuple[Risk, ...]] = ("low", "medium", "high", "critical")
_LONG_S: Final = 120

_READERS: Final = frozenset({
    "ls", "cat", "head", "tail", "wc", "grep", "egrep", "fgrep", "rg", "find", "fd", "tree", "file", "stat", "du", "df",
    "pwd", "echo", "printf", "true", "false", "test", "[", "date", "uname", "whoami", "id", "which", "type", "command",
    "env", "printenv", "sort", "uniq", "cut", "tr", "comm", "diff", "cmp", "nl", "od", "xxd", "hexdump", "strings",
    "basename", "dirname", "realpath", "readlink", "seq", "sleep", "expr", "jq", "column", "paste", "join", "fold",
    "md5sum", "sha1sum", "sha256sum", "cksum", "ps", "uptime", "free", "nproc", "cd", "sed", "awk", "tac", "rev", "yes",
    "less", "more", "tsort", "shuf", "numfmt", "getconf", "locale", "tty", "groups", "hostname",
})  # fmt: skip
_WRITE_OPTIONS: Final = {
    "sort": {"o", "--output"}, "sed": {"i", "--in-place"}, "tree": {"o"}, "yes": set[str](),
    "find": {"-delete", "-exec", "-execdir", "-fprintf", "-fprint", "-ok", "-okdir", "-fls"},
}  # fmt: skip
_GIT_READS: Final = frozenset({
    "status", "log", "diff", "show", "blame", "ls-files", "ls-tree", "rev-parse", "describe", "shortlog", "grep",
    "cat-file", "reflog", "rev-list", "name-rev", "merge-base", "for-each-ref", "count-objects", "whatchanged",
})  # fmt: skip
_PACKAGES: Final = frozenset({
    "pip", "pip3", "pipx", "uv", "npm", "pnpm", "yarn", "gem", "cargo", "go", "apt", "apt-get", "brew", "dnf", "yum",
    "apk", "conda", "poetry",
})  # fmt: skip
_CODE_OPTIONS: Final = {
    "python": "c",
    "python2": "c",
    "python3": "c",
    "perl": "eE",
    "ruby": "e",
    "node": "ep",
    "php": "r",
}
_HARM_WORDS: Final = (
    "socket", "http", "urllib", "requests", "fetch(", "connect", "open(", "write", "unlink", "rmtree", "remove(",
    "system(", "subprocess", "exec", "os.", "child_process", "fs.",
)  # fmt: skip


def risk_of(commands: Sequence[Simple], hits: Sequence[Hit], *, timeout_s: float = 0, unclear: bool = False) -> Risk:
    """The level of a command line whose simple commands and broken rules are given; high if a part of it is unclear."""
    level = max((_of_hit(hit) for hit in hits), default=0)
    level = max([level, 2 if unclear else 0, *(_of(command) for command in commands)])
    return _LEVELS[max(level, 1) if timeout_s > _LONG_S else level]


def _of_hit(hit: Hit) -> int:
    kind, _, name = hit.rule.id.partition(".")
    critical = kind in {"fs", "priv", "sys"} or name in {"pipe_exec", "decode", "nc_exec", "dev_tcp", "loader"}
    return 3 if critical else 2


def _of(command: Simple) -> int:
    level = 1 if any(redirect.writes for redirect in command.redirects) else 0
    if not command.words:
        return level
    return max(level, _of_program(command))


def _of_program(command: Simple) -> int:
    program, flags = command.program, split(command.args)
    if "/" in command.words[0] and not command.words[0].startswith(("/bin/", "/usr/", "/sbin/", "/opt/")):
        return 2
    if program in {"chmod", "chown", "chgrp", "kill", "pkill", "killall", "shred", "dd"}:
        return 2
    if program == "rm":
        return 2 if flags.has("r", "R", "--recursive") else 1
    if program == "git":
        return _of_git(command)
    if program in _PACKAGES:
        verbs = {"install", "publish", "add", "upload", "i", "ci", "remove", "uninstall", "update", "upgrade"}
        return 2 if verbs & set(flags.operands) else 1
    if program in INTERPRETERS:
        return _of_interpreter(command)
    if program in _READERS:
        options = _WRITE_OPTIONS.get(program, set())
        words = {word for word in command.args if word in options}
        if words & {"-delete", "-exec", "-execdir"}:
            return 2
        return 1 if words or flags.flags & options else 0
    return 1


def _of_git(command: Simple) -> int:
    name, rest = git_rules.subcommand(command.args)
    if name in {"push", "clean", "filter-branch", "gc", "update-ref"} or (name == "reset" and "--hard" in rest):
        return 2
    if name == "branch" or name == "tag" or name == "remote" or name == "stash" or name == "worktree":
        listing = not [word for word in rest if word not in {"-v", "-vv", "-a", "-r", "--list", "-l", "list", "show"}]
        return 0 if listing else 1
    return 0 if name in _GIT_READS or not name else 1


def _of_interpreter(command: Simple) -> int:
    if command.program in SHELLS:
        return 1
    options = _CODE_OPTIONS.get(command.program, "")
    for at, word in enumerate(command.args[:-1]):
        if word.startswith("-") and not word.startswith("--") and any(letter in word[1:] for letter in options):
            return 2 if any(harm in command.args[at + 1] for harm in _HARM_WORDS) else 1
    return 1

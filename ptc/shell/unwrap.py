"""What a command runs besides itself: the program behind `env` or `timeout`, the text behind `sh -c`, the command that
`find -exec` or `xargs` starts. Each inner command is judged like one that stands there openly.

Interpreters of other languages are not looked into; that their code can do anything is a matter of risk, and of the
sandbox.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Final

from ptc.errors import ToolError
from ptc.shell.syntax import KEYWORDS, not_checkable, parse
from ptc.shell.words import UNKNOWN, Simple

__all__ = ["MAX_LEVELS", "SHELLS", "every_command"]

MAX_LEVELS: Final = 8
SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash", "fish"})

# Wrapper -> its options that take a value as the next word. Everything behind the options is a command.
_WRAPPERS: Final[dict[str, frozenset[str]]] = {
    "env": frozenset({"-u", "--unset", "-C", "--chdir", "-S", "--split-string"}),
    "nice": frozenset({"-n", "--adjustment"}),
    "nohup": frozenset(),
    "timeout": frozenset({"-k", "--kill-after", "-s", "--signal"}),
    "setsid": frozenset(),
    "stdbuf": frozenset({"-i", "-o", "-e", "--input", "--output", "--error"}),
    "ionice": frozenset({"-c", "-n", "-p", "--class", "--classdata"}),
    "time": frozenset({"-f", "-o", "--format", "--output"}),
    "command": frozenset(),
    "builtin": frozenset(),
    "exec": frozenset({"-a"}),
    "chrt": frozenset({"-T", "-P", "-D", "-p"}),
    "taskset": frozenset({"-p"}),
    "xargs": frozenset(
        {"-I", "-i", "-n", "-P", "-L", "-d", "-E", "-s", "-a", "--max-args", "--max-procs", "--replace"}
    ),
    "busybox": frozenset(),
    "toybox": frozenset(),
    "sudo": frozenset({"-u", "-g", "-h", "-p", "-C", "-T", "-r", "-t", "-U", "-D", "-R"}),
    "doas": frozenset({"-u", "-C"}),
    "chroot": frozenset({"--userspec", "--groups"}),
    "unshare": frozenset({"--map-user", "--map-group", "-S", "-G", "--wd", "--root", "-R", "-w"}),
    "nsenter": frozenset({"-t", "--target", "-S", "-G"}),
    "setpriv": frozenset({"--reuid", "--regid", "--groups"}),
    "strace": frozenset({"-e", "-o", "-p", "-s", "-P", "-u", "-E", "-a", "-O", "-S", "-X"}),
    "ltrace": frozenset({"-e", "-o", "-p", "-s", "-u", "-n", "-a"}),
    "flock": frozenset({"-w", "--timeout", "-E", "--conflict-exit-code", "-c", "--command"}),
    "watch": frozenset({"-n", "--interval", "-q"}),
    "parallel": frozenset({"-j", "--jobs", "-a", "--arg-file"}),
    "catchsegv": frozenset(),
    "eatmydata": frozenset(),
    "fakeroot": frozenset({"-l", "-s", "-i", "-u"}),
    "proot": frozenset({"-r", "-b", "-w"}),
    "bwrap": frozenset(),
    "firejail": frozenset(),
    "valgrind": frozenset(),
    "gdb": frozenset(),
    "perf": frozenset(),
    "rlwrap": frozenset(),
    "unbuffer": frozenset(),
    "systemd-run": frozenset({"-p", "-u", "--unit", "--property"}),
}
# How many words that are no options stand before the command.
_BEFORE: Final = {"timeout": 1, "chrt": 1, "taskset": 1, "chroot": 1, "flock": 1}
_TEXT_OPTIONS: Final = {"script": ("-c", "--command"), "su": ("-c", "--command"), "flock": ("-c", "--command")}
_FIND_RUNS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def every_command(commands: Sequence[Simple]) -> tuple[list[Simple], ToolError | None]:
    """The commands and all that they run, each once; and the `bash_not_checkable` that tells why that is not all: what
    one of them runs cannot be told, or is nested too deeply."""
    found: list[Simple] = []
    trouble: ToolError | None = None
    waiting = [(command, 0) for command in reversed(commands)]
    while waiting:
        command, level = waiting.pop()
        found.append(command)
        try:
            inner = list(_inner(command))
            if inner and level >= MAX_LEVELS:
                raise not_checkable(f"more than {MAX_LEVELS} programs start one another")
        except ToolError as error:
            trouble = trouble or error
        else:
            waiting += [(each, level + 1) for each in reversed(inner)]
    return found, trouble


def _inner(command: Simple) -> Iterator[Simple]:
    program, args = command.program, command.args
    text = _shell_text(program, args)
    if text is not None:
        yield from _parsed(text, command)
    if program == "find":
        yield from _of_find(command)
    if program in _WRAPPERS and text is None:
        words, assigned = _behind_options(program, args)
        if words:
            if UNKNOWN in words[0] or (program == "time" and words[0] in KEYWORDS):
                raise not_checkable(f"what {program} starts is known only when it runs")
            yield dataclasses.replace(command, words=tuple(words), assigned=tuple(assigned), wrapped=True)


def _shell_text(program: str, args: Sequence[str]) -> str | None:
    """The shell text among the arguments, if the program runs one."""
    if program in SHELLS:
        return _text_of_shell(args)
    if program == "eval":
        return " ".join(args)
    if program == "trap":
        return args[0] if len(args) > 1 and args[0] != "-" else None
    if program == "watch":
        words, _ = _behind_options("watch", args)
        return " ".join(words)
    for option in _TEXT_OPTIONS.get(program, ()):
        if option in args[:-1]:
            return args[args.index(option) + 1]
    if program == "env":
        for option in ("-S", "--split-string"):
            if option in args[:-1]:
                return args[args.index(option) + 1]
    return None


def _text_of_shell(args: Sequence[str]) -> str | None:
    """What stands behind `-c`; None for a shell that runs a file or its input."""
    words = list(args)
    has_text = False
    while words and words[0].startswith(("-", "+")) and words[0] not in ("-", "--"):
        option = words.pop(0)
        if option.startswith("--"):
            if option in ("--rcfile", "--init-file"):
                words[:1] = []
            continue
        has_text = has_text or "c" in option[1:]
        # `-o NAME` and `-O NAME`, alone or at the end of others.
        if option[-1] in "oO" and words:
            words.pop(0)
    if words and words[0] == "--":
        words.pop(0)
    return (words[0] if words else "") if has_text else None


def _parsed(text: str, command: Simple) -> list[Simple]:
    if UNKNOWN in text:
        raise not_checkable(f"the text that {command.program} runs is known only when it runs")
    return [dataclasses.replace(inner, wrapped=True) for inner in parse(text)]


def _of_find(command: Simple) -> Iterator[Simple]:
    args = list(command.args)
    for index, word in enumerate(args):
        if word in _FIND_RUNS:
            rest = args[index + 1 :]
            end = next((at for at, later in enumerate(rest) if later in {";", "+"}), len(rest))
            words = rest[:end]
            if words:
                if UNKNOWN in words[0]:
                    raise not_checkable("what find starts is known only when it runs")
                yield dataclasses.replace(
                    command, words=tuple(UNKNOWN if word == "{}" else word for word in words), wrapped=True
                )


def _behind_options(program: str, args: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """The command behind the wrapper's own options, and the variables that `env` sets for it."""
    valued = _WRAPPERS[program]
    words = list(args)
    assigned: list[tuple[str, str]] = []
    before = _BEFORE.get(program, 0)
    while words:
        word = words[0]
        if word == "--":
            words.pop(0)
            if not before:
                break
        elif word.startswith("-") and len(word) > 1:
            words.pop(0)
            if word in valued and words:
                words.pop(0)
        elif program in {"env", "sudo"} and "=" in word:
            name, _, value = words.pop(0).partition("=")
            assigned.append((name, value))
        elif before:
            words.pop(0)
            before -= 1
        else:
            break
    if program == "xargs" and words:
        words = [*words, UNKNOWN]
    return words, assigned

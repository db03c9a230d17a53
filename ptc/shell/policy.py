"""What the bash tool may run: a name, a filter that teaches, and limits that the system enforces.

Three are built in. All of them refuse the same list of harmful commands; they differ in what the system lets happen:
whether the workspace can be written and whether there is a network. A filter that raises refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NoReturn

from ptc.errors import ConfigError, ToolError
from ptc.sandbox.spec import Profile
from ptc.shell.words import Simple
from ptc.values import dumps, show

__all__ = ["CODER", "POLICIES", "READ_ONLY", "READ_ONLY_NO_NET", "BashPolicy", "choose_policy", "rejected"]

_NAME_CHARS: Final = 64


@dataclass(frozen=True, slots=True)
class BashPolicy:
    """One policy.

    name            in messages and records
    filter          called with the words of each simple command; gives None to let it run, or a sentence that says why
                    not and what would do. None: nothing beyond the rules that all policies share
    cpu_s           processor seconds of one process
    memory_bytes    of one process, and of all together where the system can count that
    processes       at once
    allow_network, allow_write   whether there is a network, and whether the workspace can be written
    visible         absolute folders beside the system's own that commands can read, e.g. where a language is installed
    environment     variables that commands get beside those of every command, e.g. {"CI": "1"}
    sandbox         `required`, or `off`: commands run with all that this user can do; only where writing and the
                    network are allowed

    Raises ConfigError `invalid_option` for values that cannot be used.
    """

    name: str
    filter: Callable[[tuple[str, ...]], str | None] | None = None
    cpu_s: int = 60
    memory_bytes: int = 512 * 1024**2
    processes: int = 256
    allow_network: bool = True
    allow_write: bool = True
    visible: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    sandbox: Literal["required", "off"] = "required"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isprintable() or not 0 < len(self.name) <= _NAME_CHARS:
            _refuse(f"name must be 1 to {_NAME_CHARS} printable characters; {show(self.name, 40)} was given")
        for name, least in (("cpu_s", 1), ("memory_bytes", 16 * 1024**2), ("processes", 1)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                _refuse(f"{name} must be an integer of {least:,} or more; {show(value, 40)} was given")
        if self.filter is not None and not callable(self.filter):
            _refuse("filter must be a function of the words of a command, or None")
        if not all(isinstance(path, str) and path.startswith("/") for path in self.visible):
            _refuse("visible must hold absolute folders")
        pairs = self.environment.items() if isinstance(self.environment, Mapping) else ((None, None),)
        if not all(isinstance(name, str) and isinstance(value, str) and "=" not in name for name, value in pairs):
            _refuse("environment must map names to text")
        if self.sandbox not in ("required", "off"):
            _refuse(f"sandbox must be 'required' or 'off'; {show(self.sandbox, 40)} was given")
        if self.sandbox == "off" and not (self.allow_write and self.allow_network):
            _refuse("without a sandbox neither writing nor the network can be forbidden")
        object.__setattr__(self, "visible", tuple(self.visible))

    def profile(self) -> Profile:
        """What the system is to enforce."""
        return Profile(
            write=self.allow_write,
            network=self.allow_network,
            cpu_s=self.cpu_s,
            memory_bytes=self.memory_bytes,
            processes=self.processes,
        )

    def check(self, commands: Sequence[Simple]) -> None:
        """Ask the filter about every command. Raises ToolError `bash_policy_rejected`."""
        for command in commands:
            if self.filter is None or not command.words:
                continue
            try:
                why = self.filter(command.words)
            except Exception as error:
                why = f"its filter failed ({type(error).__name__}), and what cannot be judged is not run"
            if why is not None:
                raise rejected(self.name, command.words, ["filter"], str(why)[:300], "")


def rejected(policy: str, words: Sequence[str], rules: Sequence[str], why: str, instead: str) -> ToolError:
    """The refusal of a command by a policy: its name, the command as JSON, the rule, why, and what would do."""
    shown = dumps(list(words)).decode()
    shown = shown if len(shown) <= 300 else f"{shown[:299]}\u2026"
    return ToolError(
        "bash_policy_rejected",
        f"The policy {show(policy, 70)} refuses {shown} by {', '.join(rules)}: {why}. {instead}".rstrip(),
        details={"policy": policy, "argv": list(words)[:64], "rules": list(rules)},
    )


def _read_only(words: tuple[str, ...]) -> str | None:
    program = words[0].rsplit("/", 1)[-1]
    if program in _WRITERS:
        return (
            f"{program} changes files, and this policy only reads. Use read, grep or ls, or a program that only reads"
        )
    return None


def _no_network(words: tuple[str, ...]) -> str | None:
    program = words[0].rsplit("/", 1)[-1]
    if program in _CLIENTS:
        return f"{program} needs the network, and there is none under this policy. Work with what is in the workspace"
    if any(word.lower().startswith(("http://", "https://", "ftp://", "ssh://", "git@")) for word in words[1:]):
        return "it names an address of the network, and there is none under this policy"
    return _read_only(words)


_WRITERS: Final = frozenset({
    "rm", "mv", "cp", "dd", "tee", "touch", "mkdir", "rmdir", "ln", "chmod", "chown", "chgrp", "truncate", "shred",
    "install", "rsync", "split", "mkfifo", "mknod", "unlink", "patch", "fallocate", "setfacl",
})  # fmt: skip
_CLIENTS: Final = frozenset({
    "curl", "wget", "nc", "ncat", "netcat", "socat", "ssh", "scp", "sftp", "ftp", "telnet", "ping", "dig", "nslookup",
    "host",
})  # fmt: skip

CODER: Final = BashPolicy("coder")
READ_ONLY: Final = BashPolicy("read-only", _read_only, 30, 256 * 1024**2, allow_write=False)
READ_ONLY_NO_NET: Final = BashPolicy(
    "read-only-no-net", _no_network, 30, 256 * 1024**2, allow_network=False, allow_write=False
)
POLICIES: Final = {policy.name: policy for policy in (CODER, READ_ONLY, READ_ONLY_NO_NET)}


def choose_policy(given: object) -> BashPolicy:
    """The policy that a host asked for by name or as an object; None means `CODER`. Raises ConfigError."""
    if given is None:
        return CODER
    if isinstance(given, BashPolicy):
        return given
    if isinstance(given, str) and given in POLICIES:
        return POLICIES[given]
    names = ", ".join(POLICIES)
    raise ConfigError(
        "invalid_option", f"bash_policy must be one of {names}, or a BashPolicy; {show(given, 60)} was given."
    )


def _refuse(why: str) -> NoReturn:
    raise ConfigError("invalid_option", f"bash policy: {why}.")

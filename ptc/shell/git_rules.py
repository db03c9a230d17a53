"""What a git command line would do beyond what it says: run programs that its options name, destroy remote commits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

__all__ = ["destroys_remote", "runs_programs", "subcommand"]

_VALUED: Final = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env"}
)
_RUNNING_KEYS: Final = re.compile(
    r"(?i)(alias\..+|core\.(pager|editor|sshcommand|fsmonitor|hookspath|askpass|gitproxy|alternaterefscommand)"
    r"|sequence\.editor|gpg(\..+)?\.program|credential(\..+)?\.helper|diff\.external|diff\..+\.(command|textconv)"
    r"|merge\..+\.driver|filter\..+\.(clean|smudge|process)|difftool\..+\.cmd|mergetool\..+\.cmd|pager\..+"
    r"|interactive\.difffilter|uploadpack\.packobjectshook|remote\..+\.(uploadpack|receivepack|proxy|vcs)|url\..+"
    r"|include\.path|includeif\..+|protocol\..*allow|web\.browser|browser\..+\.cmd|man\..+\.cmd|init\.templatedir)"
)
_HARMLESS: Final = frozenset({"cat", "less", "more", "", "true", "false"})
_RUNNING_OPTIONS: Final = re.compile(r"--(upload-pack|receive-pack|exec|ext-diff|open-files-in-pager|template)(=|$)")


def subcommand(args: Sequence[str]) -> tuple[str, list[str]]:
    """The subcommand and what follows it; "" if there is none."""
    words = list(args)
    while words:
        word = words.pop(0)
        if word in _VALUED:
            words[:1] = []
        elif not word.startswith("-"):
            return word, words
    return "", []


def runs_programs(args: Sequence[str]) -> bool:
    name, rest = subcommand(args)
    settings = [args[at + 1] for at, word in enumerate(args[:-1]) if word == "-c"]
    settings += [word.partition("=")[2] for word in args if word.startswith("--config=")]
    if any(_runs(*setting.partition("=")[::2]) for setting in settings):
        return True
    if any(word == "--config-env" or word.startswith(("--config-env=", "--exec-path=")) for word in args):
        return True
    if name == "config" and not any(
        word in {"--get", "--list", "-l", "--get-all", "--unset", "get", "list"} for word in rest
    ):
        operands = [word for word in rest if not word.startswith("-") and word not in {"set", "add"}]
        if len(operands) > 1 and _runs(operands[0], operands[1]):
            return True
    if any(word.startswith(("ext::", "fd::")) for word in args):
        return True
    return any(_RUNNING_OPTIONS.match(word) for word in rest)


def _runs(key: str, value: str) -> bool:
    return _RUNNING_KEYS.fullmatch(key) is not None and value not in _HARMLESS


def destroys_remote(args: Sequence[str]) -> bool:
    name, rest = subcommand(args)
    if name != "push":
        return False
    for word in rest:
        if word.startswith("--"):
            if word.partition("=")[0] in {"--force", "--force-with-lease", "--mirror", "--delete", "--prune"}:
                return True
        elif word.startswith("-"):
            if "f" in word[1:] or "d" in word[1:]:
                return True
        elif word.startswith(("+", ":")):
            return True
    return False

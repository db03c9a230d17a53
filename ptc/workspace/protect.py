"""Protected places: what stays out of reach even beneath a root.

Three sets, matched by whole components in a folded form (Unicode NFC, case folded, invisible characters and trailing
dots and spaces dropped), because some file systems treat such spellings as one name and a rule must not depend on
which one:

- places of the system and secrets of home folders, when a root holds them. A root that the host put *inside* such a
  place wins over it: a workspace below /var or /root is a workspace;
- for writing, the files by which git learns of programs to run, in every repository below a root. A script that could
  write `.git/hooks/pre-commit` would run as whoever next uses git there;
- for reading and writing, names that the host added (`hidden`), none by default.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final

from ptc.errors import ConfigError, ToolError
from ptc.values import show
from ptc.workspace.paths import split

__all__ = ["Protection", "fold"]

_SYSTEM: Final = ("/etc", "/var", "/proc", "/sys", "/dev", "/boot", "/run", "/root")
_HOMES: Final = ("/home/*", "/Users/*", "/root")
_HOME_SECRETS: Final = (
    *(".ssh", ".aws", ".gnupg", ".netrc", ".kube", ".docker", ".config/gcloud", ".azure", ".npmrc", ".pypirc"),
    *(".git-credentials", ".config/git/credentials", ".password-store", ".local/share/keyrings", "Library/Keychains"),
    *(
        ".bashrc",
        ".bash_profile",
        ".bash_login",
        ".bash_logout",
        ".profile",
        ".zshrc",
        ".zshenv",
        ".zprofile",
        ".zlogin",
    ),
    *(".config/fish", ".gitconfig", ".config/git/config"),
)
# Besides config, hooks and modules: these redirect git to another config, as does `.git` itself when it is a file.
_GIT_WRITES: Final = ("config", "config.worktree", "hooks", "modules", "worktrees", "commondir")
_IGNORED: Final = dict.fromkeys((*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF, 0xAD))

Pattern = tuple[str, ...]


def fold(name: str) -> str:
    """One spelling for all names that some file system takes for the same."""
    if not name.isascii():
        name = unicodedata.normalize("NFC", name.translate(_IGNORED))
    return name.casefold().rstrip(". ") or name


def _pattern(path: str) -> Pattern:
    return tuple(fold(part) for part in split(path))


def _matches(parts: Sequence[str], pattern: Pattern) -> bool:
    """True if the path of `parts` is, or lies below, a place that the pattern names."""
    return len(parts) >= len(pattern) and all(map(fnmatchcase, parts, pattern))


class Protection:
    """The protected places below some roots.

    roots   absolute component tuples of the roots, links followed; none for a workspace that is not on a disk
    hidden  names or short paths (`.env`, `secrets/*.pem`; `*`, `?` and `[...]` within one component) that may be
            neither read nor written wherever they stand

    Raises ConfigError `invalid_workspace` for an entry of `hidden` that names nothing.
    """

    def __init__(self, roots: Sequence[tuple[str, ...]], *, hidden: Iterable[str] = ()) -> None:
        self._hidden: list[Pattern] = []
        for entry in hidden:
            pattern = _pattern(entry) if isinstance(entry, str) else ()
            if not pattern:
                raise ConfigError(
                    "invalid_workspace", f"hidden entry {show(entry)} names nothing; write '.env' or 'a/*.pem'."
                )
            self._hidden.append(pattern)
        places = _places() if roots else []
        self._absolute = [[pattern[len(root) :] for pattern in places if _holds(root, pattern)] for root in roots]

    def check(self, root: int, parts: Sequence[str], *, for_write: bool, given: str) -> None:
        """Refuse a protected place. `parts` are relative to the root, `given` is the path as the caller wrote it.

        Raises ToolError `workspace_protected_location`.
        """
        folded = [fold(part) for part in parts]
        if self._is_secret(root, folded):
            raise _refusal(given, "it lies in a protected location of the system or of a home folder")
        if self._is_hidden(folded):
            raise _refusal(given, "the host has made it a protected location")
        if for_write and _is_git_control(folded):
            raise _refusal(given, "it is a protected location for writing: git runs programs that are named there")

    def read_guard(self, root: int) -> Callable[[str], bool] | None:
        """See `Workspace.read_guard`."""
        if not self._hidden and not (self._absolute and self._absolute[root]):
            return None

        def guarded(rel: str) -> bool:
            folded = [fold(part) for part in split(rel)]
            return self._is_secret(root, folded) or self._is_hidden(folded)

        return guarded

    def _is_secret(self, root: int, folded: Sequence[str]) -> bool:
        return bool(self._absolute) and any(_matches(folded, pattern) for pattern in self._absolute[root])

    def _is_hidden(self, folded: Sequence[str]) -> bool:
        return any(_matches(folded[start:], pattern) for pattern in self._hidden for start in range(len(folded)))


def _refusal(given: str, why: str) -> ToolError:
    return ToolError(
        "workspace_protected_location",
        f"Path {show(given)} is refused: {why}. Choose a path outside it, like 'src/main.py'.",
    )


def _is_git_control(folded: Sequence[str]) -> bool:
    for index, part in enumerate(folded):
        if part in (".git", "git~1"):
            if index + 1 == len(folded):
                return True
            below = folded[index + 1]
            if below in _GIT_WRITES or below.startswith("config."):
                return True
    return False


def _places() -> list[Pattern]:
    """Every protected absolute place, links followed too: /var is /private/var on some systems."""
    homes = {os.path.expanduser("~"), *(os.environ[name] for name in ("HOME", "USERPROFILE") if os.environ.get(name))}
    own = {f"{home}/{name}" for home in homes if os.path.isabs(home) for name in _HOME_SECRETS}
    plain = {spelling for place in (*_SYSTEM, *own) for spelling in (place, os.path.realpath(place))}
    others = {f"{home}/{name}" for home in _HOMES for name in _HOME_SECRETS}
    return [pattern for pattern in map(_pattern, sorted(plain | others)) if pattern]


def _holds(root: Sequence[str], pattern: Pattern) -> bool:
    """True if the place lies strictly below the root, so that the root does not win over it."""
    return len(pattern) > len(root) and all(map(fnmatchcase, map(fold, root), pattern))

"""A call of the git tool while it is carried out, and the shape of its answer. What a call names is checked here: a
name is never taken for an option, and a path is one of the workspace."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ptc.errors import ToolError
from ptc.tools._git_safety import Repository
from ptc.values import show

__all__ = ["CREDENTIALS", "FIELD", "URL", "Answer", "Asked", "did", "force", "listed", "matched"]

MAX_LIST: Final = 200
_NAME: Final = re.compile(r"(?!-)(?!.*(\.\.|@\{|//|\.lock(/|$)|/\.|\.$|/$))[A-Za-z0-9_./+@=-]{1,200}")
_REVISION: Final = re.compile(r"(?!-)[A-Za-z0-9_./@{}^~:+=-]{1,250}")
URL: Final = re.compile(
    r"(https?|ssh|git)://[^\s\x00-\x1f]{1,1000}|[A-Za-z0-9_.-]+@[A-Za-z0-9_.-]+:[^\s\x00-\x1f]{1,1000}"
)
CREDENTIALS: Final = re.compile(r"(?i)^([a-z][a-z0-9+.-]*://)[^/@]*@")
FIELD: Final = "\x1f"


class Answer(NamedTuple):
    """What a command gave: data for a script, text for a model, and whether more can be asked for."""

    data: dict[str, Any]
    text: str
    truncated: bool = False


class Asked(NamedTuple):
    """A call: its arguments and subcommand, the repository, the seconds that it has, and how a path of the call is
    admitted (it becomes absolute)."""

    args: dict[str, Any]
    subcommand: str
    repository: Repository
    timeout_s: float
    path: Callable[[str], str]

    async def run(self, *words: str, write: bool = False) -> str:
        ran = await self.repository.run(words, write=write, timeout_s=self.timeout_s)
        return ran.stdout.text

    def name(self, key: str = "name") -> str:
        return matched(self.args, key, _NAME, "letters, digits and `_./+@=-`, not beginning with `-`")

    def revision(self, key: str, default: str | None = None) -> str | None:
        if self.args.get(key) is None:
            return default
        return matched(self.args, key, _REVISION, "a branch, tag, commit or an expression such as HEAD~2")

    def paths(self) -> list[str]:
        path = self.args.get("path")
        return [] if path is None else ["--", os.path.relpath(self.path(path), self.repository.cwd)]

    def limit(self, default: int) -> int:
        return min(int(self.args.get("limit", default)), MAX_LIST)

    def cursor(self) -> int:
        text = str(self.args.get("cursor") or "0")
        if not text.isascii() or not text.isdigit() or len(text) > 9:
            raise ToolError("git_ref_invalid", f"git: cursor {show(text, 40)} is none that an earlier answer gave.")
        return int(text)


def matched(args: dict[str, Any], key: str, pattern: re.Pattern[str], form: str) -> str:
    given = args.get(key)
    if not isinstance(given, str) or not pattern.fullmatch(given):
        what = "is missing" if given is None else f"{show(given, 80)} cannot be used"
        raise ToolError("git_ref_invalid", f"git {args['command']}: {key} {what}; it must be {form}.")
    return given


def force(asked: Asked, word: str) -> list[str]:
    return [word] if asked.args.get("force") else []


def did(text: str, **facts: Any) -> Answer:
    return Answer({"done": True, **facts}, text)


def listed(asked: Asked, key: str, rows: list[dict[str, Any]], line: Callable[[Any], str]) -> Answer:
    skip, limit = asked.cursor(), asked.limit(50)
    shown = rows[skip : skip + limit]
    following = str(skip + limit) if skip + limit < len(rows) else None
    lines = [line(row) for row in shown] or [f"No {key}."]
    lines += [f"[{len(rows) - skip - limit} more with cursor {following}]"] if following else []
    return Answer({key: shown, "total": len(rows), "next_cursor": following}, "\n".join(lines), following is not None)

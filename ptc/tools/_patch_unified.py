"""Unified diffs, as diff and git write them and as models write them: the counts of a hunk are often wrong, so they are
counted again, as `git apply --recount` does. Everything else must be as it says.
"""

from __future__ import annotations

import re
from typing import Final

from ptc.tools._patch_model import Change, Hunk, invalid, unsupported

__all__ = ["looks_unified", "parse_unified", "written"]

_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_QUOTED: Final = re.compile(r'\\(?:([0-7]{3})|([abtnvfr"\\]))')
_ESCAPES: Final = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_NULL: Final = "/dev/null"


def looks_unified(text: str) -> bool:
    """Whether the text holds what only a unified diff does."""
    return re.search(r"^(diff --git |--- |@@ -\d)", text, re.M) is not None


def parse_unified(text: str, path: str | None = None) -> list[Change]:
    """The changes of a diff. `path`: the file of a diff that names none.

    Raises ToolError `patch_invalid` and `patch_unsupported`.
    """
    changes = _Reader(text.removesuffix("\n").split("\n")).changes(path)
    if not changes:
        raise invalid("it changes no file")
    return changes


def written(change: Change, name: str) -> str:
    """The change as a diff of one file called `name`, for git: paths of the patch itself never reach it."""
    before, after = f"a/{name}", f"b/{name}"
    lines = [f"diff --git {before} {after}"]
    if change.action == "add":
        lines += ["new file mode 100644", "--- /dev/null", f"+++ {after}"]
    elif change.action == "delete":
        lines += ["deleted file mode 100644", f"--- {before}", "+++ /dev/null"]
    else:
        lines += [f"--- {before}", f"+++ {after}"]
    shift = 0
    for hunk in change.hunks:
        old, new = len(hunk.old()), len(hunk.new())
        start = hunk.start or 0
        lines.append(f"@@ -{start},{old} +{max(start + shift, 0 if new == 0 else 1)},{new} @@")
        shift += new - old
        last_old = max((at for at, (mark, _) in enumerate(hunk.lines) if mark != "+"), default=-1)
        last_new = max((at for at, (mark, _) in enumerate(hunk.lines) if mark != "-"), default=-1)
        for at, (mark, line) in enumerate(hunk.lines):
            lines.append(mark + line)
            if (hunk.old_end and at == last_old) or (hunk.new_end and at == last_new):
                lines.append("\\ No newline at end of file")
    return "\n".join(lines) + "\n"


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0

    def changes(self, path: str | None) -> list[Change]:
        found: list[Change] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith("diff --git ") or self._names_follow():
                found.append(self._file())
            elif line.startswith("@@ -"):
                if path is None or found:
                    raise invalid("a hunk stands before the --- and +++ lines of its file", self._at + 1)
                found.append(Change("update", path, self._hunks()))
            elif line.startswith("```"):
                raise invalid("a ``` fence is no part of a diff; leave it out", self._at + 1)
            elif line.startswith(("GIT binary patch", "Binary files ")):
                raise unsupported("a binary change", "a file")
            else:
                self._at += 1  # a commit message, a mail header, a blank line
        return found

    def _names_follow(self) -> bool:
        lines, at = self._lines, self._at
        return lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")

    def _file(self) -> Change:
        begun = self._at
        extended: dict[str, str] = {}
        first = self._lines[self._at]
        if first.startswith("diff --git "):
            self._at += 1
            while self._at < len(self._lines):
                line = self._lines[self._at]
                found = re.match(
                    r"(old mode|new mode|new file mode|deleted file mode|similarity index|dissimilarity index|index"
                    r"|rename from|rename to|copy from|copy to) (.*)",
                    line.rstrip("\r"),
                )
                if found is None:
                    break
                extended[found[1]] = found[2]
                self._at += 1
        old = new = None
        if self._at < len(self._lines) and self._names_follow():
            old, new = _name(self._lines[self._at][4:]), _name(self._lines[self._at + 1][4:])
            self._at += 2
        elif not extended.keys() & {"rename from", "copy from", "deleted file mode", "new file mode"}:
            rest = self._lines[self._at] if self._at < len(self._lines) else ""
            if rest.startswith(("GIT binary patch", "Binary files ")):
                raise unsupported("a binary change", first[11:])
            if not extended.keys() & {"old mode", "new mode"}:
                raise invalid("the --- and +++ lines of a file are missing", begun + 1)
        return self._made(first, extended, old, new, begun)

    def _made(self, first: str, extended: dict[str, str], old: str | None, new: str | None, begun: int) -> Change:
        if old is None or new is None:
            old, new = _names_of_git(first, begun)
        old, new = _stripped(old, new)
        for key in ("new mode", "new file mode"):
            if key in extended and extended[key] != "100644":
                raise unsupported(f"giving the mode {extended[key][:10]}", new or old or "a file")
        if "old mode" in extended and "new mode" in extended:
            raise unsupported("a change of mode", new or old or "a file")
        if "copy from" in extended:
            raise unsupported("a copy", old or "a file")
        hunks = self._hunks()
        if "rename from" in extended:
            source, target = _name(extended["rename from"]), _name(extended.get("rename to", ""))
            if not target:
                raise invalid("a rename names no new path", begun + 1)
            return Change("move", source, hunks, target)
        if old is None:
            assert new is not None
            return Change("add", new, _only_marks(hunks, "+", new))
        if new is None:
            return Change("delete", old, _only_marks(hunks, "-", old))
        if not hunks:
            raise invalid(f"there is no hunk for {old[:120]!r}", begun + 1)
        return Change("update", old, hunks) if old == new else Change("move", old, hunks, new)

    def _hunks(self) -> list[Hunk]:
        hunks: list[Hunk] = []
        while self._at < len(self._lines) and self._lines[self._at].startswith("@@"):
            found = _HUNK.match(self._lines[self._at])
            if found is None:
                raise invalid(f"a hunk header cannot be read: {self._lines[self._at][:60]!r}", self._at + 1)
            header, begun = found[0], self._at
            self._at += 1
            body = self._body(int(found[2] or 1), int(found[4] or 1))
            if not body:
                raise invalid("a hunk is empty", begun + 1)
            start = int(found[1])
            # `-5,0` means behind line 5; the old lines, if there are any after all, begin with the next one.
            if found[2] == "0" and start > 0:
                start += 1
            hunks.append(_hunk(len(hunks) + 1, start, body, header))
        return hunks

    def _body(self, old: int, new: int) -> list[str]:
        """The lines of a hunk: as many as the header says if that fits, otherwise up to what begins something else."""
        at, left_old, left_new = self._at, old, new
        while at < len(self._lines) and (left_old > 0 or left_new > 0):
            mark = self._lines[at][:1] or " "
            if mark not in " +-\\":
                break
            left_old -= mark in " -"
            left_new -= mark in " +"
            at += 1
        while at < len(self._lines) and self._lines[at].startswith("\\"):
            at += 1
        if left_old or left_new or not self._ends_at(at):
            at = self._at
            while at < len(self._lines) and self._lines[at][:1] in ("", " ", "+", "-", "\\") and not self._begins(at):
                at += 1
            while at > self._at and self._lines[at - 1] == "":
                at -= 1  # blank lines between what follows, no part of the file
        body = self._lines[self._at : at]
        self._at = at
        return body

    def _ends_at(self, at: int) -> bool:
        if at >= len(self._lines) or self._begins(at):
            return True
        # A mail ends with `-- ` and a version behind the patch.
        return self._lines[at].rstrip() in ("", "--") or self._lines[at][:1] not in "+- \\"

    def _begins(self, at: int) -> bool:
        line = self._lines[at]
        follows = self._lines[at + 1] if at + 1 < len(self._lines) else ""
        return line.startswith(("@@ -", "diff --git ")) or (line.startswith("--- ") and follows.startswith("+++ "))


def _hunk(number: int, start: int, body: list[str], header: str) -> Hunk:
    lines: list[tuple[str, str]] = []
    old_end = new_end = False
    for line in body:
        if line.startswith("\\"):
            if not lines:
                raise invalid("`\\ No newline` stands before any line")
            old_end = old_end or lines[-1][0] != "+"
            new_end = new_end or lines[-1][0] != "-"
        else:
            lines.append((line[:1] or " ", line[1:]))
    return Hunk(number, start, lines, old_end=old_end, new_end=new_end, header=header)


def _only_marks(hunks: list[Hunk], mark: str, path: str) -> list[Hunk]:
    if len(hunks) > 1 or any(found != mark for hunk in hunks for found, _ in hunk.lines):
        what = "adds" if mark == "+" else "deletes"
        raise invalid(f"a diff that {what} {path[:120]!r} must hold `{mark}` lines alone, in one hunk")
    return hunks


def _name(text: str) -> str:
    """A path of a --- or +++ line: a time behind a tab goes, git's quotes are read."""
    text = text.rstrip("\r")
    if text.startswith('"') and text.rstrip().endswith('"'):
        data = bytearray()
        end = 0
        inner = text.rstrip()[1:-1]
        for found in _QUOTED.finditer(inner):
            data += inner[end : found.start()].encode()
            data.append(int(found[1], 8) & 255 if found[1] else _ESCAPES[found[2]])
            end = found.end()
        data += inner[end:].encode()
        return data.decode("utf-8", "surrogateescape")
    return text.partition("\t")[0].strip()


def _names_of_git(first: str, begun: int) -> tuple[str, str]:
    found = re.match(r'diff --git ("?a/.*"?) ("?b/.*"?)$', first.rstrip("\r"))
    if found is None:
        raise invalid("the paths of a diff --git line cannot be read", begun + 1)
    return _name(found[1]), _name(found[2])


def _stripped(old: str, new: str) -> tuple[str | None, str | None]:
    """Without git's `a/` and `b/`, if both sides have them; None for /dev/null."""
    if (old.startswith("a/") or old == _NULL) and (new.startswith("b/") or new == _NULL):
        old, new = old.removeprefix("a/"), new.removeprefix("b/")
    if old == new == _NULL:
        raise invalid("both sides of a file are /dev/null")
    return None if old == _NULL else old, None if new == _NULL else new

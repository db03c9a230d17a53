"""A command line -> the simple commands in it, wherever they stand: in pipelines, lists, loops, functions,
substitutions and here-documents.

It is read by tree-sitter's grammar of bash, whose words are then unquoted here. What cannot be read with certainty is
refused with the form that can: the point is not to understand every script, but never to take one for something else.
The sandbox, not this reading, is what holds a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from ptc.errors import ToolError
from ptc.shell.words import UNKNOWN, Redirect, Simple
from ptc.values import show

__all__ = ["KEYWORDS", "MAX_BYTES", "available", "not_checkable", "parse"]

MAX_BYTES: Final = 64 * 1024
MAX_NODES: Final = 50_000
MAX_DEPTH: Final = 200

_JOINED_LINE: Final = re.compile(r"(?<=\s)\\\n")
_ESCAPES: Final = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ANSI_C: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.S
)
_ARITHMETIC: Final = frozenset(
    {"arithmetic_expansion", "postfix_expression", "binary_expression", "unary_expression", "c_style_for_statement",
     "subscript"}
)  # fmt: skip
KEYWORDS: Final = frozenset(
    {"!", "{", "}", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
     "in", "select", "then", "until", "while"}
)  # fmt: skip
_REDIRECTS: Final = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
_SUBSTITUTIONS: Final = frozenset({"command_substitution", "process_substitution"})
_ASSIGNERS: Final = frozenset({"declaration_command", "unset_command"})


def available() -> bool:
    """Whether command lines can be read: the extra `bash` is installed."""
    return find_spec("tree_sitter") is not None and find_spec("tree_sitter_bash") is not None


def parse(text: str) -> list[Simple]:
    """The simple commands of a command line, in the order in which they stand there.

    Raises ToolError `bash_not_checkable` for what cannot be read with certainty.
    """
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise not_checkable(f"it is longer than {MAX_BYTES:,} bytes", "Write a script file and run that")
    if "\0" in text:
        raise not_checkable("it holds a NUL character")
    flat = _JOINED_LINE.sub("  ", text)
    if "\\\n" in flat:
        raise not_checkable("a line is continued in the middle of a word", "Put a space before the backslash")
    data = flat.encode("utf-8", "surrogatepass")
    tree = _parser().parse(data)
    if tree.root_node.has_error:
        raise not_checkable(_where(tree.root_node))
    for node in _walk(tree.root_node):
        # The grammar begins a comment behind an escaped blank too, where bash goes on with the word.
        if node.type == "comment" and data[: node.start_byte].endswith((b"\\ ", b"\\\t")):
            raise not_checkable("a `#` stands behind an escaped blank")
    return _Reader().read(tree.root_node)


def not_checkable(why: str, advice: str = "") -> ToolError:
    """The refusal of a command line that cannot be judged; `why` is a clause."""
    return ToolError(
        "bash_not_checkable",
        f"The command cannot be judged: {why}. {advice or 'Write it more plainly'}, or give the program and its "
        'arguments as argv, for example {"argv": ["grep", "-rn", "TODO", "src"]}.',
        details={"why": why},
    )


@cache
def _parser() -> Any:
    if not available():
        raise ToolError(
            "bash_not_checkable",
            "A command line can be judged only with the extra bash: pip install 'ptc-sandbox[bash]'. Give the program "
            'and its arguments as argv instead, for example {"argv": ["ls", "-l"]}.',
        )
    tree_sitter, grammar = import_module("tree_sitter"), import_module("tree_sitter_bash")
    return tree_sitter.Parser(tree_sitter.Language(grammar.language()))


def _where(root: Any) -> str:
    for node in _walk(root):
        if node.type == "ERROR" or node.is_missing:
            line, column = node.start_point[0] + 1, node.start_point[1] + 1
            return f"its syntax is not clear at line {line}, column {column}, near {show(_text(node)[:40])}"
    return "its syntax is not clear"


class _Reader:
    """Collects the simple commands of one tree."""

    def __init__(self) -> None:
        self.found: list[Simple] = []
        self._arithmetic = False
        self._hidden_code = False

    def read(self, root: Any) -> list[Simple]:
        self._into(root, (), None, None, 0)
        if self._arithmetic and self._hidden_code:
            raise not_checkable("arithmetic could run a command that stands in a quoted text")
        return self.found

    def _into(
        self, node: Any, redirects: tuple[Redirect, ...], piped_from: Simple | None, inside: Simple | None, depth: int
    ) -> Simple | None:
        """Read what stands at and below `node`; gives the last command of it, for a pipe."""
        if depth > MAX_DEPTH or len(self.found) > MAX_NODES:
            raise not_checkable("it is nested too deeply")
        kind = node.type
        if kind == "command" or kind in _ASSIGNERS:
            return self._command(node, redirects, piped_from, inside, depth)
        if kind == "redirected_statement":
            own = tuple(self._redirect(child) for child in node.children if child.type in _REDIRECTS)
            body = [child for child in node.children if child.type not in _REDIRECTS]
            last = None
            for child in body:
                last = self._into(child, redirects + own, piped_from, inside, depth + 1)
            if not body:
                last = Simple((), redirects=own, line=_line(node), inside=inside)
                self.found.append(last)
            for child in node.children:
                if child.type in _REDIRECTS:
                    self._below(child, last, depth)
            return last
        if kind == "pipeline":
            last = piped_from
            for child in node.named_children:
                last = self._into(child, redirects, last, inside, depth + 1)
            return last
        if kind == "variable_assignment":
            simple = Simple((), assigned=(self._assignment(node),), line=_line(node), inside=inside)
            self.found.append(simple)
            self._below(node, simple, depth)
            return simple
        if kind == "function_definition":
            self._refuse_bomb(node)
        self._note(node)
        last = None
        for child in node.named_children:
            last = self._into(child, redirects, piped_from, inside, depth + 1) or last
        return last

    def _command(
        self, node: Any, redirects: tuple[Redirect, ...], piped_from: Simple | None, inside: Simple | None, depth: int
    ) -> Simple:
        words: list[str] = []
        assigned: list[tuple[str, str]] = []
        own: list[Redirect] = []
        if node.type in _ASSIGNERS:
            words.append(_text(node.children[0]))
        for child in node.children if node.type == "command" else node.children[1:]:
            if child.type in _REDIRECTS:
                own.append(self._redirect(child))
            elif child.type == "variable_assignment":
                assigned.append(self._assignment(child))
            elif child.type == "command_name":
                name = self._word(child.named_children[0])
                if UNKNOWN in name or _has_glob(child):
                    raise not_checkable(f"the name of a program is not plain: {show(_text(child)[:60])}")
                if name in KEYWORDS:
                    # The grammar takes some of them for programs where bash does not.
                    raise not_checkable(f"the word {name} of the shell stands where a program is expected")
                words.append(name)
            elif child.is_named:
                words.append(self._word(child))
            elif child.type in ("==", "=~"):  # an operator of tests to the grammar, a word to bash
                words.append(child.type)
        simple = Simple(tuple(words), tuple(assigned), redirects + tuple(own), _line(node), piped_from, inside)
        self.found.append(simple)
        self._below(node, simple, depth)
        return simple

    def _below(self, node: Any, simple: Simple | None, depth: int) -> None:
        """Read the substitutions among the parts of a command."""
        for child in node.children:
            self._note(child)
            if child.type in _SUBSTITUTIONS:
                for inner in child.named_children:
                    self._into(inner, (), None, simple, depth + 1)
            else:
                self._below(child, simple, depth + 1)
        if depth > MAX_DEPTH:
            raise not_checkable("it is nested too deeply")

    def _note(self, node: Any) -> None:
        if node.type in _ARITHMETIC or (node.child_count and node.children[0].type in {"((", "$(("}):
            self._arithmetic = True
        elif not node.child_count:
            text = _text(node)
            if node.type in {"raw_string", "ansi_c_string", "word", "string_content"} and ("$(" in text or "`" in text):
                if node.type == "word" or (node.type == "string_content" and "`" in text.replace("\\`", "")):
                    raise not_checkable("backticks stand where they cannot be read", "Write $(...) instead")
                self._hidden_code = True

    def _assignment(self, node: Any) -> tuple[str, str]:
        name, *rest = node.named_children
        return _text(name).partition("[")[0], self._word(rest[0]) if rest else ""

    def _redirect(self, node: Any) -> Redirect:
        if node.type != "file_redirect":
            return Redirect("<<", "")
        op = next(_text(child) for child in node.children if not child.is_named)
        target = [child for child in node.named_children if child.type != "file_descriptor"]
        if len(target) > 1:
            raise not_checkable("a redirection is followed by several words", "Put redirections behind the command")
        name = self._word(target[0]) if target else ""
        # 2>&1 duplicates a descriptor and names no file.
        return Redirect("<&" if op in {">&", "<&"} and (name.isdigit() or name == "-") else op, name)

    def _refuse_bomb(self, node: Any) -> None:
        name = _text(node.named_children[0])
        for part in _walk(node):
            if part.type == "pipeline":
                names = [_text(child) for child in part.named_children]
                if names.count(name) > 1:
                    raise ToolError(
                        "bash_policy_rejected",
                        f"The function {show(name)} calls itself twice over, which only exhausts the machine. Leave it "
                        "out.",
                        details={"rules": ["sys.fork_bomb"]},
                    )

    def _word(self, node: Any) -> str:
        """The value of a word; UNKNOWN stands for the parts that only the shell will know."""
        kind, text = node.type, _text(node)
        if kind == "word" or (kind == "number" and not node.child_count):
            return _unquoted(text)
        if kind == "raw_string":
            return text[1:-1]
        if kind == "ansi_c_string":
            return _ansi_c(text[2:-1])
        if kind == "string":
            return "".join(self._in_quotes(child) for child in node.children)
        if kind == "concatenation":
            return "".join(self._word(child) for child in node.children)
        if kind in {"simple_expansion", "expansion"} and text in {"$HOME", "${HOME}"}:
            return "~"
        return UNKNOWN

    def _in_quotes(self, node: Any) -> str:
        if node.type == "string_content":
            return re.sub(r'\\([$`"\\])', r"\1", _text(node))
        if node.type == '"':
            # The grammar leaves blanks at the edges of a string to the mark beside them.
            return _text(node).replace('"', "")
        return self._word(node)


def _has_glob(node: Any) -> bool:
    """Whether an unquoted part of a word is a pattern for file names."""
    return any(part.type == "word" and re.search(r"(?<!\\)[*?\[]", _text(part)) for part in _walk(node))


def _unquoted(text: str) -> str:
    """An unquoted word: backslashes go. Braces make several words of one, so the value is not known."""
    if re.search(r"(?<!\\)[{}]", text):
        return UNKNOWN
    return re.sub(r"\\(.)", r"\1", text, flags=re.S)


def _ansi_c(text: str) -> str:
    def value(match: re.Match[str]) -> str:
        hexa, four, eight, octal, control, plain = match.groups()
        if hexa or four or eight:
            return chr(min(int(hexa or four or eight, 16), 0x10FFFF))
        if octal:
            return chr(int(octal, 8) & 0xFF)
        if control:
            return chr(ord(control) & 0x1F)
        return _ESCAPES.get(plain, "\\" + plain)

    return _ANSI_C.sub(value, text)


def _walk(root: Any) -> Iterator[Any]:
    waiting = [root]
    count = 0
    while waiting:
        node = waiting.pop()
        count += 1
        if count > MAX_NODES:
            raise not_checkable("it has too many parts")
        yield node
        waiting += reversed(node.children)


def _text(node: Any) -> str:
    text: str = node.text.decode("utf-8", "surrogatepass")
    return text


def _line(node: Any) -> int:
    line: int = node.start_point[0] + 1
    return line

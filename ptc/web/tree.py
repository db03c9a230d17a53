"""HTML -> a small tree: which element stands in which, as browsers see it where it matters for the text.

Pages leave out end tags, forget them and misplace them. The rules here are those of the HTML standard that decide
where a paragraph, a list item or a table cell ends; formatting that crosses its parent is cut at it. The tree is
bounded: below 100 levels and beyond 100,000 elements tags are read for where lines break, and no more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from ptc.errors import ToolError
from ptc.web.markup import tokens

__all__ = ["BLOCKS", "Node", "parse"]

MAX_DEPTH: Final = 100
MAX_NODES: Final = 100_000
_LOOK_EVERY: Final = 2_048
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")

VOID: Final = frozenset({
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta",
    "param", "source", "track", "wbr",
})  # fmt: skip
BLOCKS: Final = frozenset({
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "dir", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header",
    "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "p", "pre", "search", "section", "summary",
    "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul", "caption", "xmp",
})  # fmt: skip
_TABLE_PARTS: Final = frozenset({
    "table", "caption", "colgroup", "tbody", "thead", "tfoot", "tr", "td", "th",
})  # fmt: skip
_FENCES: Final = frozenset({"table", "td", "th", "caption"})
# A start tag -> the open elements that it ends, and those behind which it does not look for them.
_ENDS: Final[dict[str, tuple[frozenset[str], frozenset[str]]]] = {
    "li": (frozenset({"li"}), frozenset({"ul", "ol", "menu", "dir"})),
    "dt": (frozenset({"dt", "dd"}), frozenset({"dl"})),
    "dd": (frozenset({"dt", "dd"}), frozenset({"dl"})),
    "option": (frozenset({"option"}), frozenset({"select"})),
    "tr": (frozenset({"tr"}), frozenset({"table"})),
    "td": (frozenset({"td", "th"}), frozenset({"table", "tr"})),
    "th": (frozenset({"td", "th"}), frozenset({"table", "tr"})),
    "tbody": (frozenset({"tbody", "thead", "tfoot"}), frozenset({"table"})),
    "thead": (frozenset({"tbody", "thead", "tfoot"}), frozenset({"table"})),
    "tfoot": (frozenset({"tbody", "thead", "tfoot"}), frozenset({"table"})),
    "a": (frozenset({"a"}), _FENCES),
}
_ENDS_A_PARAGRAPH: Final = BLOCKS - {"td", "th", "tr", "tbody", "thead", "tfoot", "caption"}


class Node:
    """An element. `holds_blocks`: some element in it begins a line of its own."""

    __slots__ = ("attributes", "children", "holds_blocks", "tag")

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag = tag
        self.attributes = attributes
        self.children: list[Node | str] = []
        self.holds_blocks = False

    def get(self, attribute: str) -> str:
        """The value of an attribute, "" without it."""
        return self.attributes.get(attribute, "")

    @property
    def classes(self) -> list[str]:
        return self.get("class").split()

    def walk(self) -> Iterator[Node]:
        """This element and all below it, in the order of the page."""
        waiting: list[Node] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += [child for child in reversed(node.children) if isinstance(child, Node)]

    def line(self) -> str:
        """All text below on one line, without control characters."""
        parts: list[str] = []
        waiting: list[Node | str] = [self]
        while waiting:
            item = waiting.pop()
            if isinstance(item, str):
                parts.append(item)
            else:
                waiting += reversed(item.children)
        return " ".join(_CONTROL.sub(" ", "".join(parts)).split())


def parse(page: str, stopped: Callable[[], bool] = lambda: False) -> Node:
    """The tree of a page; its root is an element without a name. `stopped` is asked now and then.

    Raises ToolError `cancelled` once `stopped()` is true.
    """
    builder = _Builder()
    for number, (tag, rest) in enumerate(tokens(page), 1):
        if number % _LOOK_EVERY == 0 and stopped():
            raise ToolError("cancelled", "The call was called off.")
        if isinstance(rest, str):
            builder.stack[-1].children.append(rest)
        elif rest is None:
            builder.end(tag)
        else:
            builder.start(tag, rest)
    return builder.stack[0]


class _Builder:
    def __init__(self) -> None:
        self.stack = [Node("", {})]
        self._open: Counter[str] = Counter()
        self._nodes = 0
        self._below = 0  # elements open below the deepest level that is kept

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._below or self._nodes >= MAX_NODES:
            self._flat(tag, 1)
            return
        if tag in ("html", "body") and self._open[tag]:
            return
        if tag in _ENDS_A_PARAGRAPH:
            self._close(frozenset({"p"}), _FENCES)
        if tag in _ENDS:
            self._close(*_ENDS[tag])
        if tag in BLOCKS:
            for ancestor in reversed(self.stack):
                if ancestor.holds_blocks:
                    break
                ancestor.holds_blocks = True
        if len(self.stack) > MAX_DEPTH and tag not in VOID:
            self._flat(tag, 1)
            return
        node = Node(tag, attributes)
        self._nodes += 1
        self.stack[-1].children.append(node)
        if tag not in VOID:
            self.stack.append(node)
            self._open[tag] += 1

    def end(self, tag: str) -> None:
        if self._below:
            self._flat(tag, -1)
        elif self._open[tag] and self._nodes < MAX_NODES:
            fences = frozenset({"table"}) if tag in _TABLE_PARTS else _FENCES
            self._close(frozenset({tag}), fences - {tag})
        elif tag in BLOCKS or tag == "br":
            self.stack[-1].children.append("\n")

    def _flat(self, tag: str, step: int) -> None:
        if tag not in VOID:
            self._below += step
        if tag in BLOCKS or tag == "br":
            self.stack[-1].children.append("\n")

    def _close(self, tags: frozenset[str], fences: frozenset[str]) -> None:
        """End the nearest open element of `tags`, and all within it, unless a fence stands before it."""
        if not any(self._open[tag] for tag in tags):
            return
        for depth in range(len(self.stack) - 1, 0, -1):
            tag = self.stack[depth].tag
            if tag in tags:
                for node in self.stack[depth:]:
                    self._open[node.tag] -= 1
                del self.stack[depth:]
                return
            if tag in fences:
                return

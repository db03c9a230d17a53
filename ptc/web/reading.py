"""What of a page is read: its title, and the part that a visitor came for.

Menus, headers, footers, sidebars and dialogs are left out by what their elements say they are, never by a guess about
the density of their words, which loses lists and tables. What a browser would not show is left out always: text that is
hidden from people is where instructions for models are put.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ptc.web.tree import Node

__all__ = ["Reading", "is_shown", "read_page"]

_NEVER_SHOWN: Final = frozenset({
    "script", "style", "template", "noscript", "head", "title", "svg", "math", "iframe", "object", "embed",
    "canvas", "audio", "video", "map", "datalist", "select", "textarea", "noembed", "noframes", "frameset",
    "applet",
})  # fmt: skip
_HIDING: Final = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))", re.IGNORECASE)
_ASIDE: Final = frozenset({"nav", "aside", "footer"})
_ASIDE_ROLES: Final = frozenset(
    {"navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu", "menubar"}
)
# A part that holds less than this share of the page's text is not what a visitor came for.
_LEAST_SHARE: Final = 0.1
_LEAST_CHARS: Final = 200


class Reading(NamedTuple):
    """The element to render, what in it to leave out, and the title.

    part    `main`, `article`, `body` (without menus and the like) or `whole`
    """

    root: Node
    part: str
    title: str

    def shows(self, node: Node) -> bool:
        """Whether an element below the root belongs to the text."""
        return is_shown(node) and (self.part == "whole" or not _is_aside(node, in_content=self.part != "body"))


def read_page(tree: Node, *, whole: bool = False) -> Reading:
    """What to read of a page. `whole`: everything that is shown, menus too."""
    title = next((node.line() for node in tree.walk() if node.tag == "title"), "")
    if whole:
        return Reading(tree, "whole", title)
    body = Reading(tree, "body", title)
    mains, articles = _candidates(tree)
    chosen = [("main", mains[0])] if mains else [("article", articles[0])] if len(articles) == 1 else []
    around = _length(body)
    for part, node in chosen:
        reading = Reading(node, part, title)
        length = _length(reading)
        if length and (length >= _LEAST_CHARS or length >= around * _LEAST_SHARE):
            return reading
    return body if around else Reading(tree, "whole", title)


def is_shown(node: Node) -> bool:
    """Whether a browser would show the element, by its own word alone."""
    if node.tag in _NEVER_SHOWN or ("hidden" in node.attributes and node.get("hidden") != "until-found"):
        return False
    if node.tag == "dialog" and "open" not in node.attributes:
        return False
    if node.tag == "input":
        return False
    return "style" not in node.attributes or _HIDING.search(node.get("style")) is None


def _is_aside(node: Node, *, in_content: bool) -> bool:
    role = node.get("role").lower()
    return node.tag in _ASIDE or role in _ASIDE_ROLES or (node.tag == "header" and not in_content and not _titled(node))


def _titled(header: Node) -> bool:
    """A header that holds a heading introduces what follows; without one it is the site's own."""
    return any(node.tag in ("h1", "h2") for node in header.walk())


def _candidates(tree: Node) -> tuple[list[Node], list[Node]]:
    """The shown main elements and articles, outermost ones only."""
    mains: list[Node] = []
    articles: list[Node] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if not is_shown(node):
            continue
        if node.tag == "main" or node.get("role").lower() == "main":
            mains.append(node)
        elif node.tag == "article":
            articles.append(node)
        else:
            waiting += [child for child in reversed(node.children) if isinstance(child, Node)]
    return mains, articles


def _length(reading: Reading) -> int:
    """Characters of text in a reading, white space left out."""
    count = 0
    waiting = [reading.root]
    while waiting:
        for child in waiting.pop().children:
            if isinstance(child, str):
                count += len("".join(child.split()))
            elif reading.shows(child):
                waiting.append(child)
    return count

"""A page as Markdown or as plain text.

One walk makes both: they differ only in marks. Text is escaped where Markdown would read a mark into it, so that what
a page says cannot turn into a heading, a link or a fence that it does not have. Everything that could make the result
larger than the page (indents, quotes, addresses of links) is counted and stops at a bound.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final
from urllib.parse import urljoin

from ptc.errors import ToolError
from ptc.web.reading import Reading
from ptc.web.tree import BLOCKS, Node

__all__ = ["render"]

# Characters that marks may add to one page in all.
GROWTH: Final = 2 * 1024 * 1024
_MAX_LINK_CHARS: Final = 1_000
_LOOK_EVERY: Final = 1_024

_SPACE: Final = re.compile(r"[ \t\n\r\f\v\xa0]+")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Where Markdown would see a mark: text that it reads as it is, such as `5 * 3`, AT&T or snake_case, stays readable.
_SPECIAL: Final = re.compile(
    r"[`\[\]]|\\(?=[!-/:-@\[-`{-~ ]|$)|\*(?!(?<= \*) )|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|~(?=~)|(?<=~)~"
    r"|<(?=[A-Za-z/!?]|$)|&(?=#?[A-Za-z0-9]{1,31};)"
)
_AT_LINE_START: Final = re.compile(r"#{1,6}(?= |$)|[*+-](?= |$)|>|(?:=+|-+) *$|\d{1,9}[.)](?= |$)")
_CLOSING_HASHES: Final = re.compile(r"(?:^|(?<= ))#+$")
_ESCAPED: Final = r"\\\g<0>"
_LINK_SPECIAL: Final = str.maketrans(
    {" ": "%20", "(": "%28", ")": "%29", "<": "%3C", ">": "%3E", "\n": "", "\\": "%5C"}
)
_MARKS: Final = {"strong": "**", "b": "**", "em": "*", "i": "*", "del": "~~", "s": "~~"}
_CODE: Final = frozenset({"code", "kbd", "samp", "tt"})
_LISTS: Final = frozenset({"ul", "ol", "menu", "dir"})
_MORE_THAN_A_LINE: Final = frozenset({"p", "table", "pre", "blockquote"}) | _LISTS
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}


def render(reading: Reading, base: str, *, markup: bool, stopped: Callable[[], bool] = lambda: False) -> str:
    """The text of what is read, "" if there is none; it ends without a line end.

    base: address of the page, for its relative links; markup: Markdown, else plain text; stopped: asked now and then.

    Raises ToolError `cancelled` once `stopped()` is true.
    """
    return _Writer(reading, base, markup, stopped).blocks(reading.root)


class _Writer:
    def __init__(self, reading: Reading, base: str, markup: bool, stopped: Callable[[], bool]) -> None:
        self._stopped = stopped
        self._pieces = 0
        self._shows = reading.shows
        self._base = base
        self._markup = markup
        self._growth = GROWTH

    # --- lines of their own --------------------------------------------------------------------------------------

    def blocks(self, node: Node) -> str:
        """The content of an element as blocks with empty lines between them."""
        found: list[str] = []
        run: list[Node | str] = []

        def add(text: str, *, close: bool = False) -> None:
            if text:
                found.extend((("\n" if close else "\n\n") if found else "", text))

        for child in node.children:
            if isinstance(child, Node):
                if not self._shows(child):
                    continue
                if child.tag in BLOCKS or child.holds_blocks:
                    add(self._paragraph(run))
                    run = []
                    add(self._block(child), close=node.tag == "li" and child.tag in _LISTS)
                    continue
            run.append(child)
        add(self._paragraph(run))
        return "".join(found)

    def _block(self, node: Node) -> str:
        tag = node.tag
        if tag in _HEADINGS:
            text = self._inline(node.children).replace("\n", " ")
            if not text or not self._markup:
                return text
            return f"{'#' * _HEADINGS[tag]} {_CLOSING_HASHES.sub(_ESCAPED, text)}"
        if tag in ("pre", "xmp"):
            return self._preformatted(node)
        if tag in _LISTS:
            return self._list(node)
        if tag == "blockquote":
            return self._indented(self.blocks(node), "> ", "> ") if self._markup else self.blocks(node)
        if tag == "table":
            return self._table(node)
        if tag == "hr":
            return "---" if self._markup else ""
        if tag == "dd":
            return self._indented(self.blocks(node), "  ", "  ") if not self._markup else self.blocks(node)
        if tag == "a" and not any(part.tag in _MORE_THAN_A_LINE for part in node.walk()):
            return self._paragraph([node])
        return self.blocks(node)

    def _paragraph(self, run: list[Node | str]) -> str:
        text = self._inline(run)
        return "\n".join(map(_escaped_start, text.split("\n"))) if self._markup else text

    def _preformatted(self, node: Node) -> str:
        text = _CONTROL.sub("", self._verbatim(node)).strip("\n").rstrip()
        if not text or not self._markup:
            return text
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
        return f"{fence}{_language(node)}\n{text}\n{fence}"

    def _verbatim(self, node: Node) -> str:
        parts: list[str] = []
        for child in node.children:
            if isinstance(child, str):
                parts.append(child)
            elif child.tag == "br":
                parts.append("\n")
            elif self._shows(child):
                parts.append(self._verbatim(child))
        return "".join(parts)

    def _list(self, node: Node) -> str:
        ordered = node.tag == "ol"
        start = node.get("start")
        number = int(start) if start.isascii() and start.isdigit() and len(start) < 9 else 1
        items: list[str] = []
        for child in node.children:
            if isinstance(child, str) or not self._shows(child):
                continue
            text = self.blocks(child) if child.tag == "li" else self._block(child)
            if not text:
                continue
            mark = f"{number}. " if ordered else "- "
            number += 1
            items.append(self._indented(text, mark, " " * len(mark)))
        loose = any("\n\n" in item for item in items)
        return ("\n\n" if loose else "\n").join(items)

    def _indented(self, text: str, first: str, rest: str) -> str:
        """The lines with a mark before each, unless that would let the page grow beyond measure."""
        self._growth -= text.count("\n") * len(rest)
        if self._growth < 0:
            return text
        lines = text.split("\n")
        return "\n".join(
            [first + lines[0], *((rest + line).rstrip() if not line else rest + line for line in lines[1:])]
        )

    def _table(self, table: Node) -> str:
        rows = [row for row in self._rows(table) if row]
        width = max(map(len, rows), default=0)
        if width < 2 or len(rows) < 2 or any(_is_layout(cell) for row in rows for cell in row):
            return "\n\n".join(filter(None, (self.blocks(cell) for row in rows for cell in row)))
        self._growth -= sum(width - len(row) for row in rows) * 3
        lines = []
        for row in rows:
            cells = [
                self._inline([cell]).replace("\n", " ").replace("|", "\\|" if self._markup else "|") for cell in row
            ]
            if self._growth > 0:
                cells += [""] * (width - len(cells))
            lines.append(f"| {' | '.join(cells)} |" if self._markup else " | ".join(cells).rstrip())
        if self._markup:
            lines.insert(1, "|" + " --- |" * width)
        caption = next((self._inline([part]) for part in table.children if _is(part, "caption")), "")
        return "\n\n".join(filter(None, (caption, "\n".join(lines))))

    def _rows(self, node: Node) -> list[list[Node]]:
        rows: list[list[Node]] = []
        for child in node.children:
            if isinstance(child, str) or not self._shows(child):
                continue
            if child.tag == "tr":
                rows.append([cell for cell in child.children if _is(cell, "td", "th") and self._shows(cell)])  # type: ignore[arg-type, misc]
            elif child.tag in ("tbody", "thead", "tfoot"):
                rows += self._rows(child)
        return rows

    # --- within a line -------------------------------------------------------------------------------------------

    def _inline(self, run: Iterable[Node | str]) -> str:
        """A run of text and inline elements: white space collapsed, lines broken only where the page breaks them."""
        lines = [line.strip(" ") for line in self._joined(run).split("\x00")]
        return "\n".join(lines).strip("\n")

    def _joined(self, run: Iterable[Node | str]) -> str:
        """The pieces of a run, of two spaces that meet only one; `\x00` where a line breaks."""
        parts: list[str] = []
        spaced = False
        for item in run:
            piece = self._piece(item)
            if spaced and piece.startswith(" "):
                piece = piece[1:]
            if piece:
                parts.append(piece)
                spaced = piece.endswith(" ")
        return "".join(parts)

    def _piece(self, item: Node | str) -> str:
        self._pieces += 1
        if self._pieces % _LOOK_EVERY == 0 and self._stopped():
            raise ToolError("cancelled", "The call was called off.")
        if isinstance(item, str):
            text = _SPACE.sub(" ", _CONTROL.sub(" ", item))
            return _SPECIAL.sub(_ESCAPED, text) if self._markup else text
        if not self._shows(item):
            return ""
        tag = item.tag
        if tag == "br":
            return "\x00"
        if tag == "img":
            return self._image(item)
        if tag in _CODE:
            return self._code(item)
        inner = self._joined(item.children)
        if tag in BLOCKS:
            return f" {inner} "
        if not self._markup or not inner.strip(" \x00"):
            return inner
        if tag == "a":
            return self._link(item, inner)
        mark = _MARKS.get(tag)
        # A mark holds only beside text, and not across a line.
        return inner if mark is None or "\x00" in inner else _around(inner, mark, mark)

    def _code(self, node: Node) -> str:
        text = _SPACE.sub(" ", _CONTROL.sub(" ", self._verbatim(node)))
        if not self._markup or not text.strip():
            return text
        ticks = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
        pad = " " if "`" in (text[0], text[-1]) else ""
        return _around(text, ticks + pad, pad + ticks)

    def _link(self, node: Node, inner: str) -> str:
        address = self._address(node.get("href"))
        return inner if address is None or "\x00" in inner else _around(inner, "[", f"]({address})")

    def _image(self, node: Node) -> str:
        alt = _SPACE.sub(" ", _CONTROL.sub(" ", node.get("alt"))).strip()
        if not alt or not self._markup:
            return alt
        alt = _SPECIAL.sub(_ESCAPED, alt)
        address = self._address(node.get("src"))
        return alt if address is None else f"![{alt}]({address})"

    def _address(self, reference: str) -> str | None:
        """The whole address of a link; None if it leads nowhere else, to no page, or is too long to be shown."""
        reference = _CONTROL.sub("", reference).strip()
        if not reference or reference.startswith("#") or len(reference) > _MAX_LINK_CHARS:
            return None
        try:
            address = urljoin(self._base, reference)
        except ValueError:
            return None
        if not address.lower().startswith(("http://", "https://", "mailto:")) or len(address) > _MAX_LINK_CHARS:
            return None
        self._growth -= max(0, len(address) - len(reference))
        return address.translate(_LINK_SPECIAL) if self._growth > 0 else None


def _around(text: str, before: str, after: str) -> str:
    """Marks around the words, with the white space at the ends left outside of them."""
    words = text.strip()
    left, right = " " * text[:1].isspace(), " " * text[-1:].isspace()
    return f"{left}{before}{words}{after}{right}"


def _escaped_start(line: str) -> str:
    """A line of text, its beginning escaped if Markdown would take it for a heading, a list, a quote or a rule."""
    match = _AT_LINE_START.match(line)
    if match is None:
        return line
    at = match.end() - 1 if line[0].isdigit() else 0
    return f"{line[:at]}\\{line[at:]}"


def _language(node: Node) -> str:
    """The language that a page's highlighter was told, "" if none."""
    for element in node.walk():
        for name in element.classes:
            for prefix in ("language-", "lang-", "highlight-source-"):
                language = name.removeprefix(prefix)
                if language != name and re.fullmatch(r"[A-Za-z0-9+#.-]{1,30}", language):
                    return language
    return ""


def _is_layout(cell: Node) -> bool:
    """A cell that holds more than a line of text: the table places things, or cannot be written as a Markdown table."""
    return any(node.tag in ("table", "ul", "ol", "pre", "blockquote", "h1", "h2", "h3") for node in cell.walk())


def _is(item: Node | str, *tags: str) -> bool:
    return isinstance(item, Node) and item.tag in tags

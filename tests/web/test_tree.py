"""The tree of a page: where elements end that are not closed, and bounds that hold."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.web.tree import MAX_DEPTH, MAX_NODES, Node, parse


def shape(node: Node) -> str:
    inner = "".join(child if isinstance(child, str) else shape(child) for child in node.children)
    return f"{node.tag}({inner})" if node.tag else inner


@pytest.mark.parametrize(
    ("page", "tree"),
    [
        ("<p>a<p>b", "p(a)p(b)"),
        ("<p>a<div>b</div>c", "p(a)div(b)c"),
        ("<p><b>a<p>c", "p(b(a))p(c)"),
        ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>", "ul(li(a)li(bul(li(c)))li(d))"),
        ("<dl><dt>a<dd>b<dt>c</dl>", "dl(dt(a)dd(b)dt(c))"),
        ("<table><tr><td>a<td>b<tr><th>c</table>d", "table(tr(td(a)td(b))tr(th(c)))d"),
        ("<table><tr><td><table><tr><td>a</table>b</table>", "table(tr(td(table(tr(td(a)))b)))"),
        ("<table><tr><td>a</div></td></table>", "table(tr(td(a\n)))"),
        ("<div><table><tr><td>a</div>b</table>c</div>", "div(table(tr(td(ab)))c)"),
        ("<a href=x>a<a href=y>b", "a(a)a(b)"),
        ("a<br>b<img>c<hr>d", "abr()bimg()chr()d"),
        ("<b><i>a</b>c</i>", "b(i(a))c"),
        ("a</p>b</span>c", "a\nbc"),
        ("<html><body>a<body>b</body></html>c", "html(body(ab))c"),
        ("<select><option>a<option>b</select>", "select(option(a)option(b))"),
    ],
)
def test_elements_end_where_browsers_end_them(page: str, tree: str) -> None:
    assert shape(parse(page)) == tree


def test_an_element_knows_whether_lines_begin_in_it() -> None:
    tree = parse("<span><b><p>a</p></b></span><i>b</i>")
    flags = {node.tag: node.holds_blocks for node in tree.walk()}

    assert flags == {"": True, "span": True, "b": True, "p": False, "i": False}


@pytest.mark.promise("P7")
@pytest.mark.parametrize("opening", ["<div>", "<b>", "<ul><li>", "<blockquote>", "<table><tr><td>"])
def test_a_deep_page_keeps_its_text_and_not_its_depth(opening: str) -> None:
    tree = parse(opening * 5_000 + "deep" + "</div>" * 5_000 + "after")

    def depth(node: Node) -> int:
        deepest, level = 0, [node]
        while level:
            deepest += 1
            level = [child for part in level for child in part.children if isinstance(child, Node)]
        return deepest

    assert depth(tree) <= MAX_DEPTH + 2
    assert "deep" in tree.line()
    assert "after" in tree.line()


@pytest.mark.promise("P7")
def test_a_page_of_very_many_elements_keeps_its_text() -> None:
    tree = parse("<p>x" * (MAX_NODES + 100) + "last")

    assert sum(1 for _ in tree.walk()) <= MAX_NODES + 1
    assert tree.line().count("x") == MAX_NODES + 100
    assert tree.line().endswith("last")


def test_a_call_that_was_called_off_stops_in_the_middle_of_a_page() -> None:
    looks = itertools.count()
    with pytest.raises(ToolError) as caught:
        parse("<p>x" * 50_000, lambda: next(looks) >= 2)

    assert caught.value.code == "cancelled"


TAGS = ["<p>", "</p>", "<ul>", "</ul>", "<li>", "<b>", "</b>", "<td>", "<tr>", "<table>", "</table>", "<a>", "</div>"]


@given(st.lists(st.sampled_from([*TAGS, "x"])))
def test_no_order_of_tags_loses_text_or_breaks_the_tree(parts: list[str]) -> None:
    tree = parse(" ".join(parts))

    assert tree.line().count("x") == parts.count("x")
    assert all(isinstance(child, (Node, str)) for node in tree.walk() for child in node.children)

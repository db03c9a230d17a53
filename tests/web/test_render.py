"""Pages as Markdown and as text: what is meant stays, and what a page says cannot become a mark that it does not have."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptc.errors import ToolError
from ptc.web.reading import read_page
from ptc.web.render import GROWTH, render
from ptc.web.tree import parse


def markdown(page: str, base: str = "https://e.org/d/p") -> str:
    return render(read_page(parse(page), whole=True), base, markup=True)


def plain(page: str) -> str:
    return render(read_page(parse(page), whole=True), "https://e.org/", markup=False)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<h1>One</h1><h3>Three <em>x</em></h3>", "# One\n\n### Three *x*"),
        ("<p>a  b\n c<br>d</p>e", "a b c\nd\n\ne"),
        ("a <b> bold </b>b <i></i>c <s>gone</s>", "a **bold** b c ~~gone~~"),
        ("<code>x</code> <kbd>a`b</kbd> <code>`c`</code>", "`x` ``a`b`` `` `c` ``"),
        ("<a href='/x?a=1&amp;b=2'>link</a> <a href='y'>rel</a>", "[link](https://e.org/x?a=1&b=2) [rel](https://e.org/d/y)"),
        ("<a href='#top'>a</a> <a href='javascript:x'>b</a> <a>c</a> <a href='mailto:m@e.org'>d</a>", "a b c [d](mailto:m@e.org)"),
        ("<a href='/a (b)'>x</a>", "[x](https://e.org/a%20%28b%29)"),
        ("<a href=/x><h2>Card</h2></a>", "[Card](https://e.org/x)"),
        ("<a href=/x><p>Two</p><p>lines</p></a>", "Two\n\nlines"),
        ("<img src=i.png alt='A [pic]'> <img src=x> <img alt=y src='data:image/png;base64,AAAA'>", "![A \\[pic\\]](https://e.org/d/i.png) y"),
        ("<ul><li>a<li>b<ul><li>c</ul></ul>", "- a\n- b\n  - c"),
        ("<ul><li><p>a</p><p>b</p><li>c</ul>", "- a\n\n  b\n\n- c"),
        ("<ol start=9><li>a<li>b<ul><li>c</ul></ol>", "9. a\n10. b\n    - c"),
        ("<blockquote>a<p>b</blockquote>", "> a\n>\n> b"),
        ("<pre>  a\n\n    b\n</pre>", "```\n  a\n\n    b\n```"),
        ("<pre><code class='hljs language-py'>x = `1`</code></pre>", "```py\nx = `1`\n```"),
        ("<pre>```\nx</pre>", "````\n```\nx\n````"),
        ("<table><caption>C</caption><tr><th>A<th>B<tr><td>1|2<td>x<br>y</table>", "C\n\n| A | B |\n| --- | --- |\n| 1\\|2 | x y |"),
        ("<table><tr><th>A<th>B<tr><td>1</table>", "| A | B |\n| --- | --- |\n| 1 |  |"),
        ("<table><tr><td><h2>layout</h2><p>x</p></td><td>y</td></tr><tr><td>z<td></table>", "## layout\n\nx\n\ny\n\nz"),
        ("<table><tr><td>only</table>", "only"),
        ("<dl><dt>T<dd>D</dl>", "T\n\nD"),
        ("a<hr>b", "a\n\n---\n\nb"),
        ("<span>a<p>b</p>c</span>", "a\n\nb\n\nc"),
        ("snake_case 5 * 3 AT&T C:\\dir x < y a > b", "snake_case 5 * 3 AT&T C:\\dir x < y a > b"),
    ],
)  # fmt: skip
def test_the_structure_of_a_page_is_kept_as_markdown(page: str, text: str) -> None:
    assert markdown(page) == text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p># no heading</p>", "\\# no heading"),
        ("<p>- no list</p><p>+ no</p><p>1. no</p><p>2) no</p>", "\\- no list\n\n\\+ no\n\n1\\. no\n\n2\\) no"),
        ("<p>&gt; no quote</p><p>---</p><p>a<br>===</p>", "\\> no quote\n\n\\---\n\na\n\\==="),
        ("*no* _no_ `no` ~~no~~", "\\*no\\* \\_no\\_ \\`no\\` \\~\\~no\\~\\~"),
        ("[no](http://evil.test) ![no](x)", "\\[no\\](http://evil.test) !\\[no\\](x)"),
        ("&lt;script&gt; &amp;lt; \\[", "\\<script> \\&lt; \\\\\\["),
        ("<a href=/x>a](http://evil.test)</a>", "[a\\](http://evil.test)](https://e.org/x)"),
    ],
)
def test_text_that_looks_like_a_mark_is_told_to_be_text(page: str, text: str) -> None:
    assert markdown(page) == text


def test_plain_text_has_no_marks() -> None:
    page = "<h1>H</h1><p>a <b>b</b> <a href=/x>c</a> *d*</p><ul><li>e<li>f</ul><pre>  g</pre><table><tr><th>A<th>B<tr><td>1<td>2</table>"

    assert plain(page) == "H\n\na b c *d*\n\n- e\n- f\n\n  g\n\nA | B\n1 | 2"


def test_control_characters_do_not_reach_the_text() -> None:
    page = "a\x1b[31mb\x07c\x00d\x9be<pre>f\x1bg\x00</pre><code>h\x1bi</code><img alt='j\x1bk' src=x>"

    for text in (markdown(page), plain(page)):
        assert not set(text) & {chr(code) for code in (*range(9), *range(11, 32), *range(127, 160))}


try:
    import markdown_it
except ImportError:
    markdown_it = None  # type: ignore[assignment]

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cf", "Zs", "Zl", "Zp"]), max_size=12)
marks = st.text("*_`[]()<>#+-=~!&;.1\\| ab:\"'", max_size=16)


def seen(markdown_text: str) -> str:
    """The words that a Markdown reader sees, by a parser that follows CommonMark."""
    assert markdown_it is not None
    parts: list[str] = []

    def collect(tokens: list[object]) -> None:
        for token in tokens:
            children = getattr(token, "children", None)
            kind = token.type  # type: ignore[attr-defined]
            if children:
                collect(children)
            elif kind in ("text", "code_inline", "fence", "code_block", "html_block", "html_inline"):
                parts.append(token.content)  # type: ignore[attr-defined]
            elif kind in ("softbreak", "hardbreak"):
                parts.append(" ")
        parts.append(" ")

    collect(markdown_it.MarkdownIt("commonmark").enable("strikethrough").parse(markdown_text))
    return "".join("".join(parts).split())


@pytest.mark.skipif(markdown_it is None, reason="needs markdown-it-py, which comes with the extra `pretty`")
@settings(deadline=None)
@given(
    st.one_of(marks, words), st.one_of(marks, words), st.sampled_from(["p", "li", "h2", "b", "blockquote", "td", "div"])
)
def test_a_markdown_reader_sees_the_very_words_of_the_page(first: str, second: str, tag: str) -> None:
    escaped = [part.replace("&", "&amp;").replace("<", "&lt;") for part in (first, second)]
    page = f"<{tag}>{escaped[0]}</{tag}> {escaped[1]}<p>{escaped[1]}<br>{escaped[0]}"

    assert seen(markdown(page)) == "".join(f"{first}{second}{second}{first}".split())


@pytest.mark.promise("P7")
@pytest.mark.parametrize(
    "page",
    [
        "<blockquote>" * 90 + "<pre>" + "x\n" * 500_000,
        "<ul><li>" * 45 + "<pre>" + "x\n" * 500_000,
        "<table>" + "<tr>" + "<td>a" * 3_000 + "<tr><td>b" * 5_000,
    ],
)
def test_marks_do_not_let_a_page_grow_without_bound(page: str) -> None:
    assert len(markdown(page)) < 4 * len(page) + GROWTH


def test_addresses_of_links_do_not_let_a_page_grow_without_bound() -> None:
    base = "https://e.org/" + "d" * 900 + "/"

    assert len(markdown("<a href=x>y</a> " * 20_000, base)) < 20_000 * 16 + GROWTH + 10_000


def test_a_call_that_was_called_off_stops_in_the_middle() -> None:
    looks = itertools.count()
    reading = read_page(parse("<b>x</b> " * 20_000), whole=True)
    with pytest.raises(ToolError) as caught:
        render(reading, "http://e.org/", markup=True, stopped=lambda: next(looks) >= 2)

    assert caught.value.code == "cancelled"

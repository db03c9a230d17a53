"""No text of a script, file or server can drive the terminal it is printed on."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.cli._terminal import ascii_json, block, line, pretty_json, word

ANY_TEXT = st.text(st.characters(exclude_categories=()))
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


def drives_a_terminal(character: str) -> bool:
    """Written from the Unicode categories, apart from the table of the code under test."""
    kind = unicodedata.category(character)
    return (kind in {"Cc", "Cs", "Zl", "Zp"} and character not in "\n\t") or unicodedata.bidirectional(character) in {
        "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI",
    }  # fmt: skip


@pytest.mark.parametrize(
    "attack",
    [
        "\x1b[2J",
        "\x1b]52;c;aGk=\x07",
        "\x9b1m",
        "\x9d0;title\x9c",
        "a\rb",
        "\x08\x08",
        "\u202egnp",
        "\u2066x\u2069",
        "\x7f",
    ],
)
def test_a_control_sequence_comes_out_as_visible_text(attack: str) -> None:
    shown = block(attack)
    assert not any(map(drives_a_terminal, shown))
    assert "\\u" in shown


@given(ANY_TEXT)
def test_nothing_that_drives_a_terminal_is_left(text: str) -> None:
    assert not any(map(drives_a_terminal, block(text)))


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"])))
def test_plain_text_is_left_alone(text: str) -> None:
    assert block(text) == text


def test_newlines_tabs_and_letters_of_all_scripts_stay() -> None:
    text = "ключ\tзначение\nمی\u200cخواهم 鍵 👩\u200d🚀\n"
    assert block(text) == text


def test_later_lines_of_a_message_cannot_pass_for_messages() -> None:
    assert line("boom\nerror[none] all is well\r\nok") == "boom\n    error[none] all is well\\u000d\n    ok"


def test_a_word_stays_inside_its_line() -> None:
    assert word("a\n\tb\x1b") == "a\\u000a\\u0009b\\u001b"
    assert len(word("x" * 1_000)) == 80


@given(ANY_JSON)
def test_both_forms_of_json_still_hold_the_same_value(value: object) -> None:
    assert json.loads(pretty_json(value)) == value
    assert json.loads(ascii_json(value)) == value


@given(ANY_JSON)
def test_machine_json_is_one_line_of_printable_ascii(value: object) -> None:
    assert re.fullmatch(r"[ -~]+", ascii_json(value))

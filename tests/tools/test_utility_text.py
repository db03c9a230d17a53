"""echo, hash_text, string_stats and url_encode: what they say of a text, and what they refuse to guess."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from urllib.parse import quote, unquote_plus, unquote_to_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptc.limits import Limits
from tests.tools.utility_tools import Caller, caller

# Text with everything that JSON strings may hold, lone surrogates included, and text that has a UTF-8 form.
ANY_TEXT = st.text(st.characters(), max_size=200)
CLEAN_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
MEGABYTE = 1_000_000
MOST_ARGUMENTS = Limits().args_bytes


@pytest.fixture(scope="module")
def call() -> Iterator[Caller]:
    with caller() as made:
        yield made


@pytest.mark.parametrize("name", ["echo", "hash_text", "string_stats", "url_encode"])
@pytest.mark.parametrize("args", [{}, {"text": 5}, {"text": None}, {"text": True}, {"text": ["x"]}, {"Text": "x"}])
def test_the_text_is_required_and_is_text(call: Caller, name: str, args: dict[str, object]) -> None:
    assert call.refused(name, **args).code == "invalid_arguments"


@pytest.mark.parametrize("name", ["echo", "hash_text", "string_stats", "url_encode"])
def test_an_argument_that_is_not_known_is_refused(call: Caller, name: str) -> None:
    assert "extra" in call.refused(name, text="x", extra=1).message


# --- echo -------------------------------------------------------------------------------------------------------------


@given(ANY_TEXT)
@settings(max_examples=200, deadline=None)
def test_echo_gives_the_text_unchanged(call: Caller, text: str) -> None:
    assert call("echo", text=text) == text


def test_echo_gives_a_megabyte_whole_and_refuses_more_than_the_cap_of_arguments(call: Caller) -> None:
    assert call("echo", text="é" * (MEGABYTE // 2)) == "é" * (MEGABYTE // 2)
    error = call.refused("echo", text="x" * MOST_ARGUMENTS)
    assert error.code == "arguments_too_large"
    assert f"{MOST_ARGUMENTS:,}" in error.message


# --- hash_text --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "digest", "algorithm"),
    [
        ({"text": "hello"}, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", "sha256"),
        ({"text": "hello", "algorithm": "MD5"}, "5d41402abc4b2a76b9719d911017c592", "md5"),
        ({"text": "hello", "algorithm": "Sha1"}, "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d", "sha1"),
        ({"text": "", "algorithm": "sha256"}, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "sha256"),
        ({"text": "é", "algorithm": "md5"}, "66ddcd97cfdeabb2f6fb8a999b4bc76f", "md5"),
    ],
)  # fmt: skip
def test_the_digest_is_known_and_named(call: Caller, args: dict[str, str], digest: str, algorithm: str) -> None:
    assert call("hash_text", **args) == {"hash": digest, "algorithm": algorithm}


@given(CLEAN_TEXT, st.sampled_from(["md5", "sha1", "sha256"]))
@settings(max_examples=100, deadline=None)
def test_the_digest_is_that_of_the_utf8_bytes(call: Caller, text: str, algorithm: str) -> None:
    digest = hashlib.new(algorithm, text.encode()).hexdigest()
    assert call("hash_text", text=text, algorithm=algorithm) == {"hash": digest, "algorithm": algorithm}


def test_a_long_text_is_hashed_in_a_thread_with_the_same_result(call: Caller) -> None:
    text = "ab\n" * (MEGABYTE // 3)
    assert call("hash_text", text=text)["hash"] == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "algorithm", ["sha512", "", "sha-256", " sha256", "sha256\n", "ſha1", "\u202esha1", "crc32", "\ud800", "x" * 50_000],
    ids=range(10),
)  # fmt: skip
@pytest.mark.promise("P5")
def test_another_algorithm_is_refused_and_never_replaced(call: Caller, algorithm: str) -> None:
    error = call.refused("hash_text", text="x", algorithm=algorithm)
    assert (error.code, error.details) == ("unsupported_algorithm", {"algorithms": ["md5", "sha1", "sha256"]})
    assert "Use md5, sha1 or sha256" in error.message


@pytest.mark.parametrize(("name", "more"), [("hash_text", {}), ("url_encode", {}), ("url_encode", {"decode": True})])
@pytest.mark.promise("P5")
def test_half_of_a_surrogate_pair_has_no_bytes_and_is_refused(call: Caller, name: str, more: dict[str, object]) -> None:
    error = call.refused(name, text="ab\ud83d", **more)
    assert error.code == "invalid_arguments"
    assert "surrogate pair at character 2" in error.message


# --- string_stats -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "characters", "words", "lines"),
    [
        ("Hello World\nFoo bar", 19, 4, 2),
        ("", 0, 0, 0),
        ("\n", 1, 0, 1),
        ("\n\n", 2, 0, 2),
        ("a", 1, 1, 1),
        ("a\n", 2, 1, 1),
        ("a\n\nb", 4, 2, 3),
        ("a\tb  c", 6, 3, 1),
        ("a\r\nb\r", 5, 2, 2),
        (" ", 1, 0, 1),
        ("\u3000x\u00a0y", 4, 2, 1),
        ("x\u2028y", 3, 2, 1),
        ("😀", 1, 1, 1),
        ("e\u0301", 2, 1, 1),
        ("\ud800 \udc00", 3, 2, 1),
        ("\x00", 1, 1, 1),
    ],
)
def test_characters_words_and_lines_are_counted(
    call: Caller, text: str, characters: int, words: int, lines: int
) -> None:
    assert call("string_stats", text=text) == {"characters": characters, "words": words, "lines": lines}


@given(st.text(st.sampled_from("a é\n\r\t\u2028😀\ud800"), max_size=60))
@settings(max_examples=300, deadline=None)
def test_the_counts_follow_their_definition(call: Caller, text: str) -> None:
    words = lines = 0
    inside = False
    for character in text:
        words += not character.isspace() and not inside
        inside = not character.isspace()
        lines += character == "\n"
    lines += bool(text) and not text.endswith("\n")
    assert call("string_stats", text=text) == {"characters": len(text), "words": words, "lines": lines}


def test_a_long_text_is_counted_in_a_thread_with_the_same_result(call: Caller) -> None:
    counted = call("string_stats", text="one two\n" * (MEGABYTE // 8))
    assert counted == {"characters": MEGABYTE, "words": MEGABYTE // 4, "lines": MEGABYTE // 8}


# --- url_encode -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        ("", ""),
        ("a b&c", "a%20b%26c"),
        ("AZaz09-_.~", "AZaz09-_.~"),
        ("é", "%C3%A9"),
        ("😀", "%F0%9F%98%80"),
        ("100%", "100%25"),
        ("a+b/c?d=e#f", "a%2Bb%2Fc%3Fd%3De%23f"),
        ("\x00\n\x7f", "%00%0A%7F"),
    ],
)
def test_all_but_unreserved_bytes_are_encoded(call: Caller, text: str, encoded: str) -> None:
    assert call("url_encode", text=text) == encoded
    assert call("url_encode", text=encoded, decode=True) == text


@pytest.mark.parametrize(
    ("encoded", "text"),
    [("a+b", "a b"), ("a%2Bb", "a+b"), ("%c3%a9", "é"), ("é%20é", "é é"), ("%2525", "%25"), ("%00", "\x00")],
)
def test_decoding_takes_a_plus_for_a_space_and_leaves_plain_text(call: Caller, encoded: str, text: str) -> None:
    assert call("url_encode", text=encoded, decode=True) == text


@given(CLEAN_TEXT)
@settings(max_examples=200, deadline=None)
def test_encoding_is_that_of_the_standard_library_and_comes_back(call: Caller, text: str) -> None:
    encoded = call("url_encode", text=text)
    assert encoded == quote(text, safe="")
    assert call("url_encode", text=encoded, decode=True) == text


@given(st.text(st.sampled_from("%0aFf9zé+ C3A\ud800"), max_size=20))
@settings(max_examples=400, deadline=None)
def test_decoding_agrees_with_the_standard_library_or_refuses(call: Caller, text: str) -> None:
    result = call.result("url_encode", text=text, decode=True)
    if result.error is None:
        assert result.output == unquote_plus(text, errors="strict")
        return
    if result.error.code == "invalid_percent_encoding":
        place = result.error.details["position"] - 1
        assert text[place] == "%"
        assert not (len(text) >= place + 3 and all(digit in "0aFf9C3A" for digit in text[place + 1 : place + 3]))
    elif result.error.code == "invalid_utf8":
        with pytest.raises(UnicodeDecodeError):
            unquote_to_bytes(text.replace("+", " ")).decode()
    else:
        assert result.error.code == "invalid_arguments"
        assert "\ud800" in text


@pytest.mark.parametrize(
    ("text", "place", "shown"),
    [
        ("%zz", 1, "'%zz'"),
        ("100%", 4, "'%'"),
        ("a%4", 2, "'%4'"),
        ("%20%2g", 4, "'%2g'"),
        ("% 20", 1, "'% 2'"),
        ("%\n\n", 1, r"'%\u000a\u000a'"),
        ("%2\u0662", 1, "'%2"),
        ("%%41", 1, "'%%4'"),
    ],
)
@pytest.mark.promise("P5")
def test_a_percent_sign_without_two_hex_digits_is_refused_where_it_stands(
    call: Caller, text: str, place: int, shown: str
) -> None:
    error = call.refused("url_encode", text=text, decode=True)
    assert (error.code, error.details) == ("invalid_percent_encoding", {"position": place})
    assert shown in error.message
    assert "%25" in error.message


@pytest.mark.parametrize(
    ("text", "byte"), [("%ff", 1), ("a%C3", 2), ("%C3%28", 1), ("%ED%A0%80", 1), ("%C0%80", 1), ("%F8%88%80%80%80", 1)]
)
def test_what_is_no_utf8_is_refused_and_nothing_is_replaced(call: Caller, text: str, byte: int) -> None:
    error = call.refused("url_encode", text=text, decode=True)
    assert (error.code, error.details) == ("invalid_utf8", {"byte": byte})


@pytest.mark.parametrize("text", ["%" * MEGABYTE, "%41" * 300_000 + "%", "+" * MEGABYTE], ids=["signs", "end", "plus"])
@pytest.mark.promise("P3")
def test_a_megabyte_is_decoded_or_refused_within_its_second(call: Caller, text: str) -> None:
    result = call.result("url_encode", text=text, decode=True)
    assert result.error is None or result.error.code == "invalid_percent_encoding"

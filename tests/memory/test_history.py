"""Conversation history: recorded in order, found by a part of its text, fenced by scope, bounded."""

from __future__ import annotations

import pytest

from ptc.errors import ToolError
from ptc.memory import MemoryStore, Quota

pytestmark = pytest.mark.anyio


async def test_messages_come_back_in_their_order() -> None:
    with MemoryStore(":memory:") as store:
        for number, role in enumerate(("system", "user", "assistant", "tool")):
            await store.add_message("s1", role, f"message {number}")
        await store.add_message("s2", "user", "elsewhere")
        assert [(message.role, message.content) for message in await store.messages("s1")] == [
            ("system", "message 0"),
            ("user", "message 1"),
            ("assistant", "message 2"),
            ("tool", "message 3"),
        ]
        assert [message.content for message in await store.messages("s1", limit=2)] == ["message 2", "message 3"]
        assert await store.messages("s3") == []


@pytest.mark.parametrize("query", ["EIO", "eio 并", "straße", "STRASSE", "  Eio  ", "并发"])
async def test_a_part_of_a_text_is_found_whatever_its_case(query: str) -> None:
    with MemoryStore(":memory:") as store:
        await store.add_message("s1", "user", "跟我说说 Eio 并发 in der Straße")
        await store.add_message("s1", "assistant", "something else")
        found = (await store.search_history(query)).found
        assert [message.content for message in found] == ["跟我说说 Eio 并发 in der Straße"]


@pytest.mark.parametrize("query", ["100%", "a_b", "it's", '"', "\\", "NULL", "*"])
async def test_signs_of_query_languages_are_text(query: str) -> None:
    with MemoryStore(":memory:") as store:
        await store.add_message("s1", "user", f"before {query} after")
        await store.add_message("s1", "user", "beyond 100 axb its nil")
        assert len((await store.search_history(query)).found) == 1


async def test_the_current_session_comes_first_then_the_one_with_the_newest_message() -> None:
    with MemoryStore(":memory:") as store:
        for number, session in enumerate("abca"):
            await store.add_message(session, "user", f"hit {number} in {session}")
        order = [message.session_id for message in (await store.search_history("hit")).found]
        assert order == ["a", "a", "c", "b"]
        order = [message.session_id for message in (await store.search_history("hit", current="b")).found]
        assert order == ["b", "a", "a", "c"]
        order = [message.session_id for message in (await store.search_history("hit", current="nowhere")).found]
        assert order == ["a", "a", "c", "b"]


async def test_the_limit_counts_sessions_and_is_clamped() -> None:
    with MemoryStore(":memory:") as store:
        for number in range(55):
            await store.add_message(f"s{number}", "user", "hit" if number % 2 else "miss")
        assert [message.session_id for message in (await store.search_history("hit", limit=4)).found] == ["s53", "s51"]
        assert (await store.search_history("hit", limit=0)).found == []
        assert len((await store.search_history("hit", limit=500)).found) == 25
        assert len((await store.search_history("hit", limit=2, current="s1")).found) == 1


@pytest.mark.promise("P7")
async def test_at_most_fifty_messages_come_back_and_more_is_said() -> None:
    """Row D52 of tests/rows.py: the limit bounds sessions, so the results need a bound of their own."""
    with MemoryStore(":memory:") as store:
        for number in range(50):
            await store.add_message("s", "user", f"hit {number}")
        found, more = await store.search_history("hit")
        assert (len(found), more) == (50, False)
        assert found[0].content == "hit 49"
        await store.add_message("s", "user", "hit 50")
        found, more = await store.search_history("hit")
        assert (len(found), more) == (50, True)


async def test_what_was_said_again_in_a_session_is_found_once() -> None:
    """Row V35 of tests/rows.py: the current session's messages came twice if it was also one of the latest."""
    with MemoryStore(":memory:") as store:
        for session in ("a", "b"):
            for _ in range(60):
                await store.add_message(session, "user", "hit")
            await store.add_message(session, "assistant", "hit")
        found, more = await store.search_history("hit", current="a")
        assert [(m.session_id, m.role) for m in found] == [
            ("a", "assistant"),
            ("a", "user"),
            ("b", "assistant"),
            ("b", "user"),
        ]
        assert not more


@pytest.mark.promise("P4")
async def test_a_long_message_is_cut_around_the_match_and_its_length_is_told() -> None:
    with MemoryStore(":memory:") as store:
        await store.add_message("s", "user", "并" * 2_000 + "NEEDLE" + "发" * 2_000)
        (found,) = (await store.search_history("needle")).found
        assert found.length == 4_006
        assert "NEEDLE" in found.content
        assert len(found.content) == 500 + 6
        assert (found.content[:3], found.content[-3:]) == ("...", "...")


async def test_another_scope_is_never_searched() -> None:
    """Row D51 of tests/rows.py: a search over all sessions would show what others said."""
    with MemoryStore(":memory:", scope="ada") as ada:
        bob = ada.view(scope="bob")
        await ada.add_message("shared-id", "user", "private to ada")
        await bob.add_message("shared-id", "user", "private to bob")
        assert [m.content for m in (await bob.search_history("private")).found] == ["private to bob"]
        assert [m.content for m in (await bob.search_history("private", current="shared-id")).found] == [
            "private to bob"
        ]
        assert [m.content for m in await bob.messages("shared-id")] == ["private to bob"]
        assert await bob.delete_session("shared-id") == 1
        assert len(await ada.messages("shared-id")) == 1


async def test_a_message_that_is_not_searchable_is_kept_and_never_found() -> None:
    with MemoryStore(":memory:") as store:
        await store.add_message("s", "tool", "token of the day", searchable=False)
        assert (await store.search_history("token")).found == []
        assert len(await store.messages("s")) == 1


@pytest.mark.promise("P7")
async def test_over_the_quota_the_oldest_messages_go() -> None:
    with MemoryStore(":memory:", quota=Quota(messages=3, message_bytes=40)) as store:
        for number in range(5):
            await store.add_message(f"s{number}", "user", f"hit {number}")
        assert [m.content for m in (await store.search_history("hit")).found] == ["hit 4", "hit 3", "hit 2"]
        assert (await store.usage()).messages == 3
        await store.add_message("s5", "user", "x" * 35)
        usage = await store.usage()
        assert (usage.messages, usage.message_bytes) == (2, 40)
        sessions = await store._database.read(lambda c: [r[0] for r in c.execute("SELECT session FROM conversations")])
        assert sessions == ["s4", "s5"]


async def test_deleting_a_session_and_clearing_leave_nothing_behind() -> None:
    with MemoryStore(":memory:") as store:
        for number in range(10):
            await store.add_message("a", "user", f"hit {number}")
            await store.add_message("b", "user", f"hit {number}")
        assert await store.delete_session("a") == 10
        assert await store.delete_session("a") == 0
        assert {m.session_id for m in (await store.search_history("hit")).found} == {"b"}
        await store.remember("memory")
        await store.clear()
        usage = await store.usage()
        assert (usage.memories, usage.memory_bytes, usage.messages, usage.message_bytes) == (0, 0, 0, 0)
        left = await store._database.read(lambda c: c.execute("SELECT count(*) FROM conversations").fetchone()[0])
        assert left == 0


@pytest.mark.promise("P4")
async def test_a_message_over_the_cap_is_cut_and_says_so() -> None:
    with MemoryStore(":memory:") as store:
        await store.add_message("s", "tool", "x" * 65_536 + "yyy")
        await store.add_message("s", "user", "half \ud800 pair")
        await store.add_message("s", "user", "  \n")
        cut, repaired = await store.messages("s")
        assert cut.content == "x" * 65_536 + "… (3 more characters were not kept)"
        assert repaired.content == "half \ufffd pair"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("s", "robot", "x"), "invalid_arguments"),
        (("", "user", "x"), "memory_text_required"),
        (("s" * 300, "user", "x"), "memory_too_large"),
        (("s", "user", 5), "invalid_arguments"),
    ],
)
async def test_a_message_that_is_none_is_refused(arguments: tuple[str, str, str], code: str) -> None:
    with MemoryStore(":memory:") as store:
        with pytest.raises(ToolError) as raised:
            await store.add_message(*arguments)
        assert raised.value.code == code


@pytest.mark.parametrize(
    ("query", "code"),
    [("", "memory_text_required"), (" \t", "memory_text_required"), ("x" * 1_001, "memory_too_large")],
)
async def test_a_query_that_is_empty_or_too_long_is_refused(query: str, code: str) -> None:
    with MemoryStore(":memory:") as store:
        for search in (store.search_history, store.recall):
            with pytest.raises(ToolError) as raised:
                await search(query)
            assert raised.value.code == code

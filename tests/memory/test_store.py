"""Memories: stored once, found by words, fenced by scope, bounded, and cleaned."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptc.errors import ConfigError, ToolError
from ptc.memory import Memory, MemoryStore, Quota
from ptc.memory._memories import CANDIDATES

pytestmark = pytest.mark.anyio


def contents(memories: list[Memory]) -> list[str]:
    return [memory.content for memory in memories]


async def test_a_memory_comes_back_as_it_was_stored() -> None:
    with MemoryStore(":memory:", scope="user:ada") as store:
        stored = await store.remember(
            "项目使用 OCaml 5.4 和 Eio 实现并发",
            summary="OCaml 并发技术栈",
            categories=["架构", "技术选型", "架构"],
            metadata={"from": {"file": "a.md", "lines": [1, 2]}},
            source="tool",
        )
        assert (stored.scope, stored.source, stored.usage_count, stored.last_used_at) == ("user:ada", "tool", 0, None)
        assert stored.categories == ("架构", "技术选型")
        assert stored.metadata == {"from": {"file": "a.md", "lines": [1, 2]}}
        assert stored.created_at == stored.updated_at
        assert await store.get(stored.id) == stored
        for query in ("并发", "ocaml eio", "技术栈", "架构"):
            assert [memory.id for memory in await store.recall(query)] == [stored.id]
        assert set(stored.to_dict()) == {
            *("id", "content", "summary", "scope", "categories", "metadata", "source"),
            *("created_at", "updated_at", "last_used_at", "usage_count"),
        }


async def test_all_words_must_be_in_a_memory_and_the_best_match_comes_first() -> None:
    with MemoryStore(":memory:") as store:
        await store.remember("the pool of connections is described in many, many words that say little about it")
        await store.remember("connection pool")
        await store.remember("connection only")
        await store.remember("nothing", summary="connection pool")
        assert contents(await store.recall("connection pool"))[0] == "nothing"
        assert set(contents(await store.recall("pool connections"))) == {
            "the pool of connections is described in many, many words that say little about it",
            "connection pool",
            "nothing",
        }


async def test_among_equals_the_newer_comes_first_and_the_limit_is_clamped() -> None:
    with MemoryStore(":memory:") as store:
        for number in range(60):
            await store.remember(f"note n{number:02}")
        assert contents(await store.recall("note", limit=2)) == ["note n59", "note n58"]
        assert len(await store.recall("note")) == 5
        assert len(await store.recall("note", limit=0)) == 1
        assert len(await store.recall("note", limit=-3)) == 1
        assert len(await store.recall("note", limit=1_000)) == 50


async def test_a_word_of_very_many_memories_is_ranked_among_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CANDIDATES == 2_000
    monkeypatch.setattr("ptc.memory._memories.CANDIDATES", 3)
    with MemoryStore(":memory:") as store:
        await store.remember("note")
        for number in range(3):
            await store.remember(f"note {number} with more words that make it a worse match")
        assert len(await store.recall("note")) == 3
        assert "note" not in contents(await store.recall("note"))
        await store.remember("rare note")
        assert contents(await store.recall("rare note")) == ["rare note"]


async def test_recalling_counts_as_use_and_brings_a_memory_to_the_top_of_the_list() -> None:
    with MemoryStore(":memory:") as store:
        for name in ("alpha", "beta", "gamma"):
            await store.remember(name)
        assert contents(await store.memories()) == ["gamma", "beta", "alpha"]
        await store.recall("alpha")
        await store.recall("alpha")
        first, *_ = await store.memories()
        assert (first.content, first.usage_count) == ("alpha", 2)
        assert first.last_used_at is not None
        assert first.last_used_at >= first.created_at
        assert contents(await store.memories(limit=1, offset=1)) == ["gamma"]


async def test_the_same_content_is_one_memory_and_what_is_left_out_stays() -> None:
    with MemoryStore(":memory:") as store:
        first = await store.remember("fact", summary="old", categories=["a"], metadata={"n": 1})
        again = await store.remember("fact", summary="new")
        assert (again.id, again.summary, again.categories, again.metadata) == (first.id, "new", ("a",), {"n": 1})
        assert again.updated_at >= first.updated_at
        assert again.created_at == first.created_at
        assert contents(await store.recall("new")) == ["fact"]
        assert await store.recall("old") == []
        assert (await store.remember("fact", categories=[])).categories == ()
        assert (await store.usage()).memories == 1


async def test_a_memory_of_a_given_id_is_replaced_and_found_by_its_new_words_only() -> None:
    with MemoryStore(":memory:") as store:
        await store.remember("blue is the colour", id="colour")
        stored = await store.remember("green is the colour", id="colour")
        assert (stored.id, stored.content) == ("colour", "green is the colour")
        assert await store.recall("blue") == []
        assert contents(await store.recall("green")) == ["green is the colour"]
        usage = await store.usage()
        assert usage.memories == 1
        assert usage.memory_bytes == len("green is the colour") + len("[]") + len("{}")


async def test_an_update_changes_what_is_given_and_nothing_else() -> None:
    with MemoryStore(":memory:") as store:
        first = await store.remember("blue", summary="colour", categories=["a"], metadata={"n": 1}, source="tool")
        changed = await store.update(first.id, content="green", categories=[])
        assert changed is not None
        assert (changed.content, changed.summary, changed.categories) == ("green", "colour", ())
        assert (changed.id, changed.metadata, changed.source) == (first.id, {"n": 1}, "tool")
        assert (changed.created_at, changed.usage_count) == (first.created_at, 0)
        assert changed.updated_at >= first.updated_at
        assert await store.recall("blue") == []
        assert contents(await store.recall("colour")) == ["green"]
        cleared = await store.update(first.id, summary="")
        assert cleared is not None
        assert cleared.summary is None
        assert await store.recall("colour") == []
        assert (await store.usage()).memories == 1


async def test_an_update_of_what_is_not_there_makes_nothing() -> None:
    with MemoryStore(":memory:", scope="ada") as store:
        mine = await store.remember("mine")
        assert await store.update("nothing", content="new") is None
        assert await store.view(scope="bob").update(mine.id, content="theirs") is None
        assert contents(await store.memories()) == ["mine"]
        assert await store._database.read(lambda c: c.execute("SELECT name FROM scopes").fetchall()[0][0]) == "ada"


@pytest.mark.parametrize("id", ["", "x" * 257, "a\ud800", 5])
async def test_an_id_that_cannot_be_one_is_refused(id: str) -> None:
    with MemoryStore(":memory:") as store:
        for method in (store.get, store.delete, store.update, store.messages, store.delete_session):
            with pytest.raises(ToolError) as raised:
                await method(id)
            assert raised.value.code in {"invalid_arguments", "memory_text_required", "memory_too_large"}


@pytest.mark.promise("P7")
async def test_a_text_that_cleaning_made_too_long_is_refused() -> None:
    with MemoryStore(":memory:", clean=lambda text: text.replace("s", "[secret removed]")) as store:
        with pytest.raises(ToolError) as raised:
            await store.remember("s" * 8_000)
        assert raised.value.code == "memory_too_large"
        with pytest.raises(ToolError) as raised:
            await store.remember("x", metadata={"a": "s" * 4_000})
        assert raised.value.code == "memory_too_large"
        await store.add_message("session", "user", "s" * 60_000)
        (message,) = await store.messages("session")
        assert message.content.endswith("more characters were not kept)")


@pytest.mark.promise("P2")
async def test_a_scope_sees_and_changes_nothing_of_another() -> None:
    """Row D51 of tests/rows.py: memory of one key, whatever a query says."""
    with MemoryStore(":memory:", scope="ada") as ada:
        bob = ada.view(scope="bob")
        hers = await ada.remember("secret of ada", id="same")
        his = await bob.remember("secret of bob", id="same")
        assert contents(await ada.recall("secret")) == ["secret of ada"]
        assert contents(await bob.recall("secret")) == ["secret of bob"]
        assert contents(await bob.memories()) == ["secret of bob"]
        assert [memory.content async for memory in bob.export()] == ["secret of bob"]
        assert await bob.recall("ada") == []
        assert (hers.scope, his.scope) == ("ada", "bob")
        await bob.recall("secret")
        assert [memory.usage_count for memory in await ada.memories()] == [1]
        assert await bob.delete("same")
        await bob.clear()
        assert contents(await ada.recall("secret")) == ["secret of ada"]
        assert await ada.view(scope="nobody").memories() == []


async def test_another_scope_takes_no_place_among_the_memories_that_are_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptc.memory._memories.CANDIDATES", 3)
    with MemoryStore(":memory:", scope="ada") as ada:
        bob, eve = ada.view(scope="bob"), ada.view(scope="eve")
        await ada.remember("note of ada")
        await bob.remember("note of bob")
        for number in range(10):
            await ada.remember(f"note {number} of ada")
            await eve.remember(f"note {number} of eve")
        assert contents(await bob.recall("note")) == ["note of bob"]


FTS5 = st.lists(
    st.sampled_from(
        ["note", "ada", '"', "*", "^", "(", ")", ":", "-", "+", "{", "}", "NEAR", "OR", "AND", "NOT", "scope"]
    ),
    max_size=8,
)


@pytest.mark.promise("P2")
@given(query=FTS5.map(" ".join) | FTS5.map("".join) | st.text(max_size=30))
def test_no_query_reaches_another_scope_or_the_language_of_the_index(query: str) -> None:
    """Row V34 of tests/rows.py, and injection of FTS5's own syntax: the words are looked for, nothing else."""
    with MemoryStore(":memory:", scope="ada") as ada:
        bob = ada.view(scope="bob")

        async def ask() -> list[str]:
            await ada.remember("note of ada", summary="ada", categories=["ada"])
            await bob.remember("note")
            try:
                return contents(await bob.recall(query))
            except ToolError as error:
                return [error.code]

        assert asyncio.run(ask()) in (
            [],
            ["note"],
            ["memory_text_required"],
            ["memory_too_large"],
            ["invalid_arguments"],
        )


async def test_a_query_equal_to_the_name_of_the_scope_finds_nothing() -> None:
    """Row V34 of tests/rows.py: an indexed scope column gave every memory of the scope."""
    with MemoryStore(":memory:", scope="session42") as store:
        await store.remember("unrelated")
        assert await store.recall("session42") == []
        assert await store.recall("scope") == []


async def test_deleting_removes_a_memory_its_words_and_its_bytes() -> None:
    with MemoryStore(":memory:") as store:
        stored = await store.remember("to be forgotten")
        assert await store.delete(stored.id)
        assert not await store.delete(stored.id)
        assert await store.recall("forgotten") == []
        assert await store.get(stored.id) is None
        assert (await store.usage()).memory_bytes == 0
        left = await store._database.read(lambda c: c.execute("SELECT count(*) FROM memory_words").fetchone()[0])
        assert left == 0


async def test_of_what_was_deleted_nothing_is_left_in_the_file_once_it_is_compact(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with MemoryStore(path) as store:
        for number in range(40):
            await store.remember(f"note {number} qzxwv", id=str(number))
        for number in range(39):
            await store.delete(str(number))
        await store.update("39", content="last note")
        await store.compact()
        assert contents(await store.recall("note")) == ["last note"]
    assert b"qzxwv" not in path.read_bytes()
    assert [file.name for file in tmp_path.iterdir()] == ["m.db"]


async def test_an_export_gives_every_memory_once_oldest_first() -> None:
    with MemoryStore(":memory:") as store:
        for number in range(250):
            await store.remember(f"note {number}")
        assert [memory.content async for memory in store.export()] == [f"note {number}" for number in range(250)]


@pytest.mark.promise("P7")
async def test_a_memory_over_the_quota_is_refused_and_room_that_is_made_is_used() -> None:
    with MemoryStore(":memory:", quota=Quota(memories=2)) as store:
        first = await store.remember("one")
        await store.remember("two")
        with pytest.raises(ToolError) as raised:
            await store.remember("three")
        assert (raised.value.code, raised.value.category) == ("memory_full", "limit")
        assert contents(await store.memories()) == ["two", "one"]
        assert await store.recall("three") == []
        await store.remember("two", summary="still welcome")
        await store.view(scope="other").remember("has its own quota")
        await store.delete(first.id)
        await store.remember("three")


@pytest.mark.promise("P7")
async def test_bytes_have_a_quota_too_and_shrinking_is_never_refused() -> None:
    with MemoryStore(":memory:", quota=Quota(memory_bytes=100)) as store:
        await store.remember("x" * 80, id="a")
        with pytest.raises(ToolError) as raised:
            await store.remember("y" * 99, id="a")
        assert raised.value.code == "memory_full"
        tight = MemoryStore(":memory:", quota=Quota(memory_bytes=10))
        tight._database, own = store._database, tight._database
        assert (await tight.remember("z", id="a")).content == "z"
        own.close()


async def test_secrets_are_removed_from_every_text_before_it_is_stored() -> None:
    def clean(text: str) -> str:
        return text.replace("hunter2", "[secret removed]")

    with MemoryStore(":memory:", clean=clean) as store:
        view = store.view(clean=lambda text: text.replace("s3cret", "[gone]"))
        stored = await view.remember(
            "password hunter2 and s3cret",
            summary="is hunter2",
            categories=["hunter2"],
            metadata={"hunter2": ["s3cret", {"x": "hunter2"}], "n": 1},
        )
        await view.add_message("s", "user", "it is hunter2, or s3cret")
        everything = repr([stored, await store.memories(), await store.messages("s")])
        assert "hunter2" not in everything
        assert "s3cret" not in everything
        assert stored.content == "password [secret removed] and [gone]"
        assert await store.recall("hunter2") == []


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        ({"content": ""}, "memory_text_required", "content"),
        ({"content": " \n"}, "memory_text_required", "content"),
        ({"content": "x" * 8_193}, "memory_too_large", "8,193"),
        ({"content": "并" * 2_731}, "memory_too_large", "8,192"),
        ({"content": "a\ud800"}, "invalid_arguments", "surrogate"),
        ({"content": "x", "summary": "y" * 1_025}, "memory_too_large", "summary"),
        ({"content": "x", "categories": "label"}, "invalid_arguments", "['label']"),
        ({"content": "x", "categories": ["a", ""]}, "memory_text_required", "category"),
        ({"content": "x", "categories": [f"c{n}" for n in range(17)]}, "memory_too_large", "17"),
        ({"content": "x", "metadata": {"a": "y" * 4_096}}, "memory_too_large", "metadata"),
        ({"content": "x", "metadata": {"a": float("nan")}}, "invalid_arguments", "metadata"),
        ({"content": "x", "metadata": {1: "y"}}, "invalid_arguments", "metadata"),
        ({"content": "x", "metadata": ["a"]}, "invalid_arguments", "metadata"),
        ({"content": "x", "source": ""}, "memory_text_required", "source"),
        ({"content": "x", "id": "i" * 257}, "memory_too_large", "id"),
    ],
)
async def test_what_cannot_be_stored_is_refused_by_name(arguments: dict[str, object], code: str, word: str) -> None:
    with MemoryStore(":memory:") as store:
        with pytest.raises(ToolError) as raised:
            await store.remember(**arguments)  # type: ignore[arg-type]
        assert raised.value.code == code
        assert word in raised.value.message
        assert await store.memories() == []


async def test_a_content_of_exactly_the_cap_is_stored() -> None:
    with MemoryStore(":memory:") as store:
        await store.remember("x" * 8_192)
        await store.remember("nul \0 and \r\n stay")
        assert (await store.recall("nul"))[0].content == "nul \0 and \r\n stay"


@pytest.mark.parametrize("scope", ["", " ", "x" * 257, "a\ud800", 7, None])
def test_a_scope_must_be_a_name(scope: object) -> None:
    with pytest.raises(ConfigError) as raised:
        MemoryStore(":memory:", scope=scope)  # type: ignore[arg-type]
    assert raised.value.code == "invalid_option"
    assert "user:ada" in raised.value.message


@pytest.mark.parametrize("bounds", [{"memories": 0}, {"message_bytes": True}, {"messages": 1.5}])
def test_a_quota_that_is_no_number_is_refused(bounds: dict[str, int]) -> None:
    with pytest.raises(ConfigError) as raised:
        Quota(**bounds)
    assert raised.value.code == "invalid_option"


async def test_closing_a_view_leaves_the_store_open() -> None:
    with MemoryStore(":memory:") as store:
        store.view().close()
        await store.remember("still there")
